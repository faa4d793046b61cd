import { Refusal } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { PurchaseAnswer, PurchaseRequest } from '../orders/index.ts'
import type { Readiness } from '../stock/index.ts'
import type { Kind, StockSlot } from '../stock/rules.ts'
import { reachOfSlot } from './buy.ts'
import { hasExpired, noSuchProxy, nothingToEnd } from './errors.ts'
import { endBySwap, ruleOf } from './outages/outages.ts'
import { type DedicatedDeps, lockAll, metadataOfProxies, type OpenProxy, openProxy, product } from './proxies.ts'
import { isHeld, type Proxy, type ReplacedBy, replaceableAt, replacedEvent, restMs, statusAt } from './rules.ts'
import * as store from './store.ts'

export const kindOf = (proxy: Proxy): Kind => ({ country: proxy.country, ipv: proxy.ipv })

/**
 * Swaps a customer's address for a free one of the same kind. Id, credentials and term stay; the old address rests. A
 * repeat under the same key gets the first answer.
 */
export async function replace(
  deps: DedicatedDeps,
  request: PurchaseRequest<OpenProxy>,
  id: number,
): Promise<PurchaseAnswer> {
  const { customer } = request.by
  const [[unlocked], catalogue] = await Promise.all([
    store.findProxies(deps.db, customer, [id]),
    deps.pricing.current(),
  ])
  const ready = unlocked && (await deps.stock.prepare(kindOf(unlocked), 1))
  const what = { product, action: 'replace', input: { id }, isUnordered: true } as const
  return deps.orders.sell(request, what, async ({ tx, nowMs }) => {
    const [proxy] = await lockAll(deps, tx, customer, [id])
    if (!proxy || !ready) throw noSuchProxy([id])
    if (statusAt(proxy, nowMs) === 'expired') throw hasExpired()
    const againAt = replaceableAt(proxy)
    if (nowMs < againAt) {
      const again = { again_at: toIso(againAt) }
      throw new Refusal('replaced_recently', again, { ...again, charged: false })
    }
    const usable = await endBySwap(deps, tx, proxy, catalogue.dedicated.outage)
    const cause = { by: 'customer', reason: null } as const
    const { swapped, slot } = await swapAddress(deps, tx, usable, { ready, cause, nowMs })
    const metadata = (await metadataOfProxies(tx, [swapped])).get(String(id))
    return openProxy(deps, swapped, reachOfSlot(slot, ready.servingNodes), metadata)
  })
}

/** The same by the operator; it does not count against the customer's one swap a day. */
export async function replaceByOperator(
  deps: DedicatedDeps,
  id: number,
  of: { readonly note: string; readonly key?: string | undefined },
) {
  const unlocked = await store.findProxy(deps.db, id)
  if (!unlocked) throw nothingToEnd()
  const { customer } = unlocked
  const [ready, rule] = await Promise.all([deps.stock.prepare(kindOf(unlocked), 1), ruleOf(deps)])
  return deps.once(of.key, { replace_proxy: id, note: of.note }, async (tx) => {
    await deps.ledger.lock(tx, customer)
    const [proxy] = await store.lockProxies(tx, customer, [id])
    const nowMs = deps.clock()
    if (!proxy || !isHeld(proxy, nowMs)) throw nothingToEnd()
    if (statusAt(proxy, nowMs) === 'expired') throw hasExpired()
    const usable = await endBySwap(deps, tx, proxy, rule)
    const cause = { by: 'operator', reason: of.note } as const
    const { slot } = await swapAddress(deps, tx, usable, { ready, cause, nowMs })
    return { customer, proxy: id, from: proxy.address, to: slot.address, at: toIso(nowMs) }
  })
}

/** Swaps a proxy's address, or refuses. Proxy and account are locked: two swaps could choose one shared address. */
export async function swapAddress(
  { stock, events }: Pick<DedicatedDeps, 'stock' | 'events'>,
  tx: Tx,
  proxy: Proxy,
  of: {
    readonly ready: Readiness
    readonly cause: { readonly by: ReplacedBy; readonly reason: string | null }
    readonly nowMs: number
  },
): Promise<{ swapped: Proxy; slot: StockSlot }> {
  const { ready, cause, nowMs } = of
  const held = proxy.ipv === 3 ? await store.heldAddresses(tx, proxy.customer, proxy.country) : new Set<string>()
  const [slot] = await stock.take(tx, kindOf(proxy), 1, held, ready)
  if (!slot) throw new Error('stock gave no slot and did not refuse')
  await stock.release(tx, [{ id: proxy.slot, endedAt: nowMs, restUntil: nowMs + restMs }])
  stock.lease(tx, [{ slot, proxy: proxy.id }], nowMs)
  const moments = { replacedAt: nowMs, replacedBy: cause.by, changedAt: nowMs }
  const swapped: Proxy = { ...proxy, slot: slot.id, address: slot.address, ...moments }
  store.setAddress(tx, swapped)
  await events.note(tx, [replacedEvent(proxy, swapped, cause)])
  return { swapped, slot }
}
