import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { HandClock } from '../../../test/harness/clock.ts'
import { engines, openTestDatabase } from '../../../test/harness/database.ts'
import { createDice, type Dice } from '../../../test/harness/dice.ts'
import { scansIn } from '../../../test/harness/scans.ts'
import { addCustomer, keylessRequest, wire } from '../../../test/harness/wired.ts'
import type { Services } from '../../app/shop/services.ts'
import { type CustomerId, firstId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { type AllOrdersFilter, type Order, type OrderState, orderSorts, orderStates, stateOf } from './rules.ts'
import { pastLastId } from './store.ts'
import { listAll } from './store-all.ts'

type Model = { readonly order: Order; readonly refunded: bigint; readonly state: OrderState }

/** One of some values. */
const pick = <Value>(dice: Dice, values: readonly Value[]): Value => {
  const picked = values[dice(values.length)]
  if (picked === undefined) throw new Error('nothing to pick from')
  return picked
}

const everything = {
  customer: undefined,
  product: undefined,
  from: '',
  below: pastLastId,
  minPrice: undefined,
  maxPrice: undefined,
  state: undefined,
  sort: 'newest',
  after: undefined,
  limit: 1000,
} as const

describe.each([...engines])('orders of all customers on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  let services: Services
  let customers: CustomerId[]
  let model: Model[]
  const dice = createDice(48)
  const clock = new HandClock()

  /** 60 orders of three customers at 12 prices, some refunded in part or whole. */
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
    services = wire(opened.db, clock)
    customers = await Promise.all([1, 2, 3].map(() => addCustomer(services, 1_000_000n)))
    for (let index = 0; index < 60; index += 1) {
      clock.advance(pick(dice, [1, 1000, 86_400_000]))
      const product = pick(dice, ['dedicated', 'dedicated', 'vpn'])
      const input = { product, action: 'buy', input: {} }
      const price = kopecks(BigInt(pick(dice, [0, 100, 100, 100, 250, 300, 4000, 99_000])))
      await services.orders.sell(keylessRequest(pick(dice, customers)), input, (sale) =>
        sale.charge({ price, calculation: {}, note: 'a thing' }),
      )
    }
    const all = (await listAll(opened.db, everything)).toReversed()
    model = await Promise.all(
      all.map(async (order) => {
        const part = order.price === 0n ? 'none' : pick(dice, ['none', 'none', 'half', 'whole'] as const)
        const refunded = part === 'none' ? 0n : part === 'half' ? order.price / 2n : order.price
        if (refunded > 0n) {
          const amount = kopecks(refunded)
          await services.refunds.refund({ order: order.id, note: 'slow', key: undefined, amount, again: false })
        }
        return { order, refunded, state: stateOf(order.price, kopecks(refunded)) }
      }),
    )
  })
  afterAll(() => opened.close())

  function expected(filter: AllOrdersFilter): string[] {
    const found = model.filter(
      ({ order, state }) =>
        (filter.customer === undefined || order.customer === filter.customer) &&
        (filter.product === undefined || order.product === filter.product) &&
        (filter.state === undefined || state === filter.state) &&
        order.id >= filter.from &&
        order.id < filter.below &&
        (filter.minPrice === undefined || order.price >= filter.minPrice) &&
        (filter.maxPrice === undefined || order.price <= filter.maxPrice),
    )
    const byTime = found.toSorted((a, b) => (a.order.id < b.order.id ? -1 : 1))
    const byPrice = byTime.toSorted((a, b) => Number(a.order.price - b.order.price))
    const sorted = { oldest: byTime, newest: byTime.toReversed(), cheapest: byPrice, dearest: byPrice.toReversed() }
    return sorted[filter.sort].map(({ order }) => order.id)
  }

  function anyFilter(): AllOrdersFilter {
    const maybe = <Value>(value: Value): Value | undefined => (pick(dice, [true, false]) ? value : undefined)
    const at = () => firstId('order', pick(dice, model).order.createdAt)
    return {
      customer: maybe(pick(dice, customers)),
      product: maybe(pick(dice, ['dedicated', 'vpn'])),
      from: maybe(at()) ?? '',
      below: maybe(at()) ?? pastLastId,
      minPrice: maybe(kopecks(100n)),
      maxPrice: maybe(kopecks(4000n)),
      state: maybe(pick(dice, orderStates)),
      sort: pick(dice, orderSorts),
      after: undefined,
      limit: pick(dice, [1, 3, 7, 100]),
    }
  }

  async function pagesOf(filter: AllOrdersFilter, few: number): Promise<string[]> {
    const found: Order[] = []
    for (;;) {
      const last = found.at(-1)
      const page = await listAll(opened.db, { ...filter, after: last && { price: last.price, id: last.id } }, few)
      found.push(...page)
      if (page.length < filter.limit) return found.map((each) => each.id)
    }
  }

  test('80 combinations of filters, sorts and page sizes give the orders of a model, whichever index leads', async () => {
    for (let round = 0; round < 80; round += 1) {
      const filter = anyFilter()
      expect([filter, await pagesOf(filter, pick(dice, [0, 10, 5000]))]).toEqual([filter, expected(filter)])
    }
  })

  test('each filter and sort finds its orders by an index', async () => {
    const filters: Partial<AllOrdersFilter>[] = [
      {},
      { customer: customers[0] },
      { product: 'vpn' },
      { minPrice: kopecks(100n), maxPrice: kopecks(300n) },
      ...orderStates.map((state) => ({ state })),
    ]
    const askAll = async () => {
      for (const filter of filters) {
        for (const sort of orderSorts) {
          for (const few of [0, 5000]) await listAll(opened.db, { ...everything, ...filter, sort }, few)
        }
      }
    }
    const scans = await scansIn(opened.db, ['orders', 'postings'], askAll, { mayScanIndex: true })
    expect(scans).toEqual([])
  })

  test('each order is listed with the sum of its refunds', async () => {
    const listed = await services.orders.listAll({ ...everything, fromAt: undefined, toAt: undefined, sort: 'oldest' })
    const shown = listed.map(({ order, refunded, state }) => [order.id, refunded, state])
    expect(shown).toEqual(model.map(({ order, refunded, state }) => [order.id, kopecks(refunded), state]))
  })
})
