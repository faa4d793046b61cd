import { afterAll, describe, expect, test } from 'bun:test'
import type { Services } from '../../src/app/shop/services.ts'
import type { CustomerId } from '../../src/core/ids.ts'
import { kopecks } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Database } from '../../src/db/transaction.ts'
import type { Payment } from '../../src/domains/payments/rules.ts'
import { HandClock } from '../harness/clock.ts'
import { type Engine, engines, openTestDatabase } from '../harness/database.ts'
import { createDice, type Dice } from '../harness/dice.ts'
import { isLong } from '../harness/scale.ts'
import { addCustomer, buy, findingsOf, wire } from '../harness/wired.ts'
import type { OtherSide, Post, ProviderFault } from './other-side.ts'
import { introduce } from './shop.ts'

/** A round takes most of a second, and there are five providers. */
const rounds: Readonly<Record<Engine, number>> = isLong ? { sqlite: 60, postgres: 20 } : { sqlite: 1, postgres: 1 }
const stepsEach = 60
/** So few that the limit on provider calls, which uses real time, is never reached. */
const refundSteps = 25
const faults: readonly ProviderFault[] = [
  'done, then cut off',
  'cut off',
  'done, then 500',
  '500',
  '400',
  '429',
  'nonsense',
]
const minuteMs = 60_000
const dayMs = 1440 * minuteMs

/** A crash: before the transaction, or after the commit and before the caller gets the result. */
class Crashed extends Error {}

function withCrashes(db: Database, dice: Dice, crashMode: { mayCrash: boolean }): Database {
  return {
    ...db,
    async transact(work) {
      if (crashMode.mayCrash && dice(25) === 0) throw new Crashed()
      const result = await db.transact(work)
      if (crashMode.mayCrash && dice(25) === 0) throw new Crashed()
      return result
    },
  }
}

/** Totals of all rounds, printed after a long run. */
const figures = { rounds: 0, events: 0, crashes: 0, delivered: 0, payments: 0, credited: 0, back: 0, kept: 0 }

type Ask = { readonly customer: CustomerId; readonly key: string; readonly amount: bigint }

/** One shop, its customers and a payment provider, with random events. */
class World {
  services: Services
  side: OtherSide | undefined
  method: string
  readonly requests: Ask[] = []
  readonly posts: Post[] = []
  readonly spent = new Map<string, bigint>()
  readonly crashMode = { mayCrash: false }
  customers: CustomerId[] = []

  constructor(
    readonly db: Database,
    readonly clock: HandClock,
    readonly dice: Dice,
    readonly provider: string,
  ) {
    this.services = wire(withCrashes(db, dice, this.crashMode), clock)
    this.method = provider === 'invoice' ? 'transfer' : 'sandbox'
  }

  async open(): Promise<void> {
    // A shop that an operator opened by hand has no mode yet.
    await this.db.transact((tx) => this.services.customers.decideMode(tx, 'sandbox'))
    this.customers = [await addCustomer(this.services, 0n), await addCustomer(this.services, 50_000n)]
    const none = new Map<string, string>()
    if (this.provider === 'invoice') {
      const settings = new Map([['details', 'account 42']])
      const terms = { settings, methods: undefined, min: none, max: none, fee: none, secret: undefined }
      await this.services.providers.set('invoice', terms)
    } else if (this.provider !== 'sandbox') {
      const fee = new Map(this.provider === 'yookassa' ? [['card', '2.5']] : [])
      const introduced = await introduce(this.services, this.provider as 'yookassa', { fee, now: this.clock.read })
      this.side = introduced.side
      this.method = introduced.method
    }
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items.length === 0 ? undefined : items[this.dice(items.length)]
  }

