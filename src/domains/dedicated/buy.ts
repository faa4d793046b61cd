import { addDays } from '../../core/calendar.ts'
import { readCountry } from '../../core/country.ts'
import type { Kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Node, type NodeReach, reachOf } from '../fleet/rules.ts'
import type { PurchaseAnswer, PurchaseRequest, Receipt, Sale } from '../orders/index.ts'
import { numberIn, type Plain, textIn } from '../orders/rules.ts'
import type { Buyer } from '../payments/index.ts'
import { priceDedicated } from '../pricing/rules.ts'
import type { Kind, StockSlot } from '../stock/rules.ts'
import { type DedicatedDeps, type OpenProxy, product } from './proxies.ts'
import { kindName, makeUsername, type PortType, portTypes, vaultContext } from './rules.ts'
import * as store from './store.ts'

/** Input of a purchase. Proxies speak HTTP unless it names another protocol. */
export type DedicatedOrder = Kind & {
  readonly period: number
  readonly count: number
  readonly portType?: PortType | undefined
}

export type BoughtProxies = {
  readonly receipt: Receipt
  readonly input: DedicatedOrder
  readonly price: Kopecks
  readonly proxies: readonly OpenProxy[]
}

export async function quote(deps: DedicatedDeps, order: DedicatedOrder) {
  const price = priceDedicated(await deps.pricing.current(), order)
  return { ...price, available: await deps.stock.available(order) }
}

/** Sells proxies. Charge, leases, credentials and answer are one commit. */
export async function buy(
  deps: DedicatedDeps,
  request: PurchaseRequest<BoughtProxies>,
  order: DedicatedOrder,
): Promise<PurchaseAnswer> {
  const { stock } = deps
  const { customer } = request.by
  const { country, ipv, period, count, portType = 'http' } = order
  // Read before the sale: numbers come from transactions of their own.
  const [catalogue, ids, ready] = await Promise.all([
    deps.pricing.current(request.catalogue),
    deps.proxyIds.take(count),
    stock.prepare(order, count),
  ])
  // The default is left out, as in orders before it could be chosen.
  const input = { country_code: country, period, count, ipv, ...(portType !== 'http' && { port_type: portType }) }
  return deps.orders.sell(request, { product, action: 'buy', input }, async (sale) => {
    const { tx, nowMs } = sale
    const { total: price, full, discountPercent } = priceDedicated(catalogue, order)
    sale.assertPayable(price)
    const held = ipv === 3 ? await store.heldAddresses(tx, customer, country) : new Set<string>()
    const slots = await stock.take(tx, order, count, held, ready)
    const expiresAt = addDays(nowMs, period)
    const receipt = await sale.charge({
      price,
      calculation: {
        catalogue: catalogue.version,
        country,
        ipv,
        period,
        count,
        kopecks: String(price),
        full_kopecks: String(full),
        discount_percent: discountPercent,
        expires_at: expiresAt,
      },
      note: `${count} × ${country} ${kindName(ipv)}, ${period} days`,
    })
    const proxies: OpenProxy[] = []
    for (const [index, slot] of slots.entries()) {
      const id = ids[index]
      if (id === undefined) throw new Error('there are fewer numbers than slots')
      const of = { id, expiresAt, ...reachOfSlot(slot, ready.servingNodes) }
      proxies.push(await makeProxy(deps, sale, order, slot, of))
    }
    stock.lease(
      tx,
      slots.map((slot, index) => ({ slot, proxy: proxies[index]?.id ?? 0 })),
      nowMs,
    )
    store.insertProxies(tx, proxies)
    sale.attachMetadata('proxy', ids)
    return { receipt, input: order, price, proxies }
  })
}

async function makeProxy(
  deps: DedicatedDeps,
  { tx, order, account, nowMs, metadata }: Sale,
  { country, ipv, portType = 'http' }: DedicatedOrder,
  { id: slot, address }: StockSlot,
  of: Pick<OpenProxy, 'id' | 'expiresAt' | keyof NodeReach>,
): Promise<OpenProxy> {
  const username = makeUsername(of.id, deps.random)
  const password = await deps.fleet.makePasswordFor(tx, username)
  return {
    ...of,
    customer: account.customer,
    order,
    slot,
    address,
    country,
    ipv,
    portType,
    username,
    password,
    metadata,
    sealedPassword: deps.vault.seal(password, vaultContext(of.id)),
    passwordDigest: deps.sha256(password),
    comment: '',
    state: 'held',
    startedAt: nowMs,
    replacedAt: null,
    replacedBy: null,
    endedAt: null,
    interruptedAt: null,
    interruptedBy: null,
    resumedAt: null,
    sources: [],
    entryPort: null,
    renewPeriod: null,
    renewToken: null,
    renewProblem: null,
    changedAt: nowMs,
  }
}

/** Where customers reach the node that serves a slot. */
export const reachOfSlot = (slot: StockSlot, servingNodes: readonly Node[]): NodeReach =>
  reachOf(
    servingNodes.find((node) => node.id === slot.servingNode),
    servingNodes,
  )

/** Buys when a payment arrives. */
export const buyerOf = (deps: DedicatedDeps): Buyer => ({
  product,
  async quote(stored) {
    const order = readOrder(stored)
    const { total, available } = await quote(deps, order)
    // Another customer may still buy them before the payment arrives.
    if (available < order.count) throw new Refusal('out_of_stock', { available }, { available, charged: false })
    return total
  },
  buy: (request, stored) => buy(deps, { ...request, automatic: true }, readOrder(stored)),
})

/** An order that was stored with a payment. */
function readOrder(stored: Plain): DedicatedOrder {
  const country = readCountry(textIn(stored, 'country') ?? '')
  const ipv = ([3, 4, 6] as const).find((each) => each === numberIn(stored, 'ipv'))
  const [period, count] = [numberIn(stored, 'period'), numberIn(stored, 'count')]
  if (!country || !ipv || period === undefined || count === undefined)
    throw new Error('a stored order of proxies cannot be read')
  const portType = portTypes.find((each) => each === textIn(stored, 'port_type'))
  return { country, ipv, period, count, portType }
}
