import type { CustomerId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { PurchaseAnswer, PurchaseRequest, Receipt } from '../orders/index.ts'
import { maxSlots, priceSlots } from '../pricing/rules.ts'
import { product } from './buy.ts'
import { increaseAction, type Subscription, type SubscriptionId, statusOf } from './rules.ts'
import * as store from './store.ts'
import { load, lock, type VpnDeps } from './subscriptions.ts'

export type BoughtSlots = Receipt & {
  readonly count: number
  readonly price: Kopecks
  readonly subscription: Subscription
}

/** How many slots a renewal of this subscription would renew. */
export const slotsOf = async (deps: VpnDeps, customer: CustomerId, uuid: SubscriptionId): Promise<number> =>
  (await load(deps, customer, { uuid })).slots

/** The price of a number of device slots, or of every number that is sold. */
export async function quoteSlots(deps: VpnDeps, count: number | undefined) {
  const catalogue = await deps.pricing.current()
  const wanted = count === undefined ? [...(catalogue.vpn?.slots.keys() ?? [])] : [count]
  return wanted.map((each) => ({ count: each, price: priceSlots(catalogue, each).total }))
}

/** Sells device slots until the end of a running subscription. Its renewals renew them. */
export async function increase(
  deps: VpnDeps,
  request: PurchaseRequest<BoughtSlots>,
  { uuid, count }: { readonly uuid: SubscriptionId | undefined; readonly count: number },
): Promise<PurchaseAnswer> {
  const catalogue = await deps.pricing.current()
  const input = { count, ...(uuid !== undefined && { uuid }) }
  return deps.orders.sell(request, { product, action: increaseAction, input }, async (sale) => {
    const { tx, nowMs } = sale
    const { plan, total: price } = priceSlots(catalogue, count)
    const before = await lock(deps, tx, request.by.customer, { uuid })
    const status = statusOf(before, nowMs)
    if (status === 'EXPIRED' || status === 'DISABLED')
      throw new Refusal('subscription_not_active', { status }, { status, charged: false })
    if (before.slots + count > maxSlots) throw new Refusal('slot_limit', { max: maxSlots }, { charged: false })
    const afterTerm = (await store.listTerms(tx, [before.uuid])).at(-1)?.seq
    if (afterTerm === undefined) throw new Error('a subscription has no term')
    const calculation = { catalogue: catalogue.version, slots: count, uuid: before.uuid }
    const note = `VPN for ${count} more ${count === 1 ? 'device' : 'devices'}`
    const receipt = await sale.charge({ price, calculation, note })
    const limits = { slots: before.slots + count, deviceLimit: before.deviceLimit + count }
    const paid = { price, startsAt: nowMs, endsAt: before.expiresAt, refund: plan.refund, refunded: zero }
    store.insertSlots(tx, { subscription: before.uuid, order: sale.order, afterTerm, slots: count, ...paid }, limits)
    return { ...receipt, count, price, subscription: { ...before, ...limits } }
  })
}
