import { type Bytes, bytes } from '../../core/bytes.ts'
import { type Kopecks, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { PurchaseAnswer, PurchaseRequest, Receipt, Sale } from '../orders/index.ts'
import { numberIn, type Plain, textIn, valueIn } from '../orders/rules.ts'
import type { Buyer } from '../payments/index.ts'
import { type Catalogue, priceVpn } from '../pricing/rules.ts'
import { assertFresh, configure, type DeviceOrder, insertDevice } from './devices.ts'
import {
  alertSubjectOf,
  makeUuid,
  maxSubscriptions,
  type Span,
  type Subscription,
  type SubscriptionId,
  spanAfter,
  type Term,
  trafficFor,
  type View,
} from './rules.ts'
import * as store from './store.ts'
import { assertOffered, loadOffering, makeLink, type VpnDeps, view } from './subscriptions.ts'

export const product = 'vpn'

/** Input of a purchase: how many months, and the first device. */
export type VpnOrder = DeviceOrder & { readonly months: number; readonly autoRenew?: boolean | undefined }

export type BoughtVpn = Receipt & {
  readonly months: number
  readonly price: Kopecks
  readonly view: View
  readonly config: string
}

/** The price of a number of months, or of every number that is sold, with the slots that a renewal would renew. */
export async function quote(deps: VpnDeps, months: number | undefined, held = 0) {
  const catalogue = await deps.pricing.current()
  const wanted = months === undefined ? [...(catalogue.vpn?.months.keys() ?? [])] : [months]
  return wanted.map((each) => {
    const { total, perMonth, slots, slotsTotal } = priceVpn(catalogue, each, held)
    return { months: each, total, perMonth, slots, slotsTotal }
  })
}

/** Sells a new subscription with its first device. Charge and delivery are one commit. */
export async function buy(
  deps: VpnDeps,
  request: PurchaseRequest<BoughtVpn>,
  order: VpnOrder,
): Promise<PurchaseAnswer> {
  const { months } = order
  const { customer, token } = request.by
  const offering = await loadOffering(deps, request.catalogue)
  const { catalogue, nodes } = offering
  return deps.orders.sell(request, { product, action: 'buy', input: toInput(order) }, async (sale) => {
    const { tx, nowMs } = sale
    assertOffered(deps, offering, order.location)
    const { total: price, plan } = priceVpn(catalogue, months)
    sale.assertPayable(price)
    if ((await store.countOf(tx, customer)) >= maxSubscriptions)
      throw new Refusal('subscription_limit', { max: maxSubscriptions }, { charged: false })
    await assertFresh(deps, tx, customer, plan.deviceLimit)
    const uuid = makeUuid(nowMs, deps.random)
    const span = spanAfter(undefined, months, nowMs)
    const receipt = await charge(sale, catalogue, months, { uuid, slots: 0 })
    const subscription: Subscription = {
      ...makeLink(deps, uuid),
      customer,
      anchorDay: span.anchorDay,
      expiresAt: span.endsAt,
      deviceLimit: plan.deviceLimit,
      slotsEndAt: null,
      usedUpGroups: null,
      slots: 0,
      trafficLimit: trafficFor(plan.trafficGigabytes, months),
      speedMegabits: plan.speedMegabits,
      received: bytes(0n),
      sent: bytes(0n),
      autoRenewMonths: order.autoRenew ? months : null,
      renewToken: order.autoRenew ? (token?.id ?? null) : null,
      renewAfter: 0,
      renewProblem: null,
      createdAt: nowMs,
      disabledAt: null,
      sweptAt: null,
      deletedAt: null,
      name: null,
    }
    store.insertSubscription(tx, subscription)
    sale.attachMetadata('vpn', [uuid])
    deps.traffic.alerts.restart(tx, alertSubjectOf(uuid), subscription.trafficLimit ?? 0n)
    const first = { uuid, seq: 1, months, span, used: bytes(0n), slots: 0, deviceLimit: plan.deviceLimit }
    store.insertTerm(tx, termOf(sale, catalogue, first))
    const device = await insertDevice(deps, tx, { subscription: uuid, held: 0, nodes }, order)
    return {
      ...receipt,
      months,
      price,
      view: view(deps, subscription, [device], nodes),
      config: configure(deps, device, nodes, undefined).text,
    }
  })
}

/** Charges for months of a subscription and the slots that they renew, in a purchase or a renewal. */
export function charge(
  sale: Sale,
  catalogue: Catalogue,
  months: number,
  { uuid, slots: held }: Pick<Subscription, 'uuid' | 'slots'>,
): Promise<Receipt> {
  const { total: price, perMonth, slots } = priceVpn(catalogue, months, held)
  const renewed = slots > 0 ? { slots } : {}
  return sale.charge({
    price,
    calculation: { catalogue: catalogue.version, months, per_month_kopecks: String(perMonth), uuid, ...renewed },
    note: `VPN for ${months} ${months === 1 ? 'month' : 'months'}`,
  })
}

/** The term that a sale pays for. */
export function termOf(
  sale: Sale,
  catalogue: Catalogue,
  of: {
    uuid: SubscriptionId
    seq: number
    months: number
    span: Span
    used: Bytes
    slots: number
    deviceLimit: number
  },
): Term {
  const { total: price, plan, slots } = priceVpn(catalogue, of.months, of.slots)
  return {
    subscription: of.uuid,
    seq: of.seq,
    order: sale.order,
    months: of.months,
    price,
    startsAt: of.span.startsAt,
    endsAt: of.span.endsAt,
    trafficGrant: trafficFor(plan.trafficGigabytes, of.months),
    usedBefore: of.used,
    refund: plan.refund,
    refunded: zero,
    slots,
    deviceLimit: of.deviceLimit,
  }
}

/** The input as the order keeps it. Fields that were left out are absent, so that a repeat without them is the same. */
const toInput = (order: VpnOrder): Plain => ({
  period: order.months,
  ...(order.location !== undefined && { location: order.location }),
  ...(order.name !== undefined && { name: order.name }),
  ...(order.publicKey !== undefined && { public_key: order.publicKey }),
  ...(order.autoRenew === true && { auto_renew: true }),
})

/** Buys when a payment arrives. */
export const buyerOf = (deps: VpnDeps): Buyer => ({
  product,
  async quote(input) {
    const [offer] = await quote(deps, readOrder(input).months)
    if (!offer) throw new Error('a period that is offered has no price')
    return offer.total
  },
  buy: (request, input) => buy(deps, { ...request, automatic: true }, readOrder(input)),
})

/** An order that was stored with a payment. */
function readOrder(stored: Plain): VpnOrder {
  const months = numberIn(stored, 'months')
  if (months === undefined) throw new Error('a stored VPN order names no months')
  return {
    months,
    name: textIn(stored, 'name'),
    publicKey: textIn(stored, 'publicKey'),
    location: textIn(stored, 'location'),
    autoRenew: valueIn(stored, 'autoRenew') === true,
  }
}