  /** A crashed process restarts from the database; a refused request has changed nothing. */
  async attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (error instanceof Crashed) {
        figures.crashes += 1
        this.services = wire(withCrashes(this.db, this.dice, this.crashMode), this.clock)
      } else if (!(error instanceof Refusal)) throw error
    }
  }

  begin({ customer, key, amount }: Ask): Promise<unknown> {
    const input = { amount: kopecks(amount), method: this.method, returnUrl: undefined, email: undefined }
    return this.services.payments.begin({ customer, token: null }, key, input, 'http://shop.test')
  }

  async step(): Promise<void> {
    const { dice } = this
    const [bills, what] = [[...(this.side?.bills.values() ?? [])], dice(100)]
    if (what < 18) {
      if (this.side && dice(3) === 0) this.side.faults.push(this.pick(faults) ?? '500')
      const customer = this.pick(this.customers) ?? this.customers[0]
      const ask = {
        customer: customer as CustomerId,
        key: `key-${this.requests.length}`,
        amount: BigInt(1000 + dice(9999)),
      }
      this.requests.push(ask)
      return this.attempt(() => this.begin(ask))
    }
    if (what < 24) return this.attempt(async () => this.begin(this.pick(this.requests) ?? ({} as Ask)))
    if (what < 32) return this.spend()
    if (what < 38) return this.poll(dice(20) * minuteMs)
    if (!this.side) return this.actByHand(what)
    if (what < 41) return this.refundByOperator()
    if (what < 43) return this.cancelPaid()
    // One of two customers is erased, and payments that expired before may be paid after that.
    if (what === 43) return this.erase()
    if (what < 46) return this.resolve()
    if (what < 58) {
      const bill = this.pick(bills.filter((each) => each.status === 'waiting'))
      if (bill) this.side.pay(bill.id)
      if (bill) this.posts.push(this.side.notificationOf(bill.id))
    } else if (what < 63) {
      const bill = this.pick(bills.filter((each) => each.status === 'waiting'))
      if (bill) this.side.end(bill.id)
      if (bill) this.posts.push(this.side.notificationOf(bill.id))
    } else if (what < 70 && this.provider !== 'crypto_pay') {
      const bill = this.pick(bills.filter((each) => each.status === 'paid' && each.backHundredths < each.hundredths))
      if (bill) this.side.refund(bill.id, 1 + dice(bill.hundredths - bill.backHundredths))
      if (bill) this.posts.push(this.side.notificationOf(bill.id))
    } else if (what < 95) {
      // A notification may be delivered again and out of order.
      const post = this.pick(this.posts)
      if (post) await this.deliver(post)
    } else if (what < 97) this.side.isDown = !this.side.isDown
    else this.side.faults.push(this.pick(faults) ?? '500')
  }

  /** The operator refunds through the provider, possibly under a used key. */
  async refundByOperator(): Promise<void> {
    const payment = this.pick((await this.all()).filter((each) => each.state === 'paid'))
    if (!payment) return
    const isPart = this.provider === 'yookassa' && this.dice(2) === 0
    const amount = isPart ? kopecks(payment.amount / 3n + 1n) : 'all'
    const input = { amount, intoDebt: true, note: 'back', key: `back ${payment.id} ${isPart}` } as const
    return this.attempt(() => this.services.paymentOperator.refund(payment.id, input))
  }

  erase(): Promise<void> {
    const [customer] = this.customers as [CustomerId]
    return this.attempt(() => this.services.erasing.erase(customer, { by: 'operator', isConfirmed: () => true }))
  }

  /** The operator resolves a notice, which moves no money. */
  async resolve(): Promise<void> {
    const notice = this.pick(await this.services.paymentOperator.unmatched(false, 500))
    const input = { customer: undefined, note: 'dealt with' }
    if (notice) await this.attempt(() => this.services.paymentOperator.resolve(notice.id, input))
  }

  /** The provider cancels a credited payment, and may repeat the notification. */
  async cancelPaid(): Promise<void> {
    const paid = (await this.all()).filter((each) => each.credited > 0n && each.providerId !== null)
    const bill = this.side?.bills.get(this.pick(paid)?.providerId ?? '')
    if (!this.side || bill?.status !== 'paid') return
    this.side.end(bill.id)
    const post = this.side.notificationOf(bill.id)
    this.posts.push(post)
    await this.deliver(post)
  }

  deliver({ headers, body }: Post): Promise<void> {
    figures.delivered += 1
    const from = { version: 4 as const, bytes: Uint8Array.of(127, 0, 0, 1) }
    const notification = { headers: new Headers(headers), body: new TextEncoder().encode(body), from }
    return this.attempt(() => this.services.paymentWatch.notify(this.provider, notification))
  }

  spend(): Promise<void> {
    const customer = this.pick(this.customers) as CustomerId
    const price = BigInt(500 + this.dice(6000))
    return this.attempt(async () => {
      const mayCrash = this.crashMode.mayCrash
      this.crashMode.mayCrash = false
      try {
        await buy(this.services, { customer, token: null }, price)
        this.spent.set(customer, (this.spent.get(customer) ?? 0n) + price)
      } finally {
        this.crashMode.mayCrash = mayCrash
      }
    })
  }

  poll(ms: number): Promise<void> {
    this.clock.advance(ms)
    return this.attempt(() => this.services.paymentWatch.pollDue(50))
  }

  /** Without an external provider: the operator, or the button of the sandbox. */
  async actByHand(what: number): Promise<void> {
    const { payments, paymentOperator } = this.services
    const all = await paymentOperator.list({ customer: '', state: '', before: undefined, limit: 500 })
    const payment = this.pick(all)
    if (!payment) return
    if (what < 80) {
      await this.attempt(() =>
        this.provider === 'sandbox'
          ? payments.payInSandbox(payment.id)
          : paymentOperator.markPaid(payment.id, 'came', this.dice(2) === 0 ? `mark-${payment.id}` : undefined),
      )
    } else {
      const amount = this.dice(2) === 0 ? 'all' : kopecks(BigInt(1 + this.dice(3000)))
      await this.attempt(() => paymentOperator.refund(payment.id, { amount, intoDebt: true, note: 'back' }))
    }
  }

  /** The provider answers again, sent notifications arrive, and time passes. */
  async end(): Promise<readonly Payment[]> {
    this.crashMode.mayCrash = false
    if (this.side) {
      this.side.isDown = false
      this.side.faults.length = 0
      const known = await this.all()
      const ids = new Set(known.map((each) => each.providerId))
      const isNotified = this.dice(2) === 0
      for (const bill of this.side.bills.values()) {
        if (bill.status === 'paid' && (isNotified || !ids.has(bill.id)))
          await this.deliver(this.side.notificationOf(bill.id))
      }
    }
    await this.services.erasing.resume()
    for (const days of [0, 0, 0.1, 1, 1, 8, 31]) await this.poll(days * dayMs + 15 * minuteMs)
    return this.all()
  }

  all(): Promise<Payment[]> {
    return this.services.paymentOperator.list({ customer: '', state: '', before: undefined, limit: 500 })
  }
}

