import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { scaled } from '../../../test/harness/scale.ts'
import { scansIn } from '../../../test/harness/scans.ts'
import { untilTrue } from '../../../test/harness/turnpike.ts'
import { addCustomer, credit, findingsOf, keylessRequest, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { CustomerId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000
/** Two runs of the job: a day is noted by the first, and summed by one that is more than 2 minutes later. */
const jobEveryMs = 10 * minuteMs

type Step =
  | { readonly do: 'buy'; readonly product: string; readonly price: number }
  | { readonly do: 'refund'; readonly order: number }
  | { readonly do: 'credit' | 'debit'; readonly amount: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'job' }

const price = fc.constantFrom(0, 1, 250, 99_999)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('buy' as const), product: fc.constantFrom('things', 'others'), price }),
  fc.record({ do: fc.constant('refund' as const), order: fc.nat(5) }),
  fc.record({ do: fc.constantFrom('credit' as const, 'debit' as const), amount: fc.integer({ min: 1, max: 500 }) }),
  // Also back: a clock that was wrong and is corrected.
  fc.record({
    do: fc.constant('wait' as const),
    ms: fc.constantFrom(hourMs, 7 * hourMs, dayMs, 3 * dayMs, -30 * hourMs),
  }),
  fc.record({ do: fc.constant('job' as const) }),
)

