import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, total } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { toIso } from '../../core/time.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { DomainEvent } from '../events/rules.ts'
import type { PurchaseAnswer, PurchaseRequest, Receipt } from '../orders/index.ts'
import type { Plain } from '../orders/rules.ts'
import { assertProlongs, type Catalogue, priceProlonging, shareOut } from '../pricing/rules.ts'
import { aboutProxies } from './errors.ts'
import { type DedicatedDeps, loadAll, lockAll, product } from './proxies.ts'
import { eventOf, isToRenew, type Proxy, prolonged, renewAheadMs, renewRetryMs, statusAt } from './rules.ts'
import * as store from './store.ts'

export type Prolonged = { readonly receipt: Receipt; readonly period: number } & ReturnType<typeof priceItems>

export async function quoteProlonging(
  deps: DedicatedDeps,
  customer: CustomerId,
  ids: readonly number[],
  period: number,
) {
  const catalogue = await deps.pricing.current()
  assertProlongs(catalogue, period)
  const proxies = await loadAll(deps, customer, ids)
  const price = priceItems(catalogue, proxies, period, deps.clock())
  await assertForSale(deps, deps.db, proxies, await deps.stock.ranges.live())
  return price
}

/** Sells more time for proxies, all or none. Ids, addresses and credentials stay; time is added to what is left. */
export async function prolong(
  deps: DedicatedDeps,
  request: PurchaseRequest<Prolonged>,
  ids: readonly number[],
  period: number,
  action: 'prolong' | 'renew' = 'prolong',
): Promise<PurchaseAnswer> {
  const [catalogue, live] = await Promise.all([deps.pricing.current(), deps.stock.ranges.live()])
  const input = { ids: ids.toSorted((a, b) => a - b), period }
  return deps.orders.sell(request, { product, action, input }, async (sale) => {
    const { tx, nowMs } = sale
    assertProlongs(catalogue, period)
    const proxies = await lockAll(deps, tx, request.by.customer, ids)
    // The customer may have stopped this renewal, or prolonged the proxy, since the job decided on it.
    const isWanted = (proxy: Proxy): boolean =>
      isToRenew(proxy, period, nowMs) && proxy.renewToken === (request.by.token?.id ?? null)
    if (action === 'renew' && !proxies.every(isWanted)) throw new Refusal('proxy_not_renewable', {}, { charged: false })
    const price = priceItems(catalogue, proxies, period, nowMs)
    await assertForSale(deps, tx, proxies, live)
    const receipt = await sale.charge({
      price: price.total,
      calculation: price.calculation,
      note: `${action === 'renew' ? 'renewed' : 'prolonged'} ${ids.length} by ${period} days`,
    })
    const ends = price.items.map(({ proxy, expiresAt }) => ({ id: proxy.id, expiresAt }))
    store.setProlonged(tx, ends, nowMs)
    const renewed = { period, order: receipt.order, isAutomatic: action === 'renew' }
    await deps.events.note(
      tx,
      price.items.map(({ proxy, expiresAt }) => renewedEvent({ ...proxy, expiresAt }, renewed)),
    )
    return { receipt, period, ...price }
  })
}

const renewedEvent = (
  proxy: Proxy,
  { period, order, isAutomatic }: { period: number; order: OrderId; isAutomatic: boolean },
): DomainEvent => ({
  ...eventOf(proxy, 'proxy.renewed', { period, expires_at: toIso(proxy.expiresAt), automatic: isAutomatic }),
  order,
})

/**
 * Refuses addresses that are being withdrawn or in quarantine, and ended proxies that no live gateway serves. A running
 * proxy that is not served may be prolonged: its outage is compensated.
 */
async function assertForSale(
  { stock, clock }: DedicatedDeps,
  reader: Reader,
  proxies: readonly Proxy[],
  live: readonly string[],
): Promise<void> {
  const slotsOf = (of: readonly Proxy[]): number[] => of.map((proxy) => proxy.slot)
  const withdrawn = await stock.served.withdrawnAmong(reader, slotsOf(proxies))
  const withdrawnProxies = proxies.filter((proxy) => withdrawn.has(proxy.slot))
  if (withdrawnProxies.length > 0)
    throw aboutProxies(
      'addresses_withdrawn',
      withdrawnProxies.map((proxy) => proxy.id),
    )
  const ended = proxies.filter((proxy) => statusAt(proxy, clock()) === 'expired')
  if (ended.length === 0) return
  const servingNodes = await stock.served.servingNodesOf(reader, slotsOf(ended))
  const unserved = ended.filter((proxy) => !live.includes(servingNodes.get(proxy.slot) ?? ''))
  if (unserved.length > 0)
    throw aboutProxies(
      'addresses_not_served',
      unserved.map((proxy) => proxy.id),
    )
}

