import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines } from '../../../test/harness/database.ts'
import { isDone } from '../../../test/harness/failure.ts'
import {
  addStock,
  buyProxies,
  type DomainShop,
  openDomainShop,
  prolongProxies,
  shippedWith,
} from '../../../test/harness/proxies.ts'
import { scaled } from '../../../test/harness/scale.ts'
import { addCustomer, buying, findingsOf } from '../../../test/harness/wired.ts'
import { addDays, addMonths } from '../../core/calendar.ts'
import type { CustomerId, NodeId, OrderId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { type PaidTerm, unusedOf } from '../dedicated/rules.ts'
import type { BoughtSlots, BoughtVpn } from '../vpn/index.ts'
import { refundOf, type SubscriptionId } from '../vpn/rules.ts'
import { dueAtEnd } from './rules.ts'
import type { PurchaseRequest } from './sell.ts'

const dayMs = 86_400_000

test('dueAtEnd subtracts earlier refunds from all ended service, and refunds at most what is left of the price', () => {
  const amount = fc.bigInt({ min: 0n, max: 1500n })
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 1000n }), amount, amount, (price, given, unused) => {
      const refunded = given < price ? given : price
      const dueOf = (of: 'order' | 'part') => dueAtEnd(kopecks(price), kopecks(refunded), kopecks(unused), of)
      const worth = unused < price ? unused : price
      expect(refunded + dueOf('order')).toBe(worth > refunded ? worth : refunded)
      expect(refunded + dueOf('part')).toBe(refunded + unused < price ? refunded + unused : price)
    }),
  )
})

type Step =
  | { readonly do: 'buy proxies'; readonly count: number }
  | { readonly do: 'prolong' | 'end proxy'; readonly proxy: number }
  | { readonly do: 'buy traffic'; readonly tenths: number }
  | { readonly do: 'buy vpn' | 'renew vpn'; readonly months: 1 | 3 }
  | { readonly do: 'add slots'; readonly count: 1 | 2 | 5 }
  | { readonly do: 'delete vpn' }
  | { readonly do: 'end order'; readonly order: number; readonly how: 'unused' | 'whole' }
  | { readonly do: 'refund'; readonly order: number; readonly percent: number }
  | { readonly do: 'wait'; readonly days: number }

const number = fc.nat(5)
const months = fc.constantFrom(1 as const, 3 as const)
const how = fc.constantFrom('unused' as const, 'whole' as const)
const percent = fc.constantFrom(0, 1, 30, 70)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('buy proxies' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constantFrom('prolong' as const, 'end proxy' as const), proxy: number }),
  fc.record({ do: fc.constant('buy traffic' as const), tenths: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constantFrom('buy vpn' as const, 'renew vpn' as const), months }),
  fc.record({ do: fc.constant('add slots' as const), count: fc.constantFrom(1 as const, 2 as const, 5 as const) }),
  fc.record({ do: fc.constant('delete vpn' as const) }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end order' as const), order: number, how }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('refund' as const), order: number, percent }) },
  fc.record({ do: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 20 }) }),
)

type TrafficSale = { readonly order: OrderId; readonly price: Kopecks }
type ModelOrder = { readonly id: OrderId; readonly price: bigint; refunded: bigint }
type ModelProxy = { readonly id: number; readonly order: ModelOrder; terms: PaidTerm[]; expiresAt: number }
type ModelTerm = { readonly order: ModelOrder; readonly startsAt: number; readonly endsAt: number }

/** The rule in its simplest form, and the goods that orders have paid for. */
class Model {
  readonly orders: ModelOrder[] = []
  readonly traffic = new Set<ModelOrder>()
  proxies: ModelProxy[] = []
  subscriptions: { readonly uuid: SubscriptionId; terms: ModelTerm[]; anchorDay: number }[] = []

  sell(id: OrderId, price: bigint): ModelOrder {
    const order = { id, price, refunded: 0n }
    this.orders.push(order)
    return order
  }

  /** All service of the order ends: earlier refunds are subtracted. */
  endOrder(order: ModelOrder, unused: bigint): void {
    if (unused > order.refunded) order.refunded = unused
  }

  /** One of several services ends: refunds of the others are not subtracted, but never exceed the price together. */
  endPart(order: ModelOrder, unused: bigint): void {
    order.refunded = order.refunded + unused < order.price ? order.refunded + unused : order.price
  }