describe.each([...engines])('sums of ended days on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  const clock = new HandClock()
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
  })
  afterAll(() => opened.close())

  /** Two shops run the job at the same moment. */
  async function sumDays(of: Services = services): Promise<void> {
    for (const _ of [1, 2]) {
      const other = wire(opened.db, clock)
      await Promise.all([of, other].flatMap((each) => [each.ledger.sumDays(3), each.orders.sumDays(3)]))
      clock.advance(jobEveryMs)
    }
  }

  async function buy(customer: CustomerId, product: string, amount: number): Promise<void> {
    await services.orders.sell(keylessRequest(customer), { product, action: 'buy', input: {} }, (sale) =>
      sale.charge({ price: kopecks(BigInt(amount)), calculation: {}, note: 'a thing' }),
    )
  }

  /** Refunds 1 kopeck of a charged order, if the customer has so many. */
  async function refund(customer: CustomerId, index: number): Promise<void> {
    const charged = (await services.orders.list(customer, undefined, 6)).filter((each) => each.price > 1n)
    const order = charged[index]?.id
    if (!order) return
    await services.refunds.refund({ order, note: 'slow', key: undefined, amount: kopecks(1n), again: true })
  }

  /** What reports show of the days, and what the postings and orders say, read without the sums. */
  async function compare(): Promise<void> {
    const toDay = Math.floor(clock.nowMs / dayMs) + 40
    const fromDay = toDay - 300
    const [fromAt, toAt] = [fromDay * dayMs, toDay * dayMs]
    // Not at the beginning of a day.
    const [fromPart, toPart] = [fromAt + 200 * dayMs + 5 * hourMs, clock.nowMs - 2 * dayMs - hourMs]
    const read = async () => ({
      days: await services.ledgerReports.days(fromDay, toDay),
      products: (await services.ledgerReports.products(fromDay, toDay))
        .map((each) => JSON.stringify(each, text))
        .toSorted(),
      byHand: await services.ledgerReports.adjustments(fromDay, toDay),
      sales: (await services.orders.salesByDay(fromAt, toAt)).map((each) => JSON.stringify(each, text)).toSorted(),
      refunds: await services.ledger.refundsByDay(fromAt, toAt),
      between: await services.orders.sumBetween(fromPart, toPart),
      refunded: await services.ledger.sumRefundsBetween(fromPart, toPart),
    })
    const bySums = await read()
    const kept = await opened.db.all<{ source: string }>('SELECT * FROM summed_days')
    await opened.db.transact((tx) => tx.run('DELETE FROM summed_days'))
    expect(bySums).toEqual(await read())
    await opened.db.transact(async (tx) => {
      for (const { source, day, noted_at, summed_at } of kept as never as Record<string, bigint>[]) {
        const sql = 'INSERT INTO summed_days (source, day, noted_at, summed_at) VALUES ($1, $2, $3, $4)'
        await tx.run(sql, [source ?? '', day ?? 0, noted_at ?? 0, summed_at ?? null])
      }
    })
  }
  const text = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

  test('reports by sums equal reports by postings and orders in random histories, also with two shops and a clock that was set back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
        clock.advanceDays(5)
        const customer = await addCustomer(services, 10_000_000n)
        for (const each of steps) {
          if (each.do === 'wait') clock.advance(each.ms)
          else if (each.do === 'job') await sumDays()
          else if (each.do === 'buy') await buy(customer, each.product, each.price)
          else if (each.do === 'refund') await refund(customer, each.order)
          else if (each.do === 'credit') await credit(services, customer, BigInt(each.amount))
          else {
            const given = { kind: 'debit' as const, amount: kopecks(BigInt(each.amount)), note: 'back' }
            await opened.db.transact((tx) =>
              services.ledger.adjust(tx, customer, { ...given, key: null, reference: null }),
            )
          }
        }
        await compare()
        clock.advanceDays(2)
        await sumDays()
        await compare()
      }),
      { numRuns: scaled(60) },
    )
    expect(await findingsOf(services)).toEqual([])
  })

  /** A day with an order of 3 roubles and its refund of 1 kopeck, which is summed. */
  async function endDay(): Promise<{ customer: CustomerId; day: number }> {
    const customer = await addCustomer(services, 1_000n)
    await buy(customer, 'things', 300)
    const day = Math.floor(clock.nowMs / dayMs)
    clock.advanceDays(2)
    await sumDays()
    return { customer, day }
  }
  const isSummed = async (day: number): Promise<boolean> =>
    (await opened.db.first('SELECT 1 AS one FROM summed_days WHERE day = $1 AND summed_at IS NOT NULL', [day])) !==
    undefined

  test('a day is summed more than an hour after its end, and 2 minutes after it was noted', async () => {
    const customer = await addCustomer(services, 1_000n)
    await buy(customer, 'others', 10)
    const day = Math.floor(clock.nowMs / dayMs)
    const run = async (atMs: number): Promise<boolean> => {
      clock.nowMs = atMs
      await services.ledger.sumDays(1000)
      return isSummed(day)
    }
    const end = (day + 1) * dayMs
    expect(await run(end + hourMs - 1)).toBe(false)
    expect(await run(end + 2 * hourMs)).toBe(false)
    expect(await run(end + 2 * hourMs + minuteMs)).toBe(false)
    expect(await run(end + 2 * hourMs + 2 * minuteMs)).toBe(true)
  })

  test('a sale that is dated into a summed day makes the shop read the day again, and sum it again', async () => {
    const { day } = await endDay()
    const nowMs = clock.nowMs
    clock.nowMs = day * dayMs + hourMs
    const late = await addCustomer(services, 1_000n)
    await buy(late, 'things', 77)
    clock.nowMs = nowMs
    expect(await isSummed(day)).toBe(false)
    await compare()
    await sumDays()
    expect(await isSummed(day)).toBe(true)
    await compare()
  })

  test('a movement that is dated into a day while the job sums the day is in the sums', async () => {
    const customer = await addCustomer(services, 1_000n)
    const day = Math.floor(clock.nowMs / dayMs)
    clock.advanceDays(2)
    await sumDays()
    // The day is noted and not summed.
    await opened.db.transact((tx) => tx.run('UPDATE summed_days SET summed_at = NULL WHERE day = $1', [day]))
    const late = await addCustomer(services, 0n)
    const nowMs = clock.nowMs
    const [written, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const moving = opened.db.transact(async (tx) => {
      clock.nowMs = day * dayMs + hourMs
      await services.ledger.credit(tx, late, kopecks(77n), 'operator', 'late')
      // On PostgreSQL the row is sent by now.
      await services.ledger.lock(tx, customer)
      clock.nowMs = nowMs
      written.resolve()
      await released.promise
    })
    await written.promise
    const summing = services.ledger.sumDays(1000)
    const waiting = `SELECT 1 AS one FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    if (engine === 'postgres') await untilTrue(async () => (await opened.db.first(waiting)) !== undefined)
    released.resolve()
    await Promise.all([moving, summing])
    expect(await isSummed(day)).toBe(true)
    await compare()
  })

  test('verify and its parts find a changed, missing and added sum, and none after the day was summed again', async () => {
    const { day } = await endDay()
    const verifier = services.verifiers.find(({ name }) => name === 'days')
    const reasons = async () => {
      const whole = ((await verifier?.verify()) ?? { findings: [] }).findings
      const byParts: string[] = []
      for (const walk of verifier?.walks ?? []) {
        for (let after: string | undefined; ; ) {
          const done = await walk.step(after)
          byParts.push(...done.findings.map(({ reason }) => reason))
          if (done.next === undefined) break
          after = done.next
        }
      }
      expect(byParts).toEqual(whole.map(({ reason }) => reason))
      return byParts
    }
    expect(await reasons()).toEqual([])
    for (const [edit, undo] of [
      ['UPDATE posting_sums SET amount = amount + 1 WHERE day = $1 AND by_hand = 1', 'amount = amount - 1'],
      ['UPDATE posting_sums SET house = $2 WHERE day = $1 AND by_hand = 1', "house = 'funds:operator'"],
      ['UPDATE order_sums SET price = price + 1 WHERE day = $1', 'price = price - 1'],
      ['UPDATE order_sums SET orders = orders + 1 WHERE day = $1', 'orders = orders - 1'],
    ] as const) {
      const values = edit.includes('$2') ? [day, 'funds:other'] : [day]
      await opened.db.transact((tx) => tx.run(edit, values))
      expect([edit, await reasons()]).toEqual([edit, ['day_sums']])
      await opened.db.transact((tx) => tx.run(edit.replace(/SET .* WHERE/, `SET ${undo} WHERE`), [day]))
    }
    await opened.db.transact((tx) => tx.run('DELETE FROM order_sums WHERE day = $1', [day]))
    expect(await reasons()).toEqual(['day_sums'])
    await opened.db.transact((tx) => tx.run('DELETE FROM summed_days WHERE day = $1', [day]))
    expect(await reasons()).toEqual([])
    await sumDays()
    expect([await reasons(), await isSummed(day)]).toEqual([[], true])
  })

  test('the sums of a day that has not ended are read by indexes', async () => {
    const { ledger, orders } = services
    const today = Math.floor(clock.nowMs / dayMs) * dayMs
    const [fromAt, toAt] = [today - 3 * dayMs, clock.nowMs]
    const read = () =>
      Promise.all([
        ledger.refundsByDay(fromAt, toAt),
        ledger.sumRefundsBetween(fromAt, toAt),
        orders.salesByDay(fromAt, toAt),
        ledger.sumDays(10),
        orders.sumDays(10),
      ])
    expect(await scansIn(opened.db, ['postings', 'orders'], read, { mayScanIndex: true })).toEqual([])
  })
})
