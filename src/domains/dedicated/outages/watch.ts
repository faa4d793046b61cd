import { Refusal } from '../../../core/refusal.ts'
import type { OutageRule } from '../../pricing/rules.ts'
import { NoGateway, type Stock } from '../../stock/index.ts'
import { firstUnserved } from '../../stock/ranges/rules.ts'
import type { DedicatedDeps } from '../proxies.ts'
import { kindOf, swapAddress } from '../replace.ts'
import { type Proxy, statusAt } from '../rules.ts'
import * as proxies from '../store.ts'
import { endBySwap, interrupt, restore, ruleOf } from './outages.ts'
import { mayJudge, movedEvent, outageAfterMs, type WatchState, watchAt } from './rules.ts'

/** Limits of one look: proxies in a page, pages, and swaps. */
const pageSize = 200
const maxPages = 50
const maxSwaps = 100

/** The outcome of a look. */
export type Looked = {
  readonly interrupted: number
  readonly restored: number
  readonly replaced: number
  readonly moved: number
}

export type OutageWatch = ReturnType<typeof createOutageWatch>

/**
 * Looks for proxies that no gateway serves, and ends outages of proxies that are served again. Each look is bounded;
 * the next one continues where it stopped. Several shops may look at once: rows are locked, so an outage opens once.
 */
export function createOutageWatch(deps: DedicatedDeps) {
  const { db, clock, stock } = deps
  let state: WatchState | undefined
  let unservedAt = firstUnserved
  let settledTo = 0

  async function findInterrupted(): Promise<number> {
    let interrupted = 0
    for (let page = 0; page < maxPages; page += 1) {
      const { leases, next } = await stock.served.unserved(unservedAt, pageSize, outageAfterMs)
      interrupted += await interruptFresh(leases)
      unservedAt = next ?? firstUnserved
      if (next === null) break
    }
    return interrupted
  }

  /** Most proxies of a dead node are interrupted already; only the others are locked. */
  async function interruptFresh(leases: readonly { readonly proxy: number; readonly servedAt: number }[]) {
    const ids = leases.map((lease) => lease.proxy)
    const running = (await proxies.findMany(db, ids)).filter(
      (proxy) => proxy.interruptedAt === null && statusAt(proxy, clock()) === 'active',
    )
    const fresh = new Set(running.map((proxy) => proxy.id))
    if (fresh.size === 0) return 0
    const unserved = leases.filter((lease) => fresh.has(lease.proxy))
    return interrupt(deps, unserved, 'outage')
  }

  /** Ends outages of served proxies, and replaces addresses that were not served for too long. */
  async function settle(rule: OutageRule): Promise<Pick<Looked, 'restored' | 'replaced'>> {
    let [restored, replaced] = [0, 0]
    const soldOut = new Set<string>()
    for (let page = 0; page < maxPages; page += 1) {
      const found = await proxies.interruptedAfter(db, settledTo, pageSize)
      const waiting = found.filter((proxy) => proxy.interruptedBy === 'outage')
      const back = await restoreServed(waiting, rule)
      restored += back.restored
      for (const proxy of back.left.filter((each) => isLate(each, rule))) {
        if (replaced < maxSwaps && (await replace(proxy, rule, soldOut))) replaced += 1
      }
      const last = found.at(-1)
      settledTo = last && found.length === pageSize ? last.id : 0
      if (settledTo === 0) break
    }
    return { restored, replaced }
  }

  const isLate = (proxy: Proxy, rule: OutageRule): boolean =>
    rule.address === 'replace' && clock() - (proxy.interruptedAt ?? clock()) >= rule.afterMs

  async function restoreServed(
    waiting: readonly Proxy[],
    rule: OutageRule,
  ): Promise<{ restored: number; left: Proxy[] }> {
    const served = await stock.served.servedAmong(waiting.map((proxy) => proxy.place))
    const nowMs = clock()
    // With refunds the term keeps running, and may end during the outage.
    const isOver = (proxy: Proxy): boolean => rule.time === 'refund' && proxy.expiresAt <= nowMs
    const [back, left]: [Proxy[], Proxy[]] = [[], []]
    for (const proxy of waiting) (served.has(proxy.place) || isOver(proxy) ? back : left).push(proxy)
    let restored = 0
    for (const [customer, own] of Map.groupBy(back, (proxy) => proxy.customer)) {
      const ids = own.map((proxy) => proxy.id)
      restored += await restore(deps, customer, ids, rule)
    }
    return { restored, left }
  }

  /** Gives an interrupted proxy a served address of its kind. False if there is none. */
  async function replace(proxy: Proxy, rule: OutageRule, soldOut: Set<string>): Promise<boolean> {
    const kind = kindOf(proxy)
    const name = `${kind.country} ${kind.ipv}`
    if (soldOut.has(name)) return false
    const ready = await stock.prepare(kind, 1)
    try {
      return await db.transact(async (tx) => {
        await deps.ledger.lock(tx, proxy.customer)
        const [locked] = await proxies.lockProxies(tx, proxy.customer, [proxy.id])
        if (locked?.state !== 'held' || locked.interruptedBy !== 'outage') return false
        const usable = await endBySwap(deps, tx, locked, rule)
        const cause = { by: 'outage', reason: 'outage' } as const
        await swapAddress(deps, tx, usable, { ready, cause, nowMs: clock() })
        return true
      })
    } catch (error) {
      const isOutOfStock = error instanceof Refusal && error.code === 'out_of_stock'
      if (!isOutOfStock && !(error instanceof NoGateway)) throw error
      // A shared address may be missing for this customer only, who holds the others.
      if (kind.ipv !== 3) soldOut.add(name)
      return false
    }
  }

  /** Writes events for customers whose proxies another node carries now. */
  async function noteMoved(): Promise<number> {
    let noted = 0
    for (let [page, after] = [0, 0]; page < maxPages; page += 1) {
      const found = await stock.served.moved(after, pageSize)
      if (found.length > 0) noted += await notePage(found)
      if (found.length < pageSize) break
      after = found.at(-1)?.place ?? 0
    }
    return noted
  }

  const notePage = (found: Awaited<ReturnType<Stock['served']['moved']>>): Promise<number> =>
    db.transact(async (tx) => {
      const ids = found.map((each) => each.proxy)
      const byId = new Map((await proxies.lockMany(tx, ids)).map((proxy) => [proxy.id, proxy]))
      const events = []
      for (const { place, proxy: id, from } of found) {
        const proxy = byId.get(id)
        if (proxy?.place !== place || !(await stock.served.tellMoved(tx, place))) continue
        if (from !== null) events.push(movedEvent(proxy))
      }
      await deps.events.note(tx, events)
      return events.length
    })

  return {
    /** Looks once. Outages open only after this shop has looked for 30 s without a pause. */
    async look(): Promise<Looked> {
      const now = watchAt(state, clock())
      const rule = await ruleOf(deps)
      const interrupted = mayJudge(now, clock()) ? await findInterrupted() : 0
      const settled = await settle(rule)
      const moved = await noteMoved()
      // Written last: a look that failed does not count, because a shop without its database is blind.
      state = { sinceAt: now.sinceAt, lookedAt: clock() }
      return { interrupted, ...settled, moved }
    },
  }
}
