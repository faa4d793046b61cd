import type { CustomerId, TokenId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { PurchaseAnswer, PurchaseRequest, Sale } from '../orders/index.ts'
import { priceVpn } from '../pricing/rules.ts'
import { eventOf } from './announce.ts'
import { type BoughtVpn, charge, product, termOf } from './buy.ts'
import { configure, insertDevice, removeAll } from './devices.ts'
import { noSuchSubscription, subscriptionDisabled } from './errors.ts'
import { refreshUsedUp } from './groups.ts'
import {
  alertSubjectOf,
  baseLimitOf,
  byImportance,
  deviceLimitAfter,
  keptAfterEndMs,
  renewAgainMs,
  renewAheadMs,
  type Subscription,
  type SubscriptionId,
  slotsAt,
  slotsEndAfter,
  spanAfter,
  trafficFor,
  trafficLimitAfter,
  usedBy,
  type View,
} from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import { assertOffered, loadOffering, lock, nodesOf, type Offering, type VpnDeps, view } from './subscriptions.ts'

/** How many subscriptions a job reads at a time. */
const pageSize = 100

/**
 * Adds months after the running term, or from now. Devices, keys and link stay. Without a uuid it renews the
 * subscription that `info` shows first.
 */
export async function renew(
  deps: VpnDeps,
  request: PurchaseRequest<BoughtVpn>,
  order: { readonly uuid: SubscriptionId | undefined; readonly months: number },
): Promise<PurchaseAnswer> {
  const { customer } = request.by
  const offering = await loadOffering(deps)
  const input = { period: order.months, ...(order.uuid !== undefined && { uuid: order.uuid }) }
  return deps.orders.sell(request, { product, action: 'renew', input }, async (sale) => {
    assertOffered(deps, offering, undefined)
    // A term that is not sold is refused before the subscription is looked up.
    priceVpn(offering.catalogue, order.months)
    let { uuid } = order
    if (uuid === undefined) {
      const [top] = (await store.listOf(sale.tx, customer)).toSorted((a, b) => byImportance(a, b, deps.clock()))
      if (!top) throw noSuchSubscription()
      uuid = top.uuid
    }
    return extend(deps, sale, await lock(deps, sale.tx, customer, { uuid }), order.months, offering)
  })
}

/** Charges for months and adds them to a locked subscription. */
async function extend(
  deps: VpnDeps,
  sale: Sale,
  before: Subscription,
  months: number,
  { catalogue, nodes, groups }: Offering,
  isAutomatic = false,
): Promise<BoughtVpn> {
  const { tx, nowMs } = sale
  const { uuid } = before
  if (before.disabledAt !== null) throw subscriptionDisabled()
  const { plan, total: price, slots } = priceVpn(catalogue, months, before.slots)
  const span = spanAfter(before, months, nowMs)
  const held = await peers.listHeld(tx, [uuid])
  const terms = await store.listTerms(tx, [uuid])
  const last = terms.at(-1)
  if (!last) throw new Error('a subscription has no term')
  const receipt = await charge(sale, catalogue, months, before)
  const runs = span.startsAt === before.expiresAt
  const used = usedBy(before)
  const grant = trafficFor(plan.trafficGigabytes, months)
  const base = { limit: baseLimitOf(before, last), held: held.length, runs }
  const deviceLimit = deviceLimitAfter(base, plan.deviceLimit)
  const next = { uuid, seq: last.seq + 1, months, span, used, slots: before.slots, deviceLimit }
  const term = termOf(sale, catalogue, next)
  // Slots that this term does not renew are in force until it begins.
  const paid = [[...terms, term], await store.listSlots(tx, [uuid])] as const
  const after: Subscription = {
    ...before,
    anchorDay: span.anchorDay,
    expiresAt: span.endsAt,
    deviceLimit: deviceLimit + slotsAt(nowMs, ...paid),
    slots,
    slotsEndAt: slotsEndAfter(nowMs, ...paid),
    trafficLimit: trafficLimitAfter({ limit: before.trafficLimit, used, runs }, grant),
    speedMegabits: plan.speedMegabits,
    renewAfter: 0,
    renewProblem: null,
    sweptAt: null,
  }
  store.writeRenewal(tx, after)
  const left = (after.trafficLimit ?? 0n) - used
  deps.traffic.alerts.restart(tx, alertSubjectOf(uuid), left > 0n ? left : 0n)
  store.insertTerm(tx, term)
  // A swept subscription has no device; it gets one, because the answer contains a configuration.
  const first = held[0] ?? (await insertDevice(deps, tx, { subscription: uuid, held: 0, nodes }, {}))
  peers.touchPeers(tx, uuid, nowMs)
  await refreshUsedUp(deps, tx, groups, [after])
  const data = { months, expires_at: toIso(after.expiresAt), automatic: isAutomatic }
  await deps.events.note(tx, [eventOf(after, 'vpn.renewed', data, sale.order)])
  return {
    ...receipt,
    months,
    price,
    view: view(deps, after, held.length > 0 ? held : [first], nodes),
    config: configure(deps, first, nodes, undefined).text,
  }
}

/** Turns automatic renewal on, by as many months as last bought unless named, or off. The calling token pays. */
export async function setAutoRenew(
  deps: VpnDeps,
  customer: CustomerId,
  order: {
    readonly uuid: SubscriptionId | undefined
    readonly enabled: boolean
    readonly months: number | undefined
    readonly token: TokenId | null
  },
): Promise<View> {
  const [catalogue, nodes] = await Promise.all([deps.pricing.current(), nodesOf(deps)])
  if (order.enabled && order.months !== undefined) priceVpn(catalogue, order.months)
  return deps.db.transact(async (tx) => {
    const before = await lock(deps, tx, customer, { uuid: order.uuid })
    const { uuid } = before
    const last = (await store.listTerms(tx, [uuid])).at(-1)
    const months = order.enabled ? (order.months ?? last?.months ?? 1) : null
    if (months !== null) priceVpn(catalogue, months)
    store.writeAutoRenew(tx, uuid, months, order.token)
    const renewal = { autoRenewMonths: months, renewToken: order.token, renewAfter: 0, renewProblem: null }
    return view(deps, { ...before, ...renewal }, await peers.listHeld(tx, [uuid]), nodes)
  })
}

/**
 * Renews due subscriptions, a bounded number; call again while `more`. It compares stored times with the clock, so a
 * subscription that ended while the shop was stopped is renewed once, from now.
 */
export async function renewDue(deps: VpnDeps): Promise<{ renewed: number; refused: number; more: boolean }> {
  const nowMs = deps.clock()
  const due = await store.listDue(deps.db, nowMs + renewAheadMs, nowMs, pageSize)
  const outcomes = { renewed: 0, refused: 0, done: 0 }
  for (const each of due) outcomes[await renewOne(deps, each)] += 1
  return { renewed: outcomes.renewed, refused: outcomes.refused, more: due.length === pageSize }
}

/** Renews one subscription. The sale checks again with the row locked, so that one of several processes renews it. */
async function renewOne(deps: VpnDeps, due: Subscription): Promise<'renewed' | 'refused' | 'done'> {
  const by = await deps.customers.payerOf(due.customer, due.renewToken)
  const request = { by, key: undefined, automatic: true } as const
  const input = { uuid: due.uuid, period: due.autoRenewMonths, automatic: true }
  // Another process has renewed the subscription.
  const late = new Refusal('renewal_not_due', {}, { charged: false })
  try {
    const offering = await loadOffering(deps)
    await deps.orders.sell(request, { product, action: 'renew', input }, async (sale) => {
      const found = await store.lockSubscription(sale.tx, due.uuid)
      if (!found || found.autoRenewMonths === null || !isDue(found, deps.clock())) throw late
      if (found.renewToken !== (by.token?.id ?? null)) throw late
      assertOffered(deps, offering, undefined)
      return extend(deps, sale, found, found.autoRenewMonths, offering, true)
    })
    return 'renewed'
  } catch (error) {
    if (error === late) return 'done'
    if (!(error instanceof Refusal)) throw error
    // The customer sees the code of the refusal.
    const retryAt = deps.clock() + renewAgainMs
    await deps.db.transact((tx) => noteRefusedRenewal(deps, tx, due, error, retryAt))
    return 'refused'
  }
}

/** Writes why a renewal was refused, and an event if the reason is another one than before. */
async function noteRefusedRenewal(deps: VpnDeps, tx: Tx, due: Subscription, refusal: Refusal, retryAt: number) {
  const found = await store.lockSubscription(tx, due.uuid)
  if (!found || found.autoRenewMonths === null || found.expiresAt !== due.expiresAt) return
  store.writeRenewProblem(tx, due.uuid, refusal.code, retryAt)
  if (refusal.kind === 'unavailable' || found.renewProblem === refusal.code) return
  const data = { reason: refusal.reason, months: found.autoRenewMonths, expires_at: toIso(found.expiresAt) }
  await deps.events.note(tx, [eventOf(found, 'renewal.failed', data)])
}

const isDue = (of: Subscription, nowMs: number): boolean =>
  of.expiresAt - renewAheadMs <= nowMs && of.renewAfter <= nowMs

/** Lowers the device limit of subscriptions whose slots have ended. No device is removed. */
export async function endSlots(deps: VpnDeps, limit: number): Promise<number> {
  const ended = await store.listEndedSlots(deps.db, deps.clock(), limit)
  for (const uuid of ended) {
    await deps.db.transact(async (tx) => {
      const [found] = await store.lockMany(tx, [uuid])
      const nowMs = deps.clock()
      const terms = await store.listTerms(tx, [uuid])
      const last = terms.at(-1)
      if (!found || !last || found.slotsEndAt === null || found.slotsEndAt > nowMs) return
      const paid = [terms, await store.listSlots(tx, [uuid])] as const
      const deviceLimit = baseLimitOf(found, last) + slotsAt(nowMs, ...paid)
      store.writeLimit(tx, { ...found, deviceLimit, slotsEndAt: slotsEndAfter(nowMs, ...paid) })
    })
  }
  return ended.length
}

/** Removes devices, keys and addresses of subscriptions that ended 30 days ago. Call again while it returns any. */
export async function sweep(deps: VpnDeps): Promise<number> {
  const endedBeforeAt = deps.clock() - keptAfterEndMs
  const lapsed = await store.listLapsed(deps.db, endedBeforeAt, pageSize)
  for (const uuid of lapsed) {
    await deps.db.transact(async (tx) => {
      const found = await store.lockSubscription(tx, uuid)
      if (!found || found.expiresAt > endedBeforeAt) return
      await removeAll(deps, tx, await peers.listHeld(tx, [uuid]))
      store.markSwept(tx, uuid, deps.clock())
    })
  }
  return lapsed.length
}