/** The expected booking of a payment, by the provider's bill. */
function expected(payment: Payment, side: OtherSide, isKept: boolean): { credited: bigint; debited: bigint } {
  if (isKept) return { credited: 0n, debited: 0n }
  const bills = [...side.bills.values()].filter((bill) => bill.mark === payment.id)
  const known = bills.find((bill) => bill.id === payment.providerId)
  // Cancelled before or after the shop saw the money: in both cases nothing of it is left.
  if (known?.status === 'over') return { credited: payment.credited, debited: payment.credited }
  if (known?.status !== 'paid') return { credited: 0n, debited: 0n }
  const back = BigInt(known.backHundredths)
  return { credited: payment.amount, debited: back < payment.amount ? back : payment.amount }
}

async function play(engine: Engine, provider: string, seed: number): Promise<void> {
  const opened = await openTestDatabase(engine)
  const world = new World(opened.db, new HandClock(), createDice(seed), provider)
  try {
    await world.open()
    world.crashMode.mayCrash = true
    for (let step = 0; step < stepsEach; step += 1) await world.step()
    const payments = await world.end()
    figures.rounds += 1
    figures.events += stepsEach
    figures.payments += payments.length
    figures.credited += payments.filter((each) => each.credited > 0n).length
    figures.back += payments.filter((each) => each.debited > 0n).length
    const balances = new Map(world.customers.map((each, index) => [each, index === 0 ? 0n : 50_000n]))
    const noted = await world.services.paymentOperator.unmatched(true, 1000)
    for (const payment of payments) {
      const { customer, credited, debited } = payment
      // Paid after its customer was erased: kept for the operator.
      const isKept = noted.some((each) => each.payment === payment.id && each.reason === 'unknown')
      if (isKept) figures.kept += 1
      if (world.side) {
        expect({ payment: payment.id, credited, debited }).toEqual({
          payment: payment.id,
          ...(expected(payment, world.side, isKept) as { credited: typeof credited; debited: typeof debited }),
        })
      }
      balances.set(customer, (balances.get(customer) ?? 0n) + credited - debited)
    }
    // Every paid bill is credited, or has a notice for the operator.
    for (const bill of world.side?.bills.values() ?? []) {
      const isCredited = payments.some((each) => each.providerId === bill.id && each.credited > 0n)
      const isNoted = noted.some((each) => each.providerId === bill.id)
      if (bill.status === 'paid') expect([bill.id, isCredited || isNoted]).toEqual([bill.id, true])
      // For money without a payment, the notice has the total that went back, in however many parts.
      const isUnknown = !payments.some((each) => each.providerId === bill.id)
      if (bill.status !== 'paid' || !isUnknown || bill.backHundredths === 0) continue
      const back = noted.find((each) => each.providerId === bill.id && each.reason === 'excess')
      expect([bill.id, Number(back?.amount)]).toEqual([bill.id, bill.backHundredths])
    }
    for (const [customer, sum] of balances) {
      const { balance } = await world.services.ledger.balance(customer)
      expect(balance as bigint).toBe(sum - (world.spent.get(customer) ?? 0n))
    }
    expect(await findingsOf(world.services)).toEqual([])
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error })
  } finally {
    await world.side?.stop()
    await opened.close()
  }
}

