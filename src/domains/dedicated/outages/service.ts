import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import { kopecks } from '../../../kernel/money.ts'
import { Refusal } from '../../../kernel/refusal.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Events } from '../../events/index.ts'
import type { Happening } from '../../events/rules.ts'
import type { Pricing } from '../../pricing/index.ts'
import type { OutageRule } from '../../pricing/rules.ts'
import type { Stock } from '../../stock/index.ts'
import { type Proxy, statusAt } from '../rules.ts'
import type { Unused } from '../rules-refund.ts'
import { createProxyMoney, type MoneyDeps } from '../service-money.ts'
import { kindOf, swapAddress } from '../service-swap.ts'
import * as proxies from '../store.ts'
import {
  beginningOf,
  blindAfterMs,
  type Cause,
  extended,
  extendedEvent,
  type Given,
  interruptedAfterMs,
  interruptedEvent,
  type Outage,
  restoredEvent,
} from './rules.ts'
import * as store from './store.ts'

/** How many proxies one transaction deals with, and how many pages one look goes through before the next one goes on. */
const atOnce = 200
const mostPages = 50

/** Who serves what is sold, as far as the shop knows now. */
export type Carriers = {
  /**
   * Leased places that nobody serves, after a place, in their order: whose they are, and when they were last served. Only
   * such that were not since a moment. `next` is null after the last page.
   */
  unserved(
    after: number,
    limit: number,
    sinceAt: number,
  ): Promise<{ leases: readonly { proxy: number; servedAt: number }[]; next: number | null }>
  /** Which of these places somebody serves. */
  servedAmong(places: readonly number[]): Promise<ReadonlySet<number>>
}

export type OutageDeps = MoneyDeps & {
  readonly db: Database
  readonly events: Pick<Events, 'note'>
  readonly pricing: Pick<Pricing, 'current'>
  readonly stock: Stock
  readonly carriers: Carriers
  readonly clock: Clock
}

export type Outages = ReturnType<typeof createOutages>

/** What a look at all that is sold came to. */
export type Looked = { readonly interrupted: number; readonly restored: number; readonly replaced: number }

/**
 * Ends a proxy's open outage. With time, its term goes on where it stood still. The proxy's row is locked; tells what it
 * is then, and what its customer is to be told.
 */
export function closeOutage(tx: Tx, proxy: Proxy, nowMs: number, given: Given): { proxy: Proxy; told: Happening[] } {
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
  const { db, clock, stock } = deps
  const money = createProxyMoney(deps)
  /** Where the last look ended, so that each one is bounded and all come in turn. */
  let position = 0

  /** Opens outages of proxies that run and are not interrupted yet, in one transaction. Tells of how many. */
  const interrupt = (
    found: readonly { readonly proxy: number; readonly servedAt: number }[],
    cause: Cause,
    watchedSinceAt: number,
  ): Promise<number> =>
    db.transact(async (tx) => {
      const nowMs = clock()
      const servedAt = new Map(found.map((each) => [each.proxy, each.servedAt]))
      const locked = (await proxies.lockMany(tx, [...servedAt.keys()])).filter(
        (proxy) => proxy.state === 'held' && statusAt(proxy, nowMs) === 'active',
      )
      const ends = await store.lastEnds(
        tx,
        locked.map((proxy) => proxy.id),
      )
      const fresh = locked.filter((proxy) => proxy.interruptedAt === null)
      const opened = fresh.map((proxy) => {
        const began = beginningOf(proxy, servedAt.get(proxy.id) ?? nowMs, watchedSinceAt)
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
    const told: Happening[] = []
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

  /** What was unused when it stopped, less what is unused now: the part of the price that stands for the time between. */
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

  /** Swaps the address of an interrupted proxy for one that is served, and makes the time good. False if none is free. */
  async function replace(proxy: Proxy, rule: OutageRule): Promise<boolean> {
    const spareIds = await stock.spareIds(kindOf(proxy), 1)
    try {
      await db.transact(async (tx) => {
        await deps.ledger.lock(tx, proxy.customer)
        const [locked] = await proxies.lockProxies(tx, proxy.customer, [proxy.id])
        if (locked?.state !== 'held' || locked.interruptedAt === null) return
        const nowMs = clock()
        const cause = { by: 'outage', reason: locked.interruptedBy } as const
        const [restored = locked] = await makeGood(tx, [locked], rule, nowMs)
        await swapAddress(deps, tx, restored, { spareIds, cause, nowMs })
      })
      return true
    } catch (error) {
      if (error instanceof Refusal && error.code === 'out_of_stock') return false
      throw error
    }
  }

  /** Looks at what nobody serves, a bounded number of pages from where the last look ended. */
  async function findInterrupted(watchedSinceAt: number): Promise<number> {
    let interrupted = 0
    for (let page = 0; page < mostPages; page += 1) {
      const { leases, next } = await deps.carriers.unserved(position, atOnce, clock() - interruptedAfterMs)
      if (leases.length > 0) interrupted += await interrupt(leases, 'outage', watchedSinceAt)
      position = next ?? 0
      if (next === null) break
    }
    return interrupted
  }

  /** Goes through all that is interrupted: what is served again goes on, and what waits too long gets another address. */
  async function settle(rule: OutageRule): Promise<Pick<Looked, 'restored' | 'replaced'>> {
    let [restored, replaced] = [0, 0]
    for (let after = 0; ; ) {
      const page = await proxies.interruptedAfter(db, after, atOnce)
      const waiting = page.filter((proxy) => proxy.interruptedBy === 'outage')
      const served = await deps.carriers.servedAmong(waiting.map((proxy) => proxy.place))
      const nowMs = clock()
      // Paid back in money its term runs on, and ends while it waits.
      const isOver = (proxy: Proxy): boolean => rule.time === 'refund' && proxy.expiresAt <= nowMs
      const back = waiting.filter((proxy) => served.has(proxy.place) || isOver(proxy))
      for (const [customer, own] of Map.groupBy(back, (proxy) => proxy.customer)) {
        restored += await restore(
          customer,
          own.map((proxy) => proxy.id),
          rule,
        )
      }
      if (rule.address === 'replace') {
        const late = waiting.filter(
          (proxy) => !back.includes(proxy) && (proxy.interruptedAt ?? nowMs) <= nowMs - rule.afterMs,
        )
        for (const proxy of late) if (await replace(proxy, rule)) replaced += 1
      }
      const last = page.at(-1)
      if (!last || page.length < atOnce) return { restored, replaced }
      after = last.id
    }
  }

  return {
    interrupt,
    restore,
    replace,

    /** A proxy that gets another address can be used again: what was lost is made good. Its customer's account is locked. */
    async endBySwap(tx: Tx, proxy: Proxy, rule: OutageRule): Promise<Proxy> {
      if (proxy.interruptedAt === null) return proxy
      const [restored = proxy] = await makeGood(tx, [proxy], rule, clock())
      return restored
    },

    rule: async (): Promise<OutageRule> => (await deps.pricing.current()).dedicated.outage,

    /**
     * Looks once at all that is sold. Nothing is judged before somebody has looked for half a minute without a pause: a
     * shop that was away itself heard of no node, and blames none for it.
     */
    async look(): Promise<Looked> {
      const nowMs = clock()
      const sinceAt = await db.transact((tx) => store.look(tx, nowMs, blindAfterMs))
      const rule = (await deps.pricing.current()).dedicated.outage
      const interrupted = nowMs - sinceAt >= interruptedAfterMs ? await findInterrupted(sinceAt) : 0
      return { interrupted, ...(await settle(rule)) }
    },

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
