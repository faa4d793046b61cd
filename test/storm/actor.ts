import type { ByteOrigin } from '../harness/byte-origin.ts'
import { createDice, type Dice } from '../harness/dice.ts'
import { type ByteBooks, kopecksOf, MoneyBooks } from './books.ts'
import type { Gate, Quality } from './quality.ts'
import { Shopper, type Told, tooSlow, unanswered } from './shopper.ts'
import type { Account } from './world.ts'

export type ActorDeps = {
  readonly world: { readonly url: string }
  readonly origin: ByteOrigin
  readonly gate: Gate
  readonly quality: Quality
  readonly dice: Dice
  /** So long after each other its steps begin. */
  readonly everyMs: number
}

/** How somebody takes a no. */
type Manner = {
  /** What a shop may say to a wish that cannot be fulfilled just now. It has no effect and is no failure. */
  readonly expectedCodes: ReadonlySet<string>
  /** Codes of a no that is not asked about again at once. */
  readonly finalCodes?: ReadonlySet<string>
  /** Whose troubles may be the cause of a failure; anybody's unless said. */
  readonly places?: readonly string[]
}

/** A purchase that was answered. */
export type Answered = { readonly path: string; readonly body: object; readonly key: string; readonly text: string }

const retryLimitMs = 90_000
const retryEveryMs = 250

/** An honest customer's program: it asks until it is answered, buys under keys of its own, and keeps books. */
export class Actor<Deps extends ActorDeps> {
  readonly money: MoneyBooks
  readonly bytes = new Map<string, ByteBooks>()
  readonly problems: string[] = []
  readonly shopper: Shopper
  refusals = 0
  private count = 0

  constructor(
    readonly name: string,
    readonly account: Account,
    protected readonly deps: Deps,
    protected readonly manner: Manner,
  ) {
    this.money = new MoneyBooks(account.kopecks)
    this.shopper = new Shopper(deps.world, account.token)
  }

  /** One thing after another until the storm is over. */
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

  /** A request until it is answered. What was done to the processes may make it take a while. */
  protected async untilAnswered(what: string, ask: () => Promise<Told>): Promise<Told> {
    const { finalCodes, places } = this.manner
    const giveUpAt = performance.now() + retryLimitMs
    for (;;) {
      const fromMs = performance.now()
      const told = await ask()
      const isFailure = told.status === unanswered || told.status >= 500 || told.status === 429
      const isAgain = isFailure && finalCodes?.has(told.code) !== true
      const why = isAgain ? `${told.status} ${told.code} ${told.text.slice(0, 120)}` : ''
      this.deps.quality.note(`${this.name}: ${what}`, fromMs, why, told === tooSlow, places)
      if (told.status === 500) this.problems.push(`${what} was answered with a fault: ${told.text.slice(0, 200)}`)
      if (!isAgain && told.code !== 'request_in_progress') return told
      if (performance.now() > giveUpAt) {
        this.problems.push(`${what} was not answered for ${retryLimitMs} ms`)
        return told
      }
      await Bun.sleep(Math.max(retryEveryMs, told.retryAfterSeconds * 1000))
    }
  }

  /** A purchase under a key of its own, repeated until it is answered; undefined when the answer was no. */
  protected async purchase(path: string, body: object): Promise<Told['data']> {
    this.count += 1
    const key = `${this.name}-${this.count}`
    const told = await this.untilAnswered(`POST ${path}`, () => this.shopper.post(path, body, { key }))
    if (told.status !== 200) {
      this.refusals += 1
      const isExpected = this.manner.expectedCodes.has(told.code)
      if (!isExpected) this.problems.push(`POST ${path} was refused: ${told.text.slice(0, 300)}`)
      return undefined
    }
    const { order_id: order, price_rub: price } = told.data as { order_id: string; price_rub?: number }
    if (this.money.charged.has(order)) this.problems.push(`order ${order} answered two keys`)
    this.money.charged.set(order, kopecksOf(price ?? 0))
    this.onBought({ path, body, key, text: told.text })
    return told.data
  }

  /** For whoever wants to come back to it. */
  protected onBought(_answered: Answered): void {}
}

const roubles = 10_000_000n

/** So many customers, each with money and dice of its own, made ready one after another. */
export async function openActors<One extends { prepare(): Promise<void> }>(
  of: {
    readonly count: number
    readonly seed: number
    /** About so many things are done a second, by all of them together. */
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
