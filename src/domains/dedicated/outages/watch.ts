import { bind } from '../../../core/bind.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { OutageRule } from '../../pricing/rules.ts'
import { NoGateway, type Stock } from '../../stock/index.ts'
import { firstUnserved, type UnservedPosition } from '../../stock/ranges/rules.ts'
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
export type Looked = Record<'interrupted' | 'restored' | 'replaced' | 'moved', number>

type WatchDeps = DedicatedDeps & { state: WatchState | undefined; unservedAt: UnservedPosition; settledTo: number }

export type OutageWatch = ReturnType<typeof createOutageWatch>

/**
 * Looks for proxies that no gateway serves, and ends outages of proxies that are served again. Each look is bounded;
 * the next one continues where it stopped. Several shops may look at once: rows are locked, so an outage opens once.
 */
export const createOutageWatch = (deps: DedicatedDeps) =>
  bind<WatchDeps, { look: typeof look }>(
    { ...deps, state: undefined, unservedAt: firstUnserved, settledTo: 0 },
    { look },
  )

async function findInterrupted(deps: WatchDeps): Promise<number> {
  let interrupted = 0
  for (let page = 0; page < maxPages; page += 1) {
    const { leases, next } = await deps.stock.served.unserved(deps.unservedAt, pageSize, outageAfterMs)
    interrupted += await interruptFresh(deps, leases)
    deps.unservedAt = next ?? firstUnserved
    if (next === null) break
  }
  return interrupted
}

/** Most proxies of a dead node are interrupted already; only the others are locked. */
async function interruptFresh(
  deps: WatchDeps,
  leases: readonly { readonly proxy: number; readonly servedAt: number }[],
) {
  const ids = leases.map((lease) => lease.proxy)
  const running = (await proxies.findMany(deps.db, ids)).filter(
    (proxy) => proxy.interruptedAt === null && statusAt(proxy, deps.clock()) === 'active',
  )
  const fresh = new Set(running.map((proxy) => proxy.id))
  if (fresh.size === 0) return 0
  const unserved = leases.filter((lease) => fresh.has(lease.proxy))
  return interrupt(deps, unserved, 'outage')
}

/** Ends outages of served proxies, and replaces addresses that were not served for too long. */
async function settle(deps: WatchDeps, rule: OutageRule): Promise<Pick<Looked, 'restored' | 'replaced'>> {
  let [restored, replaced] = [0, 0]
  const soldOut = new Set<string>()
  for (let page = 0; page < maxPages; page += 1) {
    const found = await proxies.interruptedAfter(deps.db, deps.settledTo, pageSize)
    const waiting = found.filter((proxy) => proxy.interruptedBy === 'outage')
    const back = await restoreServed(deps, waiting, rule)
    restored += back.restored
    for (const proxy of back.left.filter((each) => isLate(deps, each, rule))) {
      if (replaced < maxSwaps && (await replace(deps, proxy, rule, soldOut))) replaced += 1
    }
    const last = found.at(-1)
    deps.settledTo = last && found.length === pageSize ? last.id : 0
    if (deps.settledTo === 0) break
  }
  return { restored, replaced }
}

const isLate = (deps: WatchDeps, proxy: Proxy, rule: OutageRule): boolean =>
  rule.address === 'replace' && deps.clock() - (proxy.interruptedAt ?? deps.clock()) >= rule.afterMs

async function restoreServed(
  deps: WatchDeps,
  waiting: readonly Proxy[],
  rule: OutageRule,
): Promise<{ restored: number; left: Proxy[] }> {
  const served = await deps.stock.served.servedAmong(waiting.map((proxy) => proxy.slot))
  const nowMs = deps.clock()
  // With refunds the term keeps running, and may end during the outage.
  const isOver = (proxy: Proxy): boolean => rule.time === 'refund' && proxy.expiresAt <= nowMs
  const [back, left]: [Proxy[], Proxy[]] = [[], []]
  for (const proxy of waiting) (served.has(proxy.slot) || isOver(proxy) ? back : left).push(proxy)
  let restored = 0
  for (const [customer, own] of Map.groupBy(back, (proxy) => proxy.customer)) {
    const ids = own.map((proxy) => proxy.id)
    restored += await restore(deps, customer, ids, rule)
  }
  return { restored, left }
}

/** Gives an interrupted proxy a served address of its kind. False if there is none. */
async function replace(deps: WatchDeps, proxy: Proxy, rule: OutageRule, soldOut: Set<string>): Promise<boolean> {
  const kind = kindOf(proxy)
  const name = `${kind.country} ${kind.ipv}`
  if (soldOut.has(name)) return false
  const ready = await deps.stock.prepare(kind, 1)
  try {
    return await deps.db.transact(async (tx) => {
      await deps.ledger.lock(tx, proxy.customer)
      const [locked] = await proxies.lockProxies(tx, proxy.customer, [proxy.id])
      if (locked?.state !== 'held' || locked.interruptedBy !== 'outage') return false
      const usable = await endBySwap(deps, tx, locked, rule)
      const cause = { by: 'outage', reason: 'outage' } as const
      await swapAddress(deps, tx, usable, { ready, cause, nowMs: deps.clock() })
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
async function noteMoved(deps: WatchDeps): Promise<number> {
  let noted = 0
  for (let [page, after] = [0, 0]; page < maxPages; page += 1) {
    const found = await deps.stock.served.moved(after, pageSize)
    if (found.length > 0) noted += await notePage(deps, found)
    if (found.length < pageSize) break
    after = found.at(-1)?.slot ?? 0
  }
  return noted
}

const notePage = (deps: WatchDeps, found: Awaited<ReturnType<Stock['served']['moved']>>): Promise<number> =>
  deps.db.transact(async (tx) => {
    const ids = found.map((each) => each.proxy)
    const byId = new Map((await proxies.lockMany(tx, ids)).map((proxy) => [proxy.id, proxy]))
    const events = []
    const moved: number[] = []
    for (const { slot, proxy: id, from } of found) {
      const proxy = byId.get(id)
      if (proxy?.slot !== slot || !(await deps.stock.served.tellMoved(tx, slot))) continue
      moved.push(id)
      if (from !== null) events.push(movedEvent(proxy))
    }
    // Gateways learn where the address is now.
    proxies.touch(tx, moved, deps.clock())
    await deps.events.note(tx, events)
    return events.length
  })

/** Looks once. Outages open only after this shop has looked for 30 s without a pause. */
async function look(deps: WatchDeps): Promise<Looked> {
  const now = watchAt(deps.state, deps.clock())
  const rule = await ruleOf(deps)
  const interrupted = mayJudge(now, deps.clock()) ? await findInterrupted(deps) : 0
  const settled = await settle(deps, rule)
  const moved = await noteMoved(deps)
  // Written last: a look that failed does not count, because a shop without its database is blind.
  deps.state = { sinceAt: now.sinceAt, lookedAt: deps.clock() }
  return { interrupted, ...settled, moved }
}
