import { addressToNumber, contains, formatPrefix, type Prefix, readAddress, readPrefix } from '../../../core/address.ts'
import { runningSince, type Stalls } from '../../../core/stall-monitor.ts'
import type { Clock } from '../../../core/time.ts'
import { createTtlCache } from '../../../core/ttl-cache.ts'
import type { Counter, Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Customers } from '../../customers/index.ts'
import type { Fleet } from '../../fleet/index.ts'
import type { Endpoint, Node } from '../../fleet/rules.ts'
import { noSuchRange, notAGateway } from '../errors.ts'
import { mostWrittenOut, sizeOf } from '../rules.ts'
import {
  isAway,
  isProven,
  isServing,
  type MayServe,
  mayCarry,
  proofMs,
  type Range,
  split,
  type Trial,
  toPrefixes,
} from './rules.ts'
import { indexOf, inParts, type Planned, type PlannedRange, sorted } from './rules-plan.ts'
import { give } from './service-carrying.ts'
import type { JudgedTrial } from './service-look.ts'
import { createTried } from './service-tried.ts'
import { createUnfinished } from './service-unfinished.ts'
import * as store from './store.ts'
import { countUnproven, vouch } from './store-proofs.ts'

/** An expired proof stops sales this much later at most. */
const unprovenTtlMs = 5_000
const anyHome = { homes: [] }

export type Ranges = ReturnType<typeof createRanges>

