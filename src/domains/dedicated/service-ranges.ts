import { formatPrefix, type Prefix } from '../../core/address.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { runningSince, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import { NoGateway, type Stock, type StockOperator } from '../stock/index.ts'
import { isServing } from '../stock/ranges/rules.ts'
import type { Ipv, Kind, PlaceState } from '../stock/rules.ts'
import { nothingWithin } from './errors.ts'
import type { Outages } from './outages/service.ts'
import { leftAt, type Proxy, statusAt } from './rules.ts'
import { createProxyMoney, type MoneyDeps } from './service-money.ts'
import type { ProxyOperator } from './service-operator.ts'
import * as store from './store.ts'

const atOnce = 200

type KindCount = Record<PlaceState, number> & {
  readonly country: string
  readonly ipv: Ipv
  /** What of this kind could be had now outside of the range: free, and served. */
  replacements: number
}

/** What is in a range now, and whom it would touch. */
export type RangeSurvey = {
  readonly prefix: string
  readonly kinds: readonly KindCount[]
  readonly blocks: readonly string[]
  readonly proxies: readonly number[]
  readonly customers: number
  /** What would be given back if all that is leased here ended now. */
  readonly unused: Kopecks
}

/** What was done, and with whom it could not be done. */
export type RangeOutcome = {
  readonly places: number
  readonly interrupted: number
  readonly restored: number
  readonly replaced: readonly number[]
  readonly ended: readonly number[]
  readonly waiting: readonly number[]
}

export type RangeWish = {
  readonly undo: boolean
  /** Customers get other addresses of the kind now. */
  readonly replace: boolean
  /** Whoever cannot get one is ended and gets back what is unused; otherwise he waits. */
  readonly refund: boolean
  readonly note: string
}

export type RangeOperator = ReturnType<typeof createRangeOperator>

/**
 * What an operator does with whole ranges. Each step is a transaction of its own and looks at what is there: a command
 * that was interrupted is given again and goes on where it stopped.
 */