/** Refunds of one payment under many keys: answers are lost, keys repeated, and the provider refunds on its own. */
async function playRefunds(engine: Engine, seed: number): Promise<void> {
  const opened = await openTestDatabase(engine)
  const dice = createDice(seed)
  const world = new World(opened.db, new HandClock(), dice, 'yookassa')
  try {
    await world.open()
    const [customer] = world.customers as [CustomerId]
    await world.begin({ customer, key: 'one', amount: 300_000n })
    const side = world.side as OtherSide
    const [bill] = side.bills.values()
    if (!bill) throw new Error('the provider has no payment')
    const notify = () => world.deliver(side.notificationOf(bill.id))
    side.pay(bill.id)
    await notify()
    const [payment] = (await world.all()) as [Payment]
    const [requests, done] = [new Map<string, bigint>(), new Map<string, bigint>()]
    let ownHundredths = 0
    const refund = (key: string, amount: bigint) =>
      world.attempt(async () => {
        const input = { amount: kopecks(amount), intoDebt: true, note: 'back', key }
        await world.services.paymentOperator.refund(payment.id, input)
        done.set(key, amount)
      })
    const askNew = () => {
      const [key, amount] = [`key ${requests.size}`, BigInt(1000 * (1 + dice(20)))]
      return requests.set(key, amount) && refund(key, amount)
    }
    const askAgain = () => refund(...(world.pick([...requests]) ?? ['key 0', 1000n]))
    const refundByProvider = (): void => {
      const own = Math.min(1000 * (1 + dice(20)), bill.hundredths - bill.backHundredths)
      side.refund(bill.id, own)
      ownHundredths += own
    }
    await askNew()
    world.crashMode.mayCrash = true
    for (let step = 0; step < refundSteps; step += 1) {
      const what = dice(10)
      side.faults.length = 0
      for (let count = dice(3); count > 0; count -= 1) side.faults.push(world.pick(faults) ?? '500')
      if (what < 3) await askNew()
      else if (what < 6) await askAgain()
      else if (what < 7) await Promise.all([askNew(), dice(2) === 0 ? askNew() : askAgain()])
      else if (what < 8) refundByProvider()
      else await notify()
    }
    world.crashMode.mayCrash = false
    side.faults.length = 0
    // The first round settles the refund without an outcome, the second those that waited for it.
    for (const _ of [1, 2]) for (const [key, amount] of requests) await refund(key, amount)
    await notify()
    const sum = [...done.values()].reduce((total, amount) => total + amount, BigInt(ownHundredths))
    expect(BigInt(bill.backHundredths)).toBe(sum)
    const [{ debited, amount }] = (await world.all()) as [Payment]
    expect(debited as bigint).toBe(sum < amount ? sum : amount)
    expect(done.size).toBeGreaterThan(0)
    expect(await findingsOf(world.services)).toEqual([])
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error })
  } finally {
    await world.side?.stop()
    await opened.close()
  }
}

afterAll(() => {
  if (isLong) console.log(JSON.stringify(figures))
})

describe.each([...engines])('random payment events with crashes, on %s', (engine) => {
  test.each(['yookassa', 'crypto_pay', 'platega', 'invoice', 'sandbox'])(
    'the balance has every payment by %s that was paid and not refunded, once',
    async (provider) => {
      for (let round = 0; round < rounds[engine]; round += 1)
        await play(engine, provider, 7919 * round + provider.length)
    },
  )
  test("the refunded amount of a payment is the sum of the acknowledged refunds and the provider's own", async () => {
    for (let round = 0; round < rounds[engine]; round += 1) await playRefunds(engine, 104_729 * round + 3)
  })
})
