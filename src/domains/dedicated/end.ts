import type { CustomerId } from '../../core/ids.ts'
import { subtract, toRoubles, total } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Ending, RefundPart } from '../orders/index.ts'
import type { Order } from '../orders/rules.ts'
import { closeEntrances } from './access.ts'
import { forgetProxies } from './days/store.ts'
import { nothingToEnd } from './errors.ts'
import { closeOutage } from './outages/outages.ts'
import { type DedicatedDeps, product } from './proxies.ts'
import { giveBack, paidTermsOf } from './refund.ts'
import {
  endedServiceOf,
  eventOf,
  graceEnd,
  isHeld,
  leftAt,
  type PaidTerm,
  refundedParts,
  restMs,
  sumByCharge,
  unusedOf,
} from './rules.ts'
import * as store from './store.ts'

/** How many of the ended proxies an answer describes. */
const maxServices = 50

/** Ends proxies of one customer before their time. Leases, refund and events are one commit. */
async function endAll(
  deps: DedicatedDeps,
  tx: Tx,
  of: { readonly customer: CustomerId; readonly ids: readonly number[] },
  how: { readonly give: RefundPart | 'nothing'; readonly order?: Order; readonly note: string },
) {
  const { customer } = of
  const account = await deps.ledger.lock(tx, customer)
  const nowMs = deps.clock()
  const proxies = (await store.lockProxies(tx, customer, of.ids)).filter((proxy) => isHeld(proxy, nowMs))
  if (proxies.length === 0) throw how.order ? new Refusal('order_already_ended') : nothingToEnd()
  const terms = how.give === 'nothing' ? new Map<number, PaidTerm[]>() : await paidTermsOf(deps, tx, customer, proxies)
  const ended = proxies.map((proxy) => {
    const paid = terms.get(proxy.id) ?? []
    return { proxy, paid, unused: unusedOf(paid, leftAt(proxy, nowMs)) }
  })
  const whole = how.give === 'whole' ? how.order : undefined
  const due = sumByCharge(ended.flatMap((each) => each.unused)).filter((part) => part.chargeSeq !== whole?.chargeSeq)
  if (whole?.chargeSeq) due.push({ order: whole.id, chargeSeq: whole.chargeSeq, amount: whole.price })
  const { refunded, balance } = await giveBack(deps, tx, due, how.note)
  for (const proxy of proxies) if (proxy.interruptedAt !== null) closeOutage(tx, proxy, nowMs, 'nothing')
  await deps.stock.release(
    tx,
    proxies.map((proxy) => ({ id: proxy.slot, endedAt: nowMs, restUntil: nowMs + restMs })),
  )
  closeEntrances(deps, tx, proxies, nowMs)
  const ids = proxies.map((proxy) => proxy.id)
  store.setEnded(tx, ids, nowMs)
  forgetProxies(tx, ids)
  const data = { refunded: refunded.length > 0, reason: how.note }
  await deps.events.note(
    tx,
    proxies.map((proxy) => eventOf(proxy, 'proxy.ended', { ip: proxy.address, ...data })),
  )
  const bought = new Set(proxies.map((proxy) => proxy.order))
  const purchases = total(refunded.filter((each) => bought.has(each.order)).map((each) => each.amount))
  const sum = total(refunded.map((each) => each.amount))
  const parts = refundedParts(ended, refunded, whole?.chargeSeq ?? undefined)
  return {
    ids,
    amount_rub: toRoubles(sum),
    purchase_rub: toRoubles(purchases),
    prolongation_rub: toRoubles(subtract(sum, purchases)),
    services:
      how.give === 'nothing'
        ? []
        : ended
            .slice(0, maxServices)
            .map(({ proxy, paid, unused }) => endedServiceOf(proxy, paid, unused, parts.get(proxy.id) ?? [])),
    balance_rub: toRoubles(balance ?? account.balance),
  }
}

/** How the operator ends what an order has bought. */
export const endingOf = (deps: DedicatedDeps): Ending => ({
  product,
  async endOrder(tx, order, give, note) {
    if (order.action !== 'buy') throw new Refusal('order_prolonged_only')
    const { customer } = order
    const bought = await store.idsOfOrder(tx, customer, order.id)
    const { ids, ...refund } = await endAll(deps, tx, { customer, ids: bought }, { give, order, note })
    return { proxies: ids, ...refund }
  },
})

/** Ends one proxy for the operator, and refunds its unused time unless `give` is `nothing`. */
export async function end(
  deps: DedicatedDeps,
  id: number,
  of: { readonly give: 'unused' | 'nothing'; readonly note: string; readonly key?: string | undefined },
) {
  const found = await store.findProxy(deps.db, id)
  if (!found) throw nothingToEnd()
  const { customer } = found
  const { give, note } = of
  return deps.once(of.key, { end_proxy: id, give, note }, async (tx) => {
    const { ids: _, ...refund } = await endAll(deps, tx, { customer, ids: [id] }, { give, note })
    return { customer, proxy: id, ...refund }
  })
}

/** Ends leases whose grace is over, dated at its end. Returns how many; call again while it is as many as the limit. */
export const releaseOverdue = (deps: DedicatedDeps, limit: number): Promise<number> =>
  deps.db.transact(async (tx) => {
    const nowMs = deps.clock()
    const overdue = await store.lockOverdue(tx, nowMs, limit)
    if (overdue.length === 0) return 0
    await deps.stock.release(
      tx,
      overdue.map((proxy) => ({ id: proxy.slot, endedAt: graceEnd(proxy), restUntil: graceEnd(proxy) + restMs })),
    )
    closeEntrances(deps, tx, overdue, nowMs)
    const ids = overdue.map((proxy) => proxy.id)
    store.setGone(tx, ids, nowMs)
    forgetProxies(tx, ids)
    return overdue.length
  })