export function createRangeOperator(
  deps: MoneyDeps & {
    readonly db: Database
    readonly clock: Clock
    readonly stalls: Stalls
    readonly stock: Pick<Stock, 'availableBeside' | 'ranges'>
    readonly fleet: Pick<Fleet, 'nodes'>
    readonly stockOperator: Pick<StockOperator, 'placesWithin' | 'blocksWithin' | 'holdersOf' | 'close'>
    readonly outages: Pick<Outages, 'interrupt' | 'restore' | 'rule'>
    readonly proxyOperator: Pick<ProxyOperator, 'replace' | 'end'>
  },
) {
  const { db, clock, stockOperator } = deps
  const since = runningSince(deps)
  const money = createProxyMoney(deps)

  /** Everybody who holds a place of a range now. */
  async function holders(prefix: Prefix): Promise<number[]> {
    const found: number[] = []
    for await (const page of stockOperator.placesWithin(prefix)) {
      const leased = page.filter((place) => place.state === 'leased').map((place) => place.id)
      found.push(...(await stockOperator.holdersOf(leased)).map((each) => each.proxy))
    }
    return found.toSorted((a, b) => a - b)
  }

  async function countKinds(prefix: Prefix, blocks: readonly string[]): Promise<KindCount[]> {
    const kinds = new Map<string, KindCount>()
    const sellable = new Map<string, number>()
    const live = await deps.stock.ranges.live()
    for await (const page of stockOperator.placesWithin(prefix)) {
      for (const { country, ipv, state, carrier } of page) {
        const name = `${country} ${ipv}`
        const none = { free: 0, leased: 0, resting: 0, retired: 0 }
        const kind = kinds.get(name) ?? { country, ipv, ...none, replacements: 0 }
        kind[state] += 1
        kinds.set(name, kind)
        if (state === 'free' && live.includes(carrier ?? '')) sellable.set(name, (sellable.get(name) ?? 0) + 1)
      }
    }
    for (const [name, kind] of kinds) {
      const asked = { country: kind.country, ipv: kind.ipv } as Kind
      kind.replacements = await deps.stock.availableBeside(asked, sellable.get(name) ?? 0, blocks)
    }
    return [...kinds.values()]
  }

  /** What is unused of all these proxies, customer after customer, read and not changed. */
  async function sumUnused(proxies: readonly Proxy[]): Promise<Kopecks> {
    let sum = 0n
    for (const [customer, own] of Map.groupBy(proxies, (proxy) => proxy.customer)) {
      const unused = await db.transact((tx) =>
        money.unusedOf(tx, customer, own, (proxy) => Math.max(0, leftAt(proxy, clock()))),
      )
      for (const part of [...unused.values()].flat()) sum += part.amount
    }
    return kopecks(sum)
  }

  async function survey(prefix: Prefix): Promise<RangeSurvey> {
    const blocks = await stockOperator.blocksWithin(prefix)
    const kinds = await countKinds(prefix, blocks)
    if (kinds.length === 0 && blocks.length === 0) throw nothingWithin(formatPrefix(prefix))
    const ids = await holders(prefix)
    const proxies: Proxy[] = []
    for (let at = 0; at < ids.length; at += atOnce) {
      proxies.push(...(await store.findMany(db, ids.slice(at, at + atOnce))))
    }
    const customers = new Set(proxies.map((proxy) => proxy.customer)).size
    const unused = await sumUnused(proxies)
    return { prefix: formatPrefix(prefix), kinds, blocks, proxies: ids, customers, unused }
  }

  async function close(prefix: Prefix, as: 'retired' | 'quarantined', undo: boolean): Promise<number> {
    const blocks = await stockOperator.blocksWithin(prefix)
    let count = 0
    await stockOperator.close({ as, undo, places: [], blocks })
    for await (const page of stockOperator.placesWithin(prefix)) {
      for (let at = 0; at < page.length; at += atOnce) {
        const places = page.slice(at, at + atOnce).map((place) => place.id)
        await stockOperator.close({ as, undo, places, blocks: [] })
        count += places.length
      }
    }
    if (count === 0 && blocks.length === 0) throw nothingWithin(formatPrefix(prefix))
    return count
  }

  /** Gives another address to everybody who has one here. Whoever is in grace keeps his until it is over. */
  async function moveOut(prefix: Prefix, wish: RangeWish) {
    const [replaced, ended, waiting]: [number[], number[], number[]] = [[], [], []]
    for (const id of await holders(prefix)) {
      const proxy = await store.findProxy(db, id)
      if (proxy?.state !== 'held' || statusAt(proxy, clock()) === 'expired') continue
      const outcome = await moveOne(id, wish)
      ;({ replaced, ended, waiting })[outcome].push(id)
    }
    return { replaced, ended, waiting }
  }

  async function moveOne(id: number, wish: RangeWish): Promise<'replaced' | 'ended' | 'waiting'> {
    try {
      await deps.proxyOperator.replace(id, { note: wish.note })
      return 'replaced'
    } catch (error) {
      // Which addresses there are to move to is only known while somebody carries some.
      if (error instanceof NoGateway) return 'waiting'
      if (!(error instanceof Refusal) || error.code !== 'out_of_stock') throw error
      if (!wish.refund) return 'waiting'
      await deps.proxyOperator.end(id, { give: 'unused', note: wish.note })
      return 'ended'
    }
  }

  const nobody = { replaced: [], ended: [], waiting: [] }

  return {
    survey,

    /** No more of it is sold. What is leased runs out, or its customers get other addresses now. */
    /**
     * Moves a range to other gateways, with what was sold of it; `isDry` only tells whom it would touch. Those that it
     * moves to prove it within seconds if they can use it; `away` are those that were not heard of lately.
     */
    async move(prefix: Prefix, homes: readonly string[], isDry: boolean) {
      const { proxies, customers } = await survey(prefix)
      const away = (await deps.fleet.nodes('gateway'))
        .filter((node) => homes.includes(node.id) && !isServing(node, since))
        .map((node) => node.name)
      const ranges = isDry ? 0 : await deps.stock.ranges.assign(prefix, homes)
      return { proxies, customers, away, ranges }
    },

    async retire(prefix: Prefix, wish: RangeWish): Promise<RangeOutcome> {
      const places = await close(prefix, 'retired', wish.undo)
      const moved = wish.replace && !wish.undo ? await moveOut(prefix, wish) : nobody
      return { places, interrupted: 0, restored: 0, ...moved }
    },

    /** Nothing of it is sold and nobody is served from it, until that is undone. */
    async quarantine(prefix: Prefix, wish: RangeWish): Promise<RangeOutcome> {
      const places = await close(prefix, 'quarantined', wish.undo)
      if (wish.undo) return { places, interrupted: 0, restored: await letGoOn(prefix), ...nobody }
      const moved = wish.replace ? await moveOut(prefix, wish) : nobody
      const ids = await holders(prefix)
      let interrupted = 0
      for (let at = 0; at < ids.length; at += atOnce) {
        const found = ids.slice(at, at + atOnce).map((proxy) => ({ proxy, servedAt: clock() }))
        interrupted += await deps.outages.interrupt(found, 'quarantine')
      }
      return { places, interrupted, restored: 0, ...moved }
    },
  }

  async function letGoOn(prefix: Prefix): Promise<number> {
    const rule = await deps.outages.rule()
    const ids = await holders(prefix)
    let restored = 0
    for (let at = 0; at < ids.length; at += atOnce) {
      const page = (await store.findMany(db, ids.slice(at, at + atOnce))).filter(
        (proxy) => proxy.interruptedBy === 'quarantine',
      )
      for (const [customer, own] of Map.groupBy(page, (proxy) => proxy.customer)) {
        restored += await deps.outages.restore(
          customer,
          own.map((proxy) => proxy.id),
          rule,
        )
      }
    }
    return restored
  }
}
