import { Refusal } from '../../../core/refusal.ts'
import type { OutageRule } from '../../pricing/rules.ts'
import { NoGateway, type Stock } from '../../stock/index.ts'
import { firstUnserved } from '../../stock/ranges/rules.ts'
import { type Proxy, statusAt } from '../rules.ts'
import { kindOf, swapAddress } from '../service-swap.ts'
import * as proxies from '../store.ts'
import { mayJudge, movedEvent, outageAfterMs, type Watch, watchAt } from './rules.ts'
import type { OutageDeps, Outages } from './service.ts'

/** How many proxies are dealt with at once, how many pages one look goes through, and how many swaps it makes. */
const atOnce = 200
const mostPages = 50
const mostSwaps = 100

/** What a look at all that is sold came to. */
export type Looked = {
  readonly interrupted: number
  readonly restored: number
  readonly replaced: number
  readonly moved: number
}

export type OutageWatch = ReturnType<typeof createOutageWatch>

/**
 * Looks at what is sold: what nobody serves is interrupted, what is served again goes on. Each look is bounded, and the
 * next one goes on where it stopped. Several shops may look at once: rows are locked, and an outage is opened once.
 */
export function createOutageWatch(
  deps: OutageDeps & {
    readonly stock: Stock
    readonly outages: Pick<Outages, 'interrupt' | 'restore' | 'endBySwap' | 'rule'>
  },
) {
  const { db, clock, stock, outages } = deps
  let watch: Watch | undefined
  let unservedAt = firstUnserved
  let settledTo = 0

  async function findInterrupted(): Promise<number> {
    let interrupted = 0
    for (let page = 0; page < mostPages; page += 1) {
      const { leases, next } = await stock.served.unserved(unservedAt, atOnce, outageAfterMs)
      interrupted += await interruptFresh(leases)
      unservedAt = next ?? firstUnserved
      if (next === null) break
    }
    return interrupted
  }

  /** Most of what a dead node had is interrupted already, and is not locked for nothing. */
  async function interruptFresh(leases: readonly { readonly proxy: number; readonly servedAt: number }[]) {
    const ids = leases.map((lease) => lease.proxy)
    const running = (await proxies.findMany(db, ids)).filter(
      (proxy) => proxy.interruptedAt === null && statusAt(proxy, clock()) === 'active',
    )
    const fresh = new Set(running.map((proxy) => proxy.id))
    if (fresh.size === 0) return 0
    return outages.interrupt(
      leases.filter((lease) => fresh.has(lease.proxy)),
      'outage',
    )
  }

  /** Goes through what is interrupted: what is served goes on, and what has waited too long gets another address. */
  async function settle(rule: OutageRule): Promise<Pick<Looked, 'restored' | 'replaced'>> {
    let [restored, replaced] = [0, 0]
    const soldOut = new Set<string>()
    for (let page = 0; page < mostPages; page += 1) {
      const found = await proxies.interruptedAfter(db, settledTo, atOnce)
      const waiting = found.filter((proxy) => proxy.interruptedBy === 'outage')
      const back = await goOn(waiting, rule)
      restored += back.restored
      for (const proxy of back.left.filter((each) => isLate(each, rule))) {
        if (replaced < mostSwaps && (await replace(proxy, rule, soldOut))) replaced += 1
      }
      const last = found.at(-1)
      settledTo = last && found.length === atOnce ? last.id : 0
      if (settledTo === 0) break
    }
    return { restored, replaced }
  }

  const isLate = (proxy: Proxy, rule: OutageRule): boolean =>
    rule.address === 'replace' && clock() - (proxy.interruptedAt ?? clock()) >= rule.afterMs

  async function goOn(waiting: readonly Proxy[], rule: OutageRule): Promise<{ restored: number; left: Proxy[] }> {
    const served = await stock.served.servedAmong(waiting.map((proxy) => proxy.place))
    const nowMs = clock()
    // Paid back in money its term runs on, and ends while it waits.
    const isOver = (proxy: Proxy): boolean => rule.time === 'refund' && proxy.expiresAt <= nowMs
    const [back, left]: [Proxy[], Proxy[]] = [[], []]
    for (const proxy of waiting) (served.has(proxy.place) || isOver(proxy) ? back : left).push(proxy)
    let restored = 0
    for (const [customer, own] of Map.groupBy(back, (proxy) => proxy.customer)) {
      restored += await outages.restore(
        customer,
        own.map((proxy) => proxy.id),
        rule,
      )
    }
    return { restored, left }
  }

  /** Gives an interrupted proxy an address of its kind that is served. False if there is none: it waits on. */
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
        const usable = await outages.endBySwap(tx, locked, rule)
        const cause = { by: 'outage', reason: 'outage' } as const
        await swapAddress(deps, tx, usable, { ready, cause, nowMs: clock() })
        return true
      })
    } catch (error) {
      const isOutOfStock = error instanceof Refusal && error.code === 'out_of_stock'
      if (!isOutOfStock && !(error instanceof NoGateway)) throw error
      // A shared address may only be missing for this customer, who has the others.
      if (kind.ipv !== 3) soldOut.add(name)
      return false
    }
  }

  /** Tells customers whose proxies another node carries now. */
  async function tellMoved(): Promise<number> {
    let told = 0
    for (let [page, after] = [0, 0]; page < mostPages; page += 1) {
      const found = await stock.served.moved(after, atOnce)
      if (found.length > 0) told += await tellPage(found)
      if (found.length < atOnce) break
      after = found.at(-1)?.place ?? 0
    }
    return told
  }

  const tellPage = (found: Awaited<ReturnType<Stock['served']['moved']>>): Promise<number> =>
    db.transact(async (tx) => {
      const locked = await proxies.lockMany(
        tx,
        found.map((each) => each.proxy),
      )
      const byId = new Map(locked.map((proxy) => [proxy.id, proxy]))
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
    /** Looks once. Nobody is judged before this shop has looked for half a minute without a pause. */
    async look(): Promise<Looked> {
      const now = watchAt(watch, clock())
      const rule = await outages.rule()
      const interrupted = mayJudge(now, clock()) ? await findInterrupted() : 0
      const settled = await settle(rule)
      const moved = await tellMoved()
      // Only one that came to its end is a look: a shop without its database is blind.
      watch = { sinceAt: now.sinceAt, lookedAt: clock() }
      return { interrupted, ...settled, moved }
    },
  }
}
