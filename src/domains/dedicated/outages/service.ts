import { kopecks } from '../../../core/money.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Events } from '../../events/index.ts'
import type { DomainEvent } from '../../events/rules.ts'
import type { Pricing } from '../../pricing/index.ts'
import { type OutageRule, usualOutage } from '../../pricing/rules.ts'
import { type Proxy, statusAt } from '../rules.ts'
import type { Unused } from '../rules-refund.ts'
import { createProxyMoney, type MoneyDeps } from '../service-money.ts'
import * as proxies from '../store.ts'
import {
  beginningOf,
  type Cause,
  extended,
  extendedEvent,
  type Given,
  interruptedEvent,
  type Outage,
  restoredEvent,
} from './rules.ts'
import * as store from './store.ts'

export type OutageDeps = MoneyDeps & {
  readonly db: Database
  readonly events: Pick<Events, 'note'>
  readonly pricing: Pick<Pricing, 'find'>
  readonly clock: Clock
}

export type Outages = ReturnType<typeof createOutages>

/**
 * Ends a proxy's open outage. With time, its term goes on where it stood still. The proxy's row is locked; tells what
 * it is then, and what its customer is to be told.
 */
export function closeOutage(tx: Tx, proxy: Proxy, nowMs: number, given: Given): { proxy: Proxy; told: DomainEvent[] } {
  const fromAt = proxy.interruptedAt ?? nowMs
  const untilAt = Math.max(fromAt, nowMs)
  const expiresAt = given === 'time' ? extended(proxy.expiresAt, fromAt, untilAt) : proxy.expiresAt
  store.close(tx, { proxy: proxy.id, untilAt, given, expiresBefore: proxy.expiresAt, expiresAfter: expiresAt })
  // Nodes hear of the new end, and that a quarantine is over.
  proxies.setExpiry(tx, [{ id: proxy.id, expiresAt }], nowMs)
  const restored = restoredEvent(proxy, fromAt, untilAt)
  const added = extendedEvent(proxy, untilAt - fromAt, expiresAt)
  return {
    proxy: { ...proxy, expiresAt, interruptedAt: null, interruptedBy: null, changedAt: nowMs },
    told: expiresAt === proxy.expiresAt ? [restored] : [restored, added],
  }
}

/** What happens to proxies that cannot be used: they are shown so, and made good by the shop's rule. */
export function createOutages(deps: OutageDeps) {
  const { db, clock } = deps
  const money = createProxyMoney(deps)

  /** Opens outages of proxies that run and are not interrupted yet, in one transaction. Tells of how many. */
  const interrupt = (
    found: readonly { readonly proxy: number; readonly servedAt: number }[],
    cause: Cause,
  ): Promise<number> =>
    db.transact(async (tx) => {
      const nowMs = clock()
      const servedAt = new Map(found.map((each) => [each.proxy, each.servedAt]))
      const locked = (await proxies.lockMany(tx, [...servedAt.keys()])).filter(
        (proxy) => proxy.state === 'held' && statusAt(proxy, nowMs) === 'active',
      )
      const ends = await store.soonest(
        tx,
        locked.map((proxy) => proxy.id),
      )
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
        // Nodes serve it no more.
        proxies.touch(
          tx,
          [...fresh, ...others].map((proxy) => proxy.id),
          nowMs,
        )
      }
      await deps.events.note(
        tx,
        opened.map(({ proxy, fromAt }) => interruptedEvent(proxy, cause, fromAt)),
      )
      return opened.length
    })

  /** Ends outages of one customer's proxies by the rule, in one transaction. Tells of how many. */
  const restore = (customer: Proxy['customer'], ids: readonly number[], rule: OutageRule): Promise<number> =>
    db.transact(async (tx) => {
      if (rule.time === 'refund') await deps.ledger.lock(tx, customer)
      const nowMs = clock()
      const locked = (await proxies.lockProxies(tx, customer, ids)).filter(
        (proxy) => proxy.state === 'held' && proxy.interruptedAt !== null,
      )
      await makeGood(tx, locked, rule, nowMs)
      return locked.length
    })

  async function makeGood(tx: Tx, locked: readonly Proxy[], rule: OutageRule, nowMs: number): Promise<Proxy[]> {
    const told: DomainEvent[] = []
    const restored: Proxy[] = []
    for (const proxy of locked) {
      if (rule.time === 'refund') await refundLost(tx, proxy, nowMs)
      const closed = closeOutage(tx, proxy, nowMs, rule.time === 'refund' ? 'money' : 'time')
      told.push(...closed.told)
      restored.push(closed.proxy)
    }
    await deps.events.note(tx, told)
    return restored
  }

  /** What was unused when it stopped, less what is unused now: the price of the time between. */
  async function refundLost(tx: Tx, proxy: Proxy, nowMs: number): Promise<void> {
    const fromAt = proxy.interruptedAt ?? nowMs
    const left = (await money.unusedOf(tx, proxy.customer, [proxy], () => proxy.expiresAt - nowMs)).get(proxy.id) ?? []
    const had = (await money.unusedOf(tx, proxy.customer, [proxy], () => proxy.expiresAt - fromAt)).get(proxy.id) ?? []
    const rest = new Map(left.map((each) => [each.chargeSeq, each.amount]))
    const due: Unused[] = had.map((each) => ({
      ...each,
      amount: kopecks(each.amount - (rest.get(each.chargeSeq) ?? 0n)),
    }))
    await money.giveBack(tx, proxy.customer, due, `proxy ${proxy.id} could not be used`)
  }

  return {
    interrupt,
    restore,

    /** With another address a proxy can be used again: what was lost is made good. Its customer's account is locked. */
    async endBySwap(tx: Tx, proxy: Proxy, rule: OutageRule): Promise<Proxy> {
      if (proxy.interruptedAt === null) return proxy
      const [restored = proxy] = await makeGood(tx, [proxy], rule, clock())
      return restored
    },

    rule: async (): Promise<OutageRule> => (await deps.pricing.find())?.dedicated.outage ?? usualOutage,

    /** What is interrupted now, for the operator. */
    list: (after: number, limit: number): Promise<Proxy[]> => proxies.interruptedAfter(db, after, limit),

    /** Every outage of every proxy, for `verify`. */
    async all(reader: Reader): Promise<Map<number, Outage[]>> {
      const outages = new Map<number, Outage[]>()
      for (let after = { proxy: -1, fromAt: -1 }; ; ) {
        const page = await store.outagesAfter(reader, after, 500)
        for (const each of page) outages.set(each.proxy, [...(outages.get(each.proxy) ?? []), each])
        const last = page.at(-1)
        if (!last || page.length < 500) return outages
        after = last
      }
    },
  }
}