/** Which addresses are on which nodes: as the operator wishes, as nodes have tried, and so who carries what. */
export function createRanges(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  fleet: Pick<Fleet, 'nodes' | 'findByName'>
  customers: Pick<Customers, 'mode'>
  rangeIds: Counter
}) {
  const { db, clock } = deps
  const since = runningSince(deps)

  /** The nodes that serve now, as they were at most half a second ago. */
  async function serving(): Promise<Node[]> {
    return (await deps.fleet.nodes('gateway')).filter((node) => isServing(node, since))
  }

  /** Those that have served a while ago, and are likely to again. */
  async function away(): Promise<string[]> {
    return (await deps.fleet.nodes('gateway')).filter((node) => isAway(node, since)).map((node) => node.id)
  }

  const live = async (): Promise<string[]> => (await serving()).map((node) => node.id)

  /** Ranges for addresses, with numbers that nobody else gets. */
  async function plan(addresses: Iterable<string>, homes: readonly string[]): Promise<Planned> {
    const numbers = { 4: [] as bigint[], 6: [] as bigint[] }
    for (const text of addresses) {
      const address = readAddress(text)
      if (address) numbers[address.version].push(addressToNumber(address))
    }
    const prefixes = ([4, 6] as const).flatMap((version) => toPrefixes(version, sorted(numbers[version])))
    const ids = await deps.rangeIds.take(prefixes.length)
    const nowMs = clock()
    const ranges = prefixes.map((prefix, index): PlannedRange => {
      const common = { homes, state: 'coming' as const, createdAt: nowMs, changedAt: nowMs }
      return { prefix, range: { id: ids[index] ?? 0, prefix: formatPrefix(prefix), ...common } }
    })
    return { ranges, byAddress: indexOf(ranges) }
  }

  /** Lets go of all that nodes have of a range, but those that may go on. `trials` are all that were said of it. */
  function unseat(tx: Tx, range: Range, trials: readonly Trial[], mayStay: (node: string) => boolean): void {
    const out = trials.filter((each) => !mayStay(each.node)).map((each) => each.node)
    for (const node of out) {
      store.release(tx, { range: range.id, addresses: 'all' }, node, clock())
      store.releaseBlock(tx, range.prefix, node)
    }
    store.dropTrials(tx, range.id, out)
  }

  /**
   * Writes planned ranges down; nobody is told of them before `open`. Those that somebody else is adding at the same
   * moment are his, and the plan goes by that.
   */
  async function begin(tx: Tx, ranges: Planned['ranges']): Promise<Planned['ranges']> {
    store.insertRanges(
      tx,
      ranges.map((each) => each.range),
    )
    const prefixes = ranges.map((each) => each.range.prefix)
    const there = await store.rangesWith(tx, prefixes)
    return ranges.map((each) => ({ ...each, range: there.get(each.range.prefix) ?? each.range }))
  }

  /** Undoes an import that came to nothing: nobody was told of it, so nobody has bought of it. */
  function cancel(tx: Tx, wished: Planned, begun: Planned): void {
    const mine = new Set(wished.ranges.map((each) => each.range.id))
    const ids = begun.ranges.map((each) => each.range.id).filter((id) => mine.has(id))
    store.deletePlaces(tx, ids)
    store.setState(tx, ids, 'gone', clock())
  }

  /** From now on nodes try them, or try them again where somebody else had opened them before. */
  async function open(tx: Tx, ranges: Planned['ranges']): Promise<void> {
    const ids = ranges.map((each) => each.range.id)
    const trials = await store.trialsByRange(tx, ids)
    for (const { range } of ranges) unseat(tx, range, trials.get(range.id) ?? [], () => false)
    store.setState(tx, ids, 'in', clock())
  }

  /** A gateway serves a range that names it, or that it has proven. A sandbox is one machine and asks for no proof. */
  async function judge(): Promise<MayServe> {
    const isProduction = (await deps.customers.mode()) === 'production'
    const nowMs = clock()
    return (range, trial) => !isProduction || isProven(range, trial, nowMs)
  }

  const unfinished = createUnfinished({ db, clock, live, judge })
  const claims = createTtlCache({
    load: async (): Promise<ReadonlyMap<string, number>> =>
      (await deps.customers.mode()) === 'production' ? countUnproven(db, clock()) : new Map(),
    clock,
    ttlMs: unprovenTtlMs,
    maxEntries: 1,
  })

  /** How many ranges each gateway that is there claims and has not proven, as it was at most five seconds ago. */
  async function unproven(): Promise<ReadonlyMap<string, number>> {
    const found = await claims.get(undefined)
    if (found.size === 0) return found
    const there = await live()
    return new Map([...found].filter(([node]) => there.includes(node)))
  }

  return {
    serving,
    away,
    live,
    plan,
    cancel,
    unfinished,

    async begin({ ranges }: Planned): Promise<Planned> {
      const begun: PlannedRange[] = []
      for (const part of inParts(ranges)) begun.push(...(await db.transactLong((tx) => begin(tx, part))))
      return { ranges: begun, byAddress: indexOf(begun) }
    },

    async open({ ranges }: Planned): Promise<void> {
      for (const part of inParts(ranges)) await db.transactLong((tx) => open(tx, part))
    },

    /** The range of a large block. */
    async addBlock(tx: Tx, prefix: Prefix, id: number, homes: readonly string[]): Promise<void> {
      const nowMs = clock()
      const text = formatPrefix(prefix)
      store.insertRanges(tx, [{ id, prefix: text, homes, state: 'in', createdAt: nowMs, changedAt: nowMs }])
    },

    nextId: async (): Promise<number> => (await deps.rangeIds.take(1))[0] ?? 0,

    ...createTried({ db, clock, live, judge }),
    judge,

    unproven,

    /** The moment at which proofs count, if a gateway that is there claims what it has not proven; else nothing. */
    unprovenAt: async (): Promise<number | undefined> => ((await unproven()).size > 0 ? clock() : undefined),

    /** The nodes with these names, which must be gateways. */
    async homesOf(names: readonly string[]): Promise<string[]> {
      const homes: string[] = []
      for (const name of names) {
        const node = await deps.fleet.findByName(name)
        if (node?.kind !== 'gateway') throw notAGateway(name)
        homes.push(node.id)
      }
      return homes
    },

    /**
     * Says which nodes all addresses of a prefix are on; none: any. A range that is only partly within is split.
     * Whoever may not carry them any more lets go at once. Tells how many ranges changed.
     */
    async assign(prefix: Prefix, homes: readonly string[]): Promise<number> {
      const all = await store.listRanges(db)
      const inside = all.filter((each) => isWithin(each, prefix))
      const around = all.find((each) => isAround(each, prefix))
      if (inside.length === 0 && !around) throw noSuchRange(formatPrefix(prefix))
      if (around) await cut(around, prefix, homes)
      const [alive, mayServe] = await Promise.all([live(), judge()])
      const mayStay = (node: string): boolean => mayCarry({ homes }, node)
      const isThere = (node: string): number => Number(alive.includes(node))
      await db.transactLong(async (tx) => {
        const ids = inside.map((each) => each.id)
        const ranges = await store.lockRanges(tx, ids)
        const trials = await store.trialsByRange(tx, ids)
        const nowMs = clock()
        for (const range of ranges.values()) {
          store.setHomes(tx, range.id, homes, nowMs)
          const said = trials.get(range.id) ?? []
          unseat(tx, range, said, mayStay)
          // The operator's earlier word counts for as long as a proof does.
          const isVouched = homes.length === 0 && range.homes.length > 0
          if (isVouched) vouch(tx, range.id, nowMs + proofMs)
          const staying = said
            .filter((each) => mayStay(each.node) && (isVouched || mayServe({ homes }, each)))
            .toSorted((a, b) => isThere(b.node) - isThere(a.node))
          for (const { node, served } of staying) give(tx, range, served, node, alive)
        }
      })
      return inside.length + (around ? 1 : 0)
    },

    /** Where customers reach each of these places, for those that are carried by a node with an endpoint of its own. */
    async endpointsOf(places: readonly number[]): Promise<Map<number, Endpoint>> {
      const [carriers, nodes] = await Promise.all([store.carriersOf(db, places), deps.fleet.nodes('gateway')])
      const endpoints = new Map(nodes.flatMap((node) => (node.endpoint ? [[node.id as string, node.endpoint]] : [])))
      return new Map(
        [...carriers].flatMap(([place, node]) => {
          const endpoint = endpoints.get(node)
          return endpoint ? [[place, endpoint]] : []
        }),
      )
    },

    /** Every range, what nodes said of it, and how many of its places each node carries. */
    async overview() {
      const mayServe = await judge()
      return db.snapshot(async (reader: Reader) => {
        const ranges = await store.listRanges(reader)
        const byId = new Map(ranges.map((each) => [each.id, each]))
        const isAsked = !mayServe(anyHome, undefined)
        const judged = (trial: Trial): JudgedTrial => {
          const range = byId.get(trial.range) ?? anyHome
          const isDue = isAsked && range.homes.length === 0 && trial.provenAt === null
          return { ...trial, proof: !mayServe(range, trial) ? 'none' : isDue ? 'due' : 'given' }
        }
        return {
          ranges,
          blocks: await store.listBlocks(reader),
          trials: (await store.allTrials(reader)).map(judged),
          standings: await store.standings(reader),
        }
      })
    },
  }

  /** Splits a range around a part of it. What nodes have of it they try anew, and so prove within seconds. */
  async function cut(whole: Range, part: Prefix, homes: readonly string[]): Promise<void> {
    const prefix = readPrefix(whole.prefix)
    if (!prefix) return
    const pieces = [part, ...split(prefix, part)]
    const ids = await deps.rangeIds.take(pieces.length)
    const nowMs = clock()
    const made = pieces.map((piece, index): PlannedRange => {
      const common = { state: 'in' as const, createdAt: nowMs, changedAt: nowMs }
      const wish = index === 0 ? homes : whole.homes
      return { prefix: piece, range: { id: ids[index] ?? 0, prefix: formatPrefix(piece), homes: wish, ...common } }
    })
    const find = indexOf(made)
    await db.transact(async (tx) => {
      const held = (await store.lockRanges(tx, [whole.id])).get(whole.id)
      if (held?.state !== 'in') throw noSuchRange(formatPrefix(part))
      unseat(tx, held, (await store.trialsByRange(tx, [whole.id])).get(whole.id) ?? [], () => false)
      store.setState(tx, [whole.id], 'gone', nowMs)
      store.insertRanges(
        tx,
        made.map((each) => each.range),
      )
      const addresses = await store.addressesIn(tx, whole.id)
      for (const [id, group] of Map.groupBy(addresses, find)) store.moveInto(tx, id ?? 0, group, nowMs)
    })
  }
}

function isWithin(range: Range, prefix: Prefix): boolean {
  const own = readPrefix(range.prefix)
  return own !== undefined && own.length >= prefix.length && contains(prefix, own.base)
}

/** A large block is not split: it is one row of stock. */
function isAround(range: Range, prefix: Prefix): boolean {
  const own = readPrefix(range.prefix)
  return own !== undefined && own.length < prefix.length && contains(own, prefix.base) && sizeOf(own) <= mostWrittenOut
}
