import { keysetPages } from '../../../core/keyset-pages.ts'
import { kopecks } from '../../../core/money.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { DomainEvent } from '../../events/rules.ts'
import { type OutageRule, usualOutage } from '../../pricing/rules.ts'
import { expiredEvent } from '../announce.ts'
import type { DedicatedDeps } from '../proxies.ts'
import { findUnused, giveBack } from '../refund.ts'
import { type Proxy, statusAt } from '../rules.ts'
import * as proxies from '../store.ts'
import {
  beginningOf,
  type Compensation,
  extended,
  extendedEvent,
  interruptedEvent,
  type Outage,
  type OutageCause,
  restoredEvent,
} from './rules.ts'
import * as store from './store.ts'

const pageSize = 500

export const ruleOf = async ({ pricing }: DedicatedDeps): Promise<OutageRule> =>
  (await pricing.find())?.dedicated.outage ?? usualOutage

/** Opens outages of running proxies that have none, in one transaction. Returns how many. */
export const interrupt = (
  deps: DedicatedDeps,
  found: readonly { readonly proxy: number; readonly servedAt: number }[],
  cause: OutageCause,
): Promise<number> =>
  deps.db.transact(async (tx) => {
    const nowMs = deps.clock()
    const servedAt = new Map(found.map((each) => [each.proxy, each.servedAt]))
    const locked = (await proxies.lockMany(tx, [...servedAt.keys()])).filter(
      (proxy) => proxy.state === 'held' && statusAt(proxy, nowMs) === 'active',
    )
    const ids = locked.map((proxy) => proxy.id)
    const ends = await store.soonest(tx, ids)
    const fresh = locked.filter((proxy) => proxy.interruptedAt === null)
    const opened = fresh.map((proxy) => {
      const began = beginningOf(proxy, servedAt.get(proxy.id) ?? nowMs)
      // Never over time that was counted, nor past its end, should clocks disagree.
      const fromAt = Math.max(Math.min(began, nowMs, proxy.expiresAt), ends.get(proxy.id) ?? 0)
      return { proxy, fromAt }
    })
    store.open(
      tx,
      opened.map(({ proxy, fromAt }) => ({ proxy: proxy.id, fromAt, cause })),
    )
    if (cause === 'quarantine') {
      const others = locked.filter((proxy) => proxy.interruptedBy === 'outage')
      for (const proxy of others) store.setCause(tx, proxy.id, cause)
      // Nodes must stop serving a quarantined proxy.
      const stopped = [...fresh, ...others].map((proxy) => proxy.id)
      proxies.touch(tx, stopped, nowMs)
    }
    await deps.events.note(
      tx,
      opened.map(({ proxy, fromAt }) => interruptedEvent(proxy, cause, fromAt)),
    )
    return opened.length
  })

/** Ends outages of one customer's proxies by the rule, in one transaction. Returns how many. */
export const restore = (
  deps: DedicatedDeps,
  customer: Proxy['customer'],
  ids: readonly number[],
  rule: OutageRule,
): Promise<number> =>
  deps.db.transact(async (tx) => {
    if (rule.time === 'refund') await deps.ledger.lock(tx, customer)
    const nowMs = deps.clock()
    const locked = (await proxies.lockProxies(tx, customer, ids)).filter(
      (proxy) => proxy.state === 'held' && proxy.interruptedAt !== null,
    )
    await compensate(deps, tx, locked, rule, nowMs)
    return locked.length
  })

/** Ends the outage of a proxy that gets another address. The customer's account is locked. */
export async function endBySwap(deps: DedicatedDeps, tx: Tx, proxy: Proxy, rule: OutageRule): Promise<Proxy> {
  if (proxy.interruptedAt === null) return proxy
  const [restored = proxy] = await compensate(deps, tx, [proxy], rule, deps.clock())
  return restored
}

async function compensate(
  deps: DedicatedDeps,
  tx: Tx,
  locked: readonly Proxy[],
  rule: OutageRule,
  nowMs: number,
): Promise<Proxy[]> {
  const events: DomainEvent[] = []
  const restored: Proxy[] = []
  for (const proxy of locked) {
    if (rule.time === 'refund') await refundLost(deps, tx, proxy, nowMs)
    const closed = closeOutage(tx, proxy, nowMs, rule.time === 'refund' ? 'money' : 'time')
    events.push(...closed.events)
    restored.push(closed.proxy)
  }
  await deps.events.note(tx, events)
  return restored
}

/** Refunds the price of the outage: the unused part at its beginning less the unused part now. */
async function refundLost(deps: DedicatedDeps, tx: Tx, proxy: Proxy, nowMs: number): Promise<void> {
  const { customer, id } = proxy
  const unusedAt = async (at: number) =>
    (await findUnused(deps, tx, customer, [proxy], () => proxy.expiresAt - at)).get(id) ?? []
  const left = new Map((await unusedAt(nowMs)).map((each) => [each.chargeSeq, each.amount]))
  const due = (await unusedAt(proxy.interruptedAt ?? nowMs)).map((each) => ({
    ...each,
    amount: kopecks(each.amount - (left.get(each.chargeSeq) ?? 0n)),
  }))
  await giveBack(deps, tx, due, `proxy ${id} could not be used`)
}

/** Ends a locked proxy's open outage. With `time` its end moves by the outage. Returns the proxy and its events. */
export function closeOutage(tx: Tx, proxy: Proxy, nowMs: number, given: Compensation) {
  const fromAt = proxy.interruptedAt ?? nowMs
  const untilAt = Math.max(fromAt, nowMs)
  const expiresAt = given === 'time' ? extended(proxy.expiresAt, fromAt, untilAt) : proxy.expiresAt
  store.close(tx, { proxy: proxy.id, untilAt, given, expiresBefore: proxy.expiresAt, expiresAfter: expiresAt })
  // Nodes read the new end, and that a quarantine is over.
  proxies.setExpiry(tx, proxy.id, expiresAt, nowMs)
  const restored = restoredEvent(proxy, fromAt, untilAt)
  const added = extendedEvent(proxy, untilAt - fromAt, expiresAt)
  return {
    proxy: { ...proxy, expiresAt, interruptedAt: null, interruptedBy: null, changedAt: nowMs },
    events: [
      restored,
      ...(expiresAt === proxy.expiresAt ? [] : [added]),
      // Its end came while it was interrupted, when no end is announced.
      ...(expiresAt <= nowMs ? [expiredEvent(proxy)] : []),
    ],
  }
}

/** Interrupted proxies, for the operator. */
export const listInterrupted = ({ db }: DedicatedDeps, after: number, limit: number): Promise<Proxy[]> =>
  proxies.interruptedAfter(db, after, limit)

/** Every outage, ordered by proxy, for `verify`. */
export function outagePages(reader: Reader): AsyncGenerator<readonly Outage[]> {
  const read = (after: Pick<Outage, 'proxy' | 'fromAt'>, limit: number) => store.outagesAfter(reader, after, limit)
  return keysetPages(read, { start: { proxy: -1, fromAt: -1 }, size: pageSize, keyOf: (each: Outage) => each })
}