/** Proxies of one country and kind are a line; each line is priced as a whole and shared out among its proxies. */
function priceItems(catalogue: Catalogue, proxies: readonly Proxy[], period: number, nowMs: number) {
  const items: { readonly proxy: Proxy; readonly price: Kopecks; readonly expiresAt: number }[] = []
  const lines: Plain[] = []
  for (const line of Map.groupBy(proxies, ({ country, ipv }) => `${country} ${ipv}`).values()) {
    const first = line[0]
    if (!first) continue
    const goods = { country: first.country, ipv: first.ipv, period, count: line.length }
    const price = priceProlonging(catalogue, goods)
    const shares = shareOut(price.total, line.length)
    lines.push({ ...goods, kopecks: String(price.total) })
    for (const [index, proxy] of line.entries()) {
      items.push({ proxy, price: shares[index] ?? price.total, expiresAt: prolonged(proxy, period, nowMs) })
    }
  }
  items.sort((a, b) => a.proxy.id - b.proxy.id)
  return {
    items,
    total: total(items.map((item) => item.price)),
    calculation: {
      catalogue: catalogue.version,
      lines,
      proxies: items.map((item) => [item.proxy.id, item.expiresAt]),
    },
  }
}

/** Turns automatic renewal on, by a period that can be bought, or off with null. The calling token pays. */
export async function setRenewal(
  deps: DedicatedDeps,
  customer: CustomerId,
  ids: readonly number[],
  period: number | null,
  token: TokenId | null = null,
): Promise<void> {
  const catalogue = await deps.pricing.current()
  if (period !== null) assertProlongs(catalogue, period)
  await deps.db.transact(async (tx) => {
    const proxies = await lockAll(deps, tx, customer, ids)
    if (period !== null) priceItems(catalogue, proxies, period, deps.clock())
    store.setRenewal(tx, ids, period, token)
  })
}

/** Renews proxies with automatic renewal that end within a day. Returns how many were renewed. */
export async function renewDue(deps: DedicatedDeps, limit: number): Promise<number> {
  const nowMs = deps.clock()
  const due = await store.findToRenew(deps.db, nowMs + renewAheadMs, nowMs - renewRetryMs, limit)
  let renewed = 0
  for (const proxy of due) if (await renewOne(deps, proxy, proxy.renewPeriod ?? 0)) renewed += 1
  return renewed
}

/** Renews one proxy. The key names the ending term, so that several processes buy one term. */
async function renewOne(deps: DedicatedDeps, proxy: Proxy, period: number): Promise<boolean> {
  await deps.db.transact((tx) => store.setRenewTried(tx, proxy.id, deps.clock()))
  const by = await deps.customers.payerOf(proxy.customer, proxy.renewToken)
  const key = `renewal ${proxy.id} ${proxy.expiresAt}`
  try {
    const answer = await prolong(deps, { by, key, automatic: true }, [proxy.id], period, 'renew')
    return !answer.replayed
  } catch (error) {
    // Too little money, no such price, renewal turned off, or another process renews: the job retries in an hour.
    if (!(error instanceof Refusal)) throw error
    await deps.db.transact((tx) => noteRefusedRenewal(deps, tx, proxy, error))
    return false
  }
}

/** Refusals that say nothing about the proxy: the database is away, or another process renews it. */
const isPassing = ({ kind, reason }: Refusal): boolean =>
  kind === 'unavailable' || reason === 'proxy_not_renewable' || reason === 'request_in_progress'

/** Writes why a renewal was refused, and an event if the reason is another one than before. */
async function noteRefusedRenewal(deps: DedicatedDeps, tx: Tx, { id, expiresAt }: Proxy, refusal: Refusal) {
  if (isPassing(refusal)) return
  const [proxy] = await store.lockMany(tx, [id])
  if (!proxy || proxy.expiresAt !== expiresAt || proxy.renewProblem === refusal.reason) return
  store.setRenewProblem(tx, id, refusal.reason)
  const data = { reason: refusal.reason, period: proxy.renewPeriod, expires_at: toIso(expiresAt) }
  await deps.events.note(tx, [eventOf(proxy, 'renewal.failed', data)])
}
