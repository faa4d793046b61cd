import { addressToNumber, contains, formatPrefix, type Prefix, readAddress, readPrefix } from '../../../core/address.ts'
import { Refusal } from '../../../core/refusal.ts'
import { runningSince, type Stalls } from '../../../core/stall-monitor.ts'
import type { Clock } from '../../../core/time.ts'
import { createTtlCache } from '../../../core/ttl-cache.ts'
import type { Counter, Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Customers } from '../../customers/index.ts'
import type { Fleet } from '../../fleet/index.ts'
import type { Endpoint, Node } from '../../fleet/rules.ts'
import { noSuchRange } from '../errors.ts'
import type { JudgedTrial } from './overview.ts'
import { createTried, give } from './prove.ts'
import { createUnfinished } from './resume.ts'
import {
  indexOf,
  inParts,
  isAway,
  isBlock,
  isProven,
  isServing,
  type MayServe,
  mayCarry,
  type Planned,
  type PlannedRange,
  proofMs,
  type StockRange,
  sorted,
  split,
  type Trial,
  toPrefixes,
} from './rules.ts'
import * as store from './store.ts'

/** An expired proof stops sales this much later at most. */
const unprovenTtlMs = 5_000
const anyHome = { homes: [] }

export type Ranges = ReturnType<typeof createRanges>

/** Ranges: the nodes that the operator assigns to them, and the nodes that serve them. */
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

  /** The gateways that serve now, at most half a second old. */
  async function serving(): Promise<Node[]> {
    return (await deps.fleet.nodes('gateway')).filter((node) => isServing(node, since))
  }

  /** The gateways that have lately served and are likely to come back. */
  async function away(): Promise<string[]> {
    return (await deps.fleet.nodes('gateway')).filter((node) => isAway(node, since)).map((node) => node.id)
  }

  const live = async (): Promise<string[]> => (await serving()).map((node) => node.id)

  /** Makes ranges for addresses, with ids of their own. */
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

  /** Takes a range from all nodes that may not stay. `trials` are all of the range. */
  function unseat(tx: Tx, range: StockRange, trials: readonly Trial[], mayStay: (node: string) => boolean): void {
    const out = trials.filter((each) => !mayStay(each.node)).map((each) => each.node)
    for (const node of out) {
      store.release(tx, { range: range.id, addresses: 'all' }, node, clock())
      store.releaseBlock(tx, range.prefix, node)
    }
    store.dropTrials(tx, range.id, out)
  }

  /** Writes planned ranges. Nodes are sent them by `open`. A range that another process has just added is used. */
  async function begin(tx: Tx, ranges: Planned['ranges']): Promise<Planned['ranges']> {
    const planned = ranges.map((each) => each.range)
    store.insertRanges(tx, planned)
    const there = await store.rangesWith(
      tx,
      planned.map((each) => each.prefix),
    )
    return ranges.map((each) => ({ ...each, range: there.get(each.range.prefix) ?? each.range }))
  }

  /** Undoes a failed import. It was never on sale. */
  function cancel(tx: Tx, wished: Planned, begun: Planned): void {
    const mine = new Set(wished.ranges.map((each) => each.range.id))
    const ids = begun.ranges.map((each) => each.range.id).filter((id) => mine.has(id))
    store.deleteSlots(tx, ids)
    store.setState(tx, ids, 'gone', clock())
  }

  /** Sends ranges to nodes, which try them, again where another process had opened them before. */
  async function open(tx: Tx, ranges: Planned['ranges']): Promise<void> {
    const ids = ranges.map((each) => each.range.id)
    const trials = await store.trialsByRange(tx, ids)
    for (const { range } of ranges) unseat(tx, range, trials.get(range.id) ?? [], () => false)
    store.setState(tx, ids, 'in', clock())
  }

  /** A gateway serves a range that names it, or that it has proven. A sandbox asks for no proof. */
  async function judge(): Promise<MayServe> {
    const isProduction = (await deps.customers.mode()) === 'production'
    const nowMs = clock()
    return (range, trial) => !isProduction || isProven(range, trial, nowMs)
  }

  const unfinished = createUnfinished({ db, clock, live, judge })
  const claims = createTtlCache({
    load: async (): Promise<ReadonlyMap<string, number>> =>
      (await deps.customers.mode()) === 'production' ? store.countUnproven(db, clock()) : new Map(),
    clock,
    ttlMs: unprovenTtlMs,
    maxEntries: 1,
  })

  /** How many ranges each live gateway claims without a proof, at most five seconds old. */
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

    /** Now, if a live gateway claims a range without a proof: queries then check proofs. */
    unprovenAt: async (): Promise<number | undefined> => ((await unproven()).size > 0 ? clock() : undefined),

    /** The ids of gateways with these names. */
    async homesOf(names: readonly string[]): Promise<string[]> {
      const homes: string[] = []
      for (const name of names) {
        const node = await deps.fleet.findByName(name)
        if (node?.kind !== 'gateway') throw new Refusal('gateway_not_found', { name })
        homes.push(node.id)
      }
      return homes
    },

    /**
     * Assigns all addresses of a prefix to these nodes; none: any. A range that is partly within is split. Other nodes
     * lose the addresses at once. Returns how many ranges changed.
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
          // The operator's earlier assignment counts as long as a proof does.
          const isVouched = homes.length === 0 && range.homes.length > 0
          if (isVouched) store.vouch(tx, range.id, nowMs + proofMs)
          const staying = said
            .filter((each) => mayStay(each.node) && (isVouched || mayServe({ homes }, each)))
            .toSorted((a, b) => isThere(b.node) - isThere(a.node))
          for (const { node, served } of staying) give(tx, range, served, node, alive)
        }
      })
      return inside.length + (around ? 1 : 0)
    },

    /** The endpoints of these slots, for those on a node with an endpoint of its own. */
    async endpointsOf(places: readonly number[]): Promise<Map<number, Endpoint>> {
      const [carriers, nodes] = await Promise.all([store.carriersOf(db, places), deps.fleet.nodes('gateway')])
      const endpoints = new Map<string, Endpoint | null>(nodes.map((node) => [node.id, node.endpoint]))
      return new Map(
        [...carriers].flatMap(([place, node]) => {
          const endpoint = endpoints.get(node)
          return endpoint ? [[place, endpoint]] : []
        }),
      )
    },

    /** Every range with its trials and how many of its slots each node serves. */
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
          carried: await store.countCarried(reader),
        }
      })
    },
  }

  /** Splits a range around a part of it. Nodes try the new ranges within seconds. */
  async function cut(whole: StockRange, part: Prefix, homes: readonly string[]): Promise<void> {
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
      const added = made.map((each) => each.range)
      store.insertRanges(tx, added)
      const addresses = await store.addressesIn(tx, whole.id)
      for (const [id, group] of Map.groupBy(addresses, find)) store.moveInto(tx, id ?? 0, group, nowMs)
    })
  }
}

function isWithin(range: StockRange, prefix: Prefix): boolean {
  const own = readPrefix(range.prefix)
  return own !== undefined && own.length >= prefix.length && contains(prefix, own.base)
}

/** A large block is one row and is not split. */
function isAround(range: StockRange, prefix: Prefix): boolean {
  const own = readPrefix(range.prefix)
  return own !== undefined && own.length < prefix.length && contains(own, prefix.base) && !isBlock(range)
}
