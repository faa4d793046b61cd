import type { ByteOrigin } from '../harness/byte-origin.ts'
import { createDice, type Dice } from '../harness/dice.ts'
import { type ByteBooks, kopecksOf, MoneyBooks } from './books.ts'
import type { Gate, Quality } from './quality.ts'
import { type ShopAnswer, Shopper, tooSlow, unanswered } from './shopper.ts'
import type { Account } from './world.ts'

export type ActorDeps = {
  readonly world: { readonly url: string }
  readonly origin: ByteOrigin
  readonly gate: Gate
  readonly quality: Quality
  readonly dice: Dice
  /** The interval between the starts of its steps. */
  readonly everyMs: number
}

/** How an actor treats refusals. */
type RefusalPolicy = {
  /** Refusals that are expected when a request cannot be fulfilled now. They have no effect and are no failure. */
  readonly expectedCodes: ReadonlySet<string>
  /** Codes of refusals that are not retried at once. */
  readonly finalCodes?: ReadonlySet<string>
  /** The sites whose faults may cause a failure; all by default. */
  readonly faultSites?: readonly string[]
}

/** A purchase that was answered. */
export type Answered = { readonly path: string; readonly body: object; readonly key: string; readonly text: string }

const retryLimitMs = 90_000
const retryEveryMs = 250
const maxSubscriptions = 3

/** An honest customer's program: it retries until it is answered, buys under its own keys, and keeps books. */
export class Actor<Deps extends ActorDeps> {
  readonly money: MoneyBooks
  readonly bytes = new Map<string, ByteBooks>()
  /** VPN subscriptions, each with the orders that paid for it. */
  readonly subscriptions = new Map<string, string[]>()
  readonly problems: string[] = []
  readonly shopper: Shopper
  refusals = 0
  private count = 0

  constructor(
    readonly name: string,
    readonly account: Account,
    protected readonly deps: Deps,
    protected readonly refusalPolicy: RefusalPolicy,
  ) {
    this.money = new MoneyBooks(account.kopecks)
    this.shopper = new Shopper(deps.world, account.token)
  }

  /** Repeats the step until the storm is over. */
  protected async loop(everyMs: number, step: () => Promise<void>): Promise<void> {
    while (await this.deps.gate.pass()) {
      const startedMs = performance.now()
      await this.deps.gate.step(step)
      await Bun.sleep(Math.max(0, everyMs - (performance.now() - startedMs)))
    }
  }

  protected pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.deps.dice(Math.max(1, items.length))]
  }

  /** Repeats a request until it is answered. Faults of the processes may delay it. */
  protected async untilAnswered(what: string, ask: () => Promise<ShopAnswer>): Promise<ShopAnswer> {
    const { finalCodes, faultSites } = this.refusalPolicy
    const giveUpAt = performance.now() + retryLimitMs
    for (;;) {
      const fromMs = performance.now()
      const answer = await ask()
      const isFailure = answer.status === unanswered || answer.status >= 500 || answer.status === 429
      const isAgain = isFailure && finalCodes?.has(answer.code) !== true
      const why = isAgain ? `${answer.status} ${answer.code} ${answer.text.slice(0, 120)}` : ''
      this.deps.quality.note(`${this.name}: ${what}`, fromMs, why, answer === tooSlow, faultSites)
      if (answer.status === 500) this.problems.push(`${what} was answered with a fault: ${answer.text.slice(0, 200)}`)
      if (!isAgain && answer.code !== 'request_in_progress') return answer
      if (performance.now() > giveUpAt) {
        this.problems.push(`${what} was not answered for ${retryLimitMs} ms`)
        return answer
      }
      await Bun.sleep(Math.max(retryEveryMs, answer.retryAfterSeconds * 1000))
    }
  }

  /** A purchase under its own key, repeated until it is answered; undefined if it was refused. */
  protected async purchase(path: string, body: object): Promise<ShopAnswer['data']> {
    this.count += 1
    const key = `${this.name}-${this.count}`
    const answer = await this.untilAnswered(`POST ${path}`, () => this.shopper.post(path, body, { key }))
    if (answer.status !== 200) {
      this.refusals += 1
      const isExpected = this.refusalPolicy.expectedCodes.has(answer.code)
      if (!isExpected) this.problems.push(`POST ${path} was refused: ${answer.text.slice(0, 300)}`)
      return undefined
    }
    const { order_id: order, price_rub: price } = answer.data as { order_id: string; price_rub?: number }
    if (this.money.charged.has(order)) this.problems.push(`order ${order} answered two keys`)
    this.money.charged.set(order, kopecksOf(price ?? 0))
    this.onBought({ path, body, key, text: answer.text })
    return answer.data
  }

  protected async buyVpn(): Promise<void> {
    if (this.subscriptions.size >= maxSubscriptions) return
    const bought = await this.purchase('/vpn/buy', { period: [1, 3][this.deps.dice(2)] })
    if (bought) this.subscriptions.set(bought.uuid, [bought.order_id])
  }

  protected async renewVpn(): Promise<void> {
    const [uuid, orders] = this.pick([...this.subscriptions]) ?? []
    if (uuid === undefined || !orders) return
    const renewed = await this.purchase('/vpn/renew', { uuid, period: 1 })
    if (renewed) orders.push(renewed.order_id)
  }

  protected async deleteVpn(uuid = this.pick([...this.subscriptions.keys()])): Promise<void> {
    const orders = this.subscriptions.get(uuid ?? '')
    if (uuid === undefined || !orders) return
    this.subscriptions.delete(uuid)
    // The shop divides the refund among the orders that paid for it.
    const refund = { orders, confirmed: undefined as bigint | undefined }
    this.money.refunds.push(refund)
    const answer = await this.untilAnswered('a deletion', () => this.shopper.post('/vpn/delete', { uuid }))
    if (answer.status === 200) refund.confirmed = kopecksOf(answer.data.refunded_rub)
  }

  /** Hook for subclasses that use the answer later. */
  protected onBought(_answered: Answered): void {}
}

const roubles = 10_000_000n

/** Opens so many customers, each with money and its own random numbers, one after another. */
export async function openActors<One extends { prepare(): Promise<void> }>(
  of: {
    readonly count: number
    readonly seed: number
    /** The number of actions per second of all customers together. */
    readonly perSecond: number
    readonly world: { addAccount(name: string, roubles: bigint): Promise<Account> }
  },
  make: (name: string, account: Account, own: Pick<ActorDeps, 'dice' | 'everyMs'>) => One,
): Promise<One[]> {
  const made: One[] = []
  for (let number = 1; number <= of.count; number += 1) {
    const name = `honest-${number}`
    const own = { dice: createDice(of.seed + 1000 * number), everyMs: (2 * of.count * 1000) / of.perSecond }
    const actor = make(name, await of.world.addAccount(name, roubles), own)
    await actor.prepare()
    made.push(actor)
  }
  return made
}
