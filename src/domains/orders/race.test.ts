import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Engine, openTestDatabase, openWithLongTimeouts } from '../../../test/harness/database.ts'
import { isLong } from '../../../test/harness/scale.ts'
import { addCustomer, buy, findingsOf, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import type { CustomerId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Database } from '../../db/transaction.ts'
import type { Payer } from '../ledger/index.ts'
import type { PurchaseAnswer } from './sell.ts'

type Stage = { readonly name: string; readonly engine: Engine; readonly shops: number }
const stages: readonly Stage[] = [
  { name: 'SQLite', engine: 'sqlite', shops: 1 },
  { name: 'PostgreSQL', engine: 'postgres', shops: 1 },
  { name: 'PostgreSQL with two shops on it', engine: 'postgres', shops: 2 },
  { name: 'SQLite with two shops on it', engine: 'sqlite', shops: 2 },
]
const rounds = isLong ? 20 : 1

/** Counts outcomes: `sold`, `replayed`, or the code of the refusal. A fault is thrown. */
async function countOutcomes(attempts: readonly Promise<PurchaseAnswer>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const outcome of await Promise.allSettled(attempts)) {
    if (outcome.status === 'rejected' && !(outcome.reason instanceof Refusal)) throw outcome.reason
    const name =
      outcome.status === 'rejected' ? (outcome.reason as Refusal).code : outcome.value.replayed ? 'replayed' : 'sold'
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

describe.each([...stages])('concurrent purchases on $name', ({ engine, shops: count }) => {
  let shops: Services[]
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  const more: Database[] = []
  beforeAll(async () => {
    opened = await openTestDatabase(engine, 12)
    for (let extra = 1; extra < count; extra += 1) more.push(openWithLongTimeouts(opened.testDatabase))
    shops = [opened.db, ...more].map((db) => wire(db))
  })
  afterAll(async () => {
    for (const db of more) await db.close()
    await opened.close()
  })
  const shop = (index: number): Services => shops[index % shops.length] as Services
  const customerWith = (money: bigint) => addCustomer(shop(0), money)
  const payer = (customer: CustomerId): Payer => ({ customer, token: null })
  const ordersOf = async (customer: CustomerId) => (await shop(0).orders.list(customer, undefined, 500)).length

  test('exactly 137 of 500 concurrent purchases succeed with a balance for 137, and 363 are refused', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const customer = await customerWith(137n * 900n + 899n)
      const attempts = Array.from({ length: 500 }, (_, index) => buy(shop(index), payer(customer), 900n))
      expect(await countOutcomes(attempts)).toEqual({ sold: 137, insufficient_funds: 363 })
      expect(await shop(0).ledger.balance(customer)).toMatchObject({ balance: 899n as Kopecks })
      expect(await ordersOf(customer)).toBe(137)
    }
  })

  test('50 concurrent purchases with one idempotency key have one effect and identical answers', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const customer = await customerWith(10_000n)
      const send = (index: number) => buy(shop(index), payer(customer), 900n, { key: `round-${round}` })
      const attempts = Array.from({ length: 50 }, (_, index) => send(index))
      const { sold, replayed = 0, request_in_progress: inProgress = 0, ...others } = await countOutcomes(attempts)
      expect(others).toEqual({})
      expect(sold).toBe(1)
      expect(replayed + inProgress).toBe(49)
      // The process of the first request answers request_in_progress; another process waits for the lock and replays.
      expect(replayed).toBeLessThanOrEqual(count - 1)
      const bodies = (await Promise.allSettled(attempts)).flatMap((each) =>
        each.status === 'fulfilled' ? [each.value.body] : [],
      )
      const again = await Promise.all(shops.map((_, index) => send(index)))
      expect(again.every((each) => each.replayed)).toBe(true)
      expect(new Set([...bodies, ...again.map((each) => each.body)]).size).toBe(1)
      expect(await ordersOf(customer)).toBe(1)
      expect(await shop(0).ledger.balance(customer)).toMatchObject({ balance: 9_100n as Kopecks })
    }
  })

  test('two different purchases with one idempotency key buy one of them, and the other is refused', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const customer = await customerWith(10_000n)
      const attempts = Array.from({ length: 20 }, (_, index) =>
        buy(shop(index), payer(customer), 900n, { key: 'one', text: index % 4 < 2 ? 'this' : 'that' }),
      )
      const counts = await countOutcomes(attempts)
      expect(counts['sold']).toBe(1)
      const expected = ['sold', 'replayed', 'request_in_progress', 'idempotency_key_reused']
      expect(Object.keys(counts).every((name) => expected.includes(name))).toBe(true)
      const later = await countOutcomes([buy(shop(0), payer(customer), 900n, { key: 'one', text: 'this' })])
      const other = await countOutcomes([buy(shop(1), payer(customer), 900n, { key: 'one', text: 'that' })])
      expect({ ...later, ...other }).toEqual({ replayed: 1, idempotency_key_reused: 1 })
      expect(await ordersOf(customer)).toBe(1)
    }
  })

  test('60 concurrent purchases of 9 roubles with a token cap of 100 roubles succeed 11 times', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const customer = await customerWith(1_000_000n)
      const cap = kopecks(10_000n)
      const { token } = await shop(0).customers.issueToken(customer, { name: 'capped', cap })
      const by: Payer = { customer, token: { id: token.id, cap } }
      const attempts = Array.from({ length: 60 }, (_, index) => buy(shop(index), by, 900n))
      expect(await countOutcomes(attempts)).toEqual({ sold: 11, forbidden: 49 })
      expect(await shop(0).ledger.balance(customer)).toMatchObject({ apiSpent: 9_900n as Kopecks })
    }
  })

  test('20 concurrent refunds of one order refund it once', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const customer = await customerWith(900n)
      const { body } = await buy(shop(0), payer(customer), 900n)
      const { order } = JSON.parse(body) as { order: Parameters<Services['orders']['refund']>[0] }
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) => shop(index).orders.refund(order, 'all', 'sorry')),
      )
      expect(outcomes.filter((each) => each.status === 'fulfilled')).toHaveLength(1)
      for (const each of outcomes)
        if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'conflict' })
      expect(await shop(0).ledger.balance(customer)).toMatchObject({ balance: 900n as Kopecks })
    }
  })

  test('verify finds nothing after the concurrent purchases and refunds', async () => {
    expect(await findingsOf(shop(0))).toEqual([])
  })
})
