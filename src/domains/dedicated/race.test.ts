import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { engines } from '../../../test/harness/database.ts'
import {
  addStock,
  buyProxies,
  type DomainShop,
  kindIn,
  openDomainShop,
  prolongProxies,
  replaceProxy,
  shippedWith,
  slotsByState,
} from '../../../test/harness/proxies.ts'
import { isLong, scaled } from '../../../test/harness/scale.ts'
import { addCustomer, findingsOf, keylessRequest } from '../../../test/harness/wired.ts'
import type { CustomerId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Ipv } from '../stock/rules.ts'

const dayMs = 86_400_000
const rich = 10n ** 11n
const rounds = isLong ? 20 : 1
/** More than there are slots of 50 shared addresses. */
const buyers = isLong ? 500 : 200

/** Counts successes, and refusals by code. A fault is thrown. */
async function countOutcomes(attempts: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const outcome of await Promise.allSettled(attempts)) {
    if (outcome.status === 'rejected' && !(outcome.reason instanceof Refusal)) throw outcome.reason as Error
    const name = outcome.status === 'fulfilled' ? 'done' : (outcome.reason as Refusal).code
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

describe.each([...engines])('concurrent purchases of dedicated proxies on %s', (engine) => {
  let shop: DomainShop
  let customers: CustomerId[]
  let block = 0
  beforeAll(async () => {
    shop = await openDomainShop(engine, shippedWith('AT', 'BE', 'CH', 'CZ'), 12)
    customers = await Promise.all(Array.from({ length: buyers }, () => addCustomer(shop.services, rich)))
  })
  afterAll(() => shop.close())
  const oneOf = (customer: CustomerId, code: string, ipv: Ipv, count = 1) =>
    buyProxies(shop.services, customer, { code, ipv, period: 7, count })

  /** Fifty addresses: 32 + 16 + 2. */
  async function addFifty(code: string, ipv: Ipv): Promise<void> {
    block += 1
    for (const prefix of ['0/27', '32/28', '48/31']) await addStock(shop.services, `10.${block}.0.${prefix}`, code, ipv)
  }

  test(`${buyers} concurrent purchases of one of 50 addresses make exactly 50 sales, in each of ${rounds} rounds`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      await addFifty('AT', 4)
      const counts = await countOutcomes(customers.map((customer) => oneOf(customer, 'AT', 4)))
      expect(counts).toEqual({ done: 50, out_of_stock: buyers - 50 })
    }
    const held = await shop.db.first<{ n: bigint; addresses: bigint }>(
      `SELECT COUNT(*) AS n, COUNT(DISTINCT address) AS addresses FROM proxies WHERE country = 'AT'`,
    )
    expect([Number(held?.n), Number(held?.addresses)]).toEqual([50 * rounds, 50 * rounds])
    expect(await slotsByState(shop.services)).toEqual({ free: 0, leased: 50 * rounds, resting: 0, retired: 0 })
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test(`${buyers} concurrent purchases of one slot of 50 shared addresses make exactly 150 sales`, async () => {
    await addFifty('BE', 3)
    const counts = await countOutcomes(customers.map((customer) => oneOf(customer, 'BE', 3)))
    expect(counts).toEqual({ done: 150, out_of_stock: buyers - 150 })
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('24 concurrent purchases of the 24 slots of 8 shared addresses all succeed', async () => {
    for (let round = 0; round < rounds * 2; round += 1) {
      block += 1
      await addStock(shop.services, `10.${block}.0.0/29`, 'CH', 3)
      const counts = await countOutcomes(customers.slice(0, 24).map((customer) => oneOf(customer, 'CH', 3)))
      expect(counts).toEqual({ done: 24 })
    }
  })

  test('an address of a purchase that its token cap refuses is available to another customer', async () => {
    for (let round = 0; round < rounds * 2; round += 1) {
      block += 1
      await addStock(shop.services, `10.${block}.0.0`, 'BE', 4)
      const cap = 0n as Kopecks
      const tokens = await Promise.all(
        customers.slice(0, 12).map((customer) => shop.services.customers.issueToken(customer, { name: 'poor', cap })),
      )
      const order = { ...kindIn('BE', 4), period: 7, count: 1 }
      const poor = tokens.map(({ token }) =>
        shop.services.dedicated.buy(
          { ...keylessRequest(token.customer), by: { customer: token.customer, token } },
          order,
        ),
      )
      const payer = customers[20 + round]
      if (!payer) throw new Error('there are too few customers')
      const counts = await countOutcomes([...poor.slice(0, 6), oneOf(payer, 'BE', 4), ...poor.slice(6)])
      expect(counts['done']).toBe(1)
    }
  })

  test('60 concurrent purchases of 7 of 50 addresses make exactly 7 sales', async () => {
    await addFifty('CH', 4)
    const counts = await countOutcomes(customers.slice(0, 60).map((customer) => oneOf(customer, 'CH', 4, 7)))
    expect(counts).toEqual({ done: 7, out_of_stock: 53 })
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('40 concurrent purchases of a customer with a balance for 10 make exactly 10 sales', async () => {
    await addStock(shop.services, '10.200.0.0/24', 'CZ', 4)
    // A week in CZ is seven roubles.
    const customer = await addCustomer(shop.services, 7_000n)
    const counts = await countOutcomes(Array.from({ length: 40 }, () => oneOf(customer, 'CZ', 4)))
    expect(counts).toEqual({ done: 10, insufficient_funds: 30 })
    expect((await shop.services.ledger.balance(customer)).balance).toBe(0n as never)
  })

  test('30 concurrent prolongings of the same 3 proxies by 3 days add 90 days to each', async () => {
    const [customer] = customers
    if (!customer) throw new Error('there are no customers')
    const { proxies } = await oneOf(customer, 'CZ', 4, 3)
    const ids = proxies.map((each) => each.id)
    const attempts = Array.from({ length: 30 }, (_, index) =>
      prolongProxies(shop.services, customer, index % 2 === 0 ? ids : ids.toReversed(), 3),
    )
    expect(await countOutcomes(attempts)).toEqual({ done: 30 })
    for (const id of ids) {
      const { expiresAt } = await shop.services.dedicated.load(customer, id)
      expect(expiresAt).toBe(shop.clock.nowMs + (7 + 90) * dayMs)
    }
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('one customer’s concurrent swaps and purchases never hold a shared address twice', async () => {
    const iterations = scaled(40)
    for (let round = 0; round < iterations; round += 1) {
      const customer = await addCustomer(shop.services, rich)
      block += 1
      await addStock(shop.services, `10.${block}.0.0/29`, 'CZ', 3)
      const { proxies } = await oneOf(customer, 'CZ', 3, 4)
      await countOutcomes([
        ...proxies.map((proxy) => replaceProxy(shop.services, customer, proxy.id)),
        oneOf(customer, 'CZ', 3, 2),
        oneOf(customer, 'CZ', 3),
      ])
    }
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('verify finds nothing after concurrent purchases, swaps, prolongings, ends and rests', async () => {
    const { services, clock } = shop
    const iterations = scaled(30)
    const few = customers.slice(0, 8)
    for (let round = 0; round < iterations; round += 1) {
      const held = await shop.db.all<{ id: bigint; customer_id: string }>(
        `SELECT id, customer_id FROM proxies WHERE state = 'held' AND country IN ('CZ', 'CH') ORDER BY id LIMIT 24`,
      )
      clock.advanceDays(4)
      await countOutcomes([
        ...few.map((customer, index) => oneOf(customer, 'CZ', index % 2 === 0 ? 4 : 3)),
        services.dedicatedUpkeep.release(50),
        ...held.map((row, index) =>
          index % 3 === 0
            ? prolongProxies(services, row.customer_id as CustomerId, [Number(row.id)], 3)
            : replaceProxy(services, row.customer_id as CustomerId, Number(row.id)),
        ),
        services.dedicatedUpkeep.release(50),
        services.stock.endRest(50),
        services.stock.endRest(50),
        ...few.map((customer) => oneOf(customer, 'CH', 4)),
      ])
      expect(await findingsOf(services)).toEqual([])
    }
  })
})