  /** Ends these proxies: parts of one charge are summed, as the shop refunds them in one posting. */
  endProxies(ended: readonly ModelProxy[], nowMs: number, whole?: ModelOrder): void {
    for (const { terms, expiresAt } of ended)
      for (const { order, amount } of unusedOf(terms, expiresAt - nowMs)) {
        const of = this.orders.find((each) => each.id === order)
        if (of && of !== whole) this.endPart(of, amount)
      }
    if (whole) this.endPart(whole, whole.price)
    this.proxies = this.proxies.filter((each) => !ended.includes(each))
  }
}

describe.each([...engines])('refunds on %s', (engine) => {
  let shop: DomainShop
  let vpnNode: { readonly id: NodeId }
  beforeAll(async () => {
    shop = await openDomainShop(engine, shippedWith('AT'))
    await addStock(shop.services, '10.9.0.0/21', 'AT', 4)
    vpnNode = await shop.db.transact((tx) =>
      shop.services.fleet.add(tx, { kind: 'vpn', name: 'vpn-1', location: 'test' }),
    )
    shop.clock.advance(1000)
  })
  afterAll(() => shop.close())

  /** Buys or renews while the VPN node reports. */
  async function buyVpn(customer: CustomerId, length: number, uuid?: SubscriptionId): Promise<BoughtVpn> {
    const { fleet, vpn } = shop.services
    await fleet.seen(vpnNode.id, { version: 'test' })
    return buying(customer, (request: PurchaseRequest<BoughtVpn>) =>
      uuid ? vpn.renew(request, { uuid, months: length }) : vpn.buy(request, { months: length }),
    )
  }
  const refundByHand = (order: OrderId, amount: Kopecks) =>
    shop.services.refunds.refund({ order, amount, again: true, note: 'by hand', key: undefined })
  const balanceOf = async (customer: CustomerId) => (await shop.services.ledger.balance(customer)).balance

  test('a VPN that is deleted after a refund of 1 rouble refunds the unused part less 1 rouble', async () => {
    const customer = await addCustomer(shop.services, 1_000_000n)
    const { order, view } = await buyVpn(customer, 12)
    await refundByHand(order, kopecks(100n))
    const { uuid } = view.subscription
    expect((await shop.services.vpn.quoteRefund(customer, uuid)).refund).toBe(kopecks(268_900n))
    expect((await shop.services.vpn.delete(customer, uuid)).refunded).toBe(kopecks(268_900n))
    expect(await balanceOf(customer)).toBe(kopecks(1_000_000n))
    expect(await findingsOf(shop.services)).toEqual([])
  })

  test('unused traffic is refunded after a refund of 1 rouble by hand, less that rouble', async () => {
    const customer = await addCustomer(shop.services, 1_000_000n)
    const { order } = await buyTraffic(customer, 10)
    await refundByHand(order, kopecks(100n))
    const { money } = await shop.services.premium.traffic.refund(order, 'unused')
    expect(await balanceOf(customer)).toBe(kopecks(1_000_000n))
    expect(money).toBeGreaterThan(0n)
  })

  const buyTraffic = (customer: CustomerId, tenths: number): Promise<TrafficSale> =>
    buying(customer, (request: PurchaseRequest<TrafficSale>) =>
      shop.services.premium.traffic.buy(request, { pool: 'residential', tenths, subuser: undefined }),
    )

  async function runPurchase(model: Model, customer: CustomerId, each: Step): Promise<void> {
    const { services, clock } = shop
    if (each.do === 'buy proxies') {
      const { proxies, receipt, price } = await buyProxies(services, customer, {
        code: 'AT',
        ipv: 4,
        count: each.count,
      })
      const order = model.sell(receipt.order, price)
      const term = { order: order.id, chargeSeq: 0, lengthMs: addDays(0, 30), price, shares: each.count }
      for (const { id, expiresAt } of proxies) model.proxies.push({ id, order, terms: [term], expiresAt })
    }
    const prolonged = each.do === 'prolong' && model.proxies[each.proxy]
    if (prolonged) {
      const { receipt, total } = await prolongProxies(services, customer, [prolonged.id], 30)
      model.sell(receipt.order, total)
      const term = { order: receipt.order, chargeSeq: 0, lengthMs: addDays(0, 30), price: total, shares: 1 }
      prolonged.terms = [term, ...prolonged.terms]
      prolonged.expiresAt = Math.max(prolonged.expiresAt, clock.nowMs) + term.lengthMs
    }
    if (each.do === 'buy traffic') {
      const { order, price } = await buyTraffic(customer, each.tenths)
      model.traffic.add(model.sell(order, price))
    }
    if (each.do === 'buy vpn') {
      const { order, price, view } = await buyVpn(customer, each.months)
      const { uuid, expiresAt, anchorDay } = view.subscription
      const term = { order: model.sell(order, price), startsAt: clock.nowMs, endsAt: expiresAt }
      model.subscriptions.push({ uuid, terms: [term], anchorDay })
    }
    const widened = each.do === 'add slots' ? model.subscriptions.at(0) : undefined
    const endsAt = Math.max(0, ...(widened?.terms ?? []).map((term) => term.endsAt))
    if (each.do === 'add slots' && widened && endsAt > clock.nowMs) {
      const order = { uuid: widened.uuid, count: each.count }
      const { order: id, price } = await buying(customer, (request: PurchaseRequest<BoughtSlots>) =>
        services.vpn.increase(request, order),
      )
      widened.terms.push({ order: model.sell(id, price), startsAt: clock.nowMs, endsAt })
    }
    const renewed = each.do === 'renew vpn' ? model.subscriptions.at(0) : undefined
    if (each.do === 'renew vpn' && renewed) {
      const { order, price } = await buyVpn(customer, each.months, renewed.uuid)
      const last = Math.max(...renewed.terms.map((term) => term.endsAt))
      if (last < clock.nowMs) renewed.anchorDay = new Date(clock.nowMs).getUTCDate()
      const startsAt = Math.max(last, clock.nowMs)
      const ends = addMonths(startsAt, each.months, renewed.anchorDay)
      renewed.terms.push({ order: model.sell(order, price), startsAt, endsAt: ends })
    }
  }

  function endSubscription(model: Model, uuid: SubscriptionId): void {
    const ended = model.subscriptions.find((each) => each.uuid === uuid)
    for (const { order, ...term } of ended?.terms ?? [])
      model.endOrder(
        order,
        refundOf({ ...term, price: kopecks(order.price), refund: 'pro_rata' }, shop.clock.nowMs, null),
      )
    model.subscriptions = model.subscriptions.filter((each) => each !== ended)
  }

  async function runEnd(model: Model, customer: CustomerId, each: Step): Promise<void> {
    const { services, clock } = shop
    const proxy = each.do === 'end proxy' ? model.proxies[each.proxy] : undefined
    if (proxy && (await isDone(services.proxyOperator.end(proxy.id, { give: 'unused', note: 'test' }))))
      model.endProxies([proxy], clock.nowMs)
    const deleted = each.do === 'delete vpn' ? model.subscriptions.at(0) : undefined
    if (deleted) {
      await services.vpn.delete(customer, deleted.uuid)
      endSubscription(model, deleted.uuid)
    }
    const order = 'order' in each ? model.orders[each.order] : undefined
    if (each.do === 'refund' && order) {
      const amount = (order.price * BigInt(each.percent)) / 100n || 100n
      const isAllowed = amount <= order.price - order.refunded
      expect(await isDone(refundByHand(order.id, kopecks(amount)))).toBe(isAllowed)
      if (isAllowed) order.refunded += amount
    }
    if (each.do !== 'end order' || !order) return
    const request = { order: order.id, how: each.how, note: 'test', key: undefined }
    if (!(await isDone(services.refunds.end(request)))) return
    if (model.traffic.has(order)) return model.endOrder(order, order.price)
    const subscription = model.subscriptions.find(({ terms }) => terms.some((term) => term.order === order))
    if (subscription) return endSubscription(model, subscription.uuid)
    const bought = model.proxies.filter((held) => held.order === order)
    model.endProxies(bought, clock.nowMs, each.how === 'whole' ? order : undefined)
  }

  test('refunds equal the unused service less earlier refunds, and never exceed the price of the order, in random histories of 8 to 24 steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 24, size: 'max' }), async (steps) => {
        const customer = await addCustomer(shop.services, 10n ** 9n)
        const model = new Model()
        for (const each of steps) {
          if (each.do === 'wait') shop.clock.advance(each.days * dayMs)
          await shop.services.dedicated.upkeep.release(1000)
          model.proxies = model.proxies.filter(({ expiresAt }) => expiresAt + 3 * dayMs > shop.clock.nowMs)
          await runPurchase(model, customer, each)
          await runEnd(model, customer, each)
        }
        for (const { id, price, refunded } of model.orders) {
          const [charge, ...refunds] = await shop.services.ledger.ofOrder(customer, id)
          expect(charge?.amount).toBe(kopecks(-price))
          expect(refunds.reduce((sum, { amount }) => sum + amount, 0n)).toBe(refunded)
          expect(refunded).toBeLessThanOrEqual(price)
        }
      }),
      { numRuns: scaled(engine === 'sqlite' ? 400 : 150) },
    )
    expect(await findingsOf(shop.services)).toEqual([])
  })
})
