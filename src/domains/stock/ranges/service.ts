import type { Counter, Database, Reader, Tx } from '../../../db/transaction.ts'
import {
  addressToNumber,
  contains,
  formatAddress,
  formatPrefix,
  type Prefix,
  readAddress,
  readPrefix,
} from '../../../kernel/address.ts'
import { runningSince, type Stalls } from '../../../kernel/stall-monitor.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Fleet } from '../../fleet/index.ts'
import type { Endpoint, Node } from '../../fleet/rules.ts'
import { noSuchRange, notAGateway } from '../errors.ts'
import { mostWrittenOut, sizeOf } from '../rules.ts'
import {
  addressesOf,
  isAway,
  isNormal,
  isServing,
  isWhole,
  mayCarry,
  type Problem,
  type Range,
  type Run,
  split,
  type Trial,
  toPrefixes,
  within,
  without,
} from './rules.ts'
import { indexOf, inParts, type Planned, type PlannedRange, sorted } from './rules-plan.ts'
import { createUnfinished } from './service-unfinished.ts'
import * as store from './store.ts'

const adoptAtOnce = 20_000

/** What a node says of a range: all of it, so that saying it twice changes nothing. */
export type Tried = {
  readonly range: number
  readonly served: readonly Run[]
  readonly problems: readonly Problem[]
  readonly seenAs: string | null
}

export type Ranges = ReturnType<typeof createRanges>

/** Which addresses are on which nodes: as the operator wishes, as nodes have tried, and so who carries what. */
export function createRanges(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  fleet: Pick<Fleet, 'nodes' | 'findByName'>
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

  /** Gives addresses of a range to a node, but for those that another one carries which is there. */
  function give(tx: Tx, range: Range, runs: readonly Run[], node: string, alive: readonly string[]): void {
    const which = placesOf(range, runs)
    if (!which || runs.length === 0) return
    store.claim(tx, which, node, alive)
    if (isBlock(range)) store.claimBlock(tx, range.prefix, node, alive)
  }

  /**
   * What changes in who carries a range when a node says this of it. Tells whether all of its places are to be claimed
   * for the node, which is the caller's to do for many ranges at once.
   */
  function apply(
    tx: Tx,
    range: Range,
    said: Tried,
    before: readonly Trial[],
    node: string,
    alive: readonly string[],
  ): boolean {
    const own = before.find((each) => each.node === node)
    const others = before.filter((each) => each.node !== node)
    const lost = without(own?.served ?? [], said.served)
    const which = placesOf(range, lost)
    if (which && lost.length > 0) {
      store.release(tx, which, node, clock())
      if (isBlock(range)) store.releaseBlock(tx, range.prefix, node)
      for (const other of others) {
        give(tx, range, within(lost, other.served), other.node, alive)
      }
    }
    const gained = others.length > 0 ? said.served : without(said.served, own?.served ?? [])
    if (!isBlock(range) && placesOf(range, gained)?.addresses === 'all') return true
    give(tx, range, gained, node, alive)
    return false
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

  /** What a node says of so many ranges as one transaction takes. */
  async function hear(node: string, said: readonly Tried[], alive: readonly string[]): Promise<void> {
    if (await isKnown(node, said)) return
    const ids = said.map((each) => each.range)
    await db.transactLong(async (tx) => {
      const ranges = await store.lockRanges(tx, ids)
      const trials = await store.trialsByRange(tx, ids)
      const nowMs = clock()
      const written: Trial[] = []
      const wholly: number[] = []
      for (const each of said) {
        const range = ranges.get(each.range)
        if (range?.state !== 'in' || !mayCarry(range, node) || !fits(range, each.served)) continue
        const before = trials.get(range.id) ?? []
        if (apply(tx, range, each, before, node, [...alive, node])) wholly.push(range.id)
        const own = before.find((trial) => trial.node === node)
        if (!own || !says(own, each)) written.push({ node, ...each, changedAt: nowMs })
      }
      store.claimAll(tx, wholly, node, [...alive, node])
      store.writeTrials(tx, written)
    })
  }

  const unfinished = createUnfinished({ db, clock, live, give })

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

    /**
     * Takes what a node says of ranges. What it was not told to try is passed over, and what another node carries that
     * still serves stays with that one: so a node that lies takes nothing from others.
     */
    async tried(node: string, said: readonly Tried[]): Promise<void> {
      const alive = await live()
      for (const part of inParts(said)) await hear(node, part, alive)
    },

    /** Stock of a time before there were ranges is put into ranges that are any node's. Tells how many addresses. */
    async adopt(): Promise<number> {
      await unfinished.adoptOld()
      for (const text of await store.rangelessBlocks(db)) {
        const prefix = readPrefix(text)
        const [id] = await deps.rangeIds.take(1)
        if (prefix && id !== undefined) await db.transact((tx) => this.addBlock(tx, prefix, id, []))
      }
      let adopted = 0
      for (;;) {
        const addresses = await store.rangeless(db, adoptAtOnce)
        if (addresses.length === 0) return adopted
        const planned = await plan(addresses, [])
        await db.transact(async (tx) => {
          const begun = await begin(tx, planned.ranges)
          const groups = Map.groupBy(addresses, indexOf(begun))
          for (const [id, group] of groups) store.moveInto(tx, id ?? 0, group, clock())
          await open(tx, begun)
        })
        adopted += addresses.length
      }
    },

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
      const alive = await live()
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
          const staying = said
            .filter((each) => mayStay(each.node))
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
      return db.snapshot(async (reader: Reader) => ({
        ranges: await store.listRanges(reader),
        blocks: await store.listBlocks(reader),
        trials: await store.allTrials(reader),
        standings: await store.standings(reader),
      }))
    },
  }

  /** Whether a node has said nothing new, and nobody else's share could fall to it. Most reports end here. */
  async function isKnown(node: string, said: readonly Tried[]): Promise<boolean> {
    const byRange = await store.trialsByRange(
      db,
      said.map((each) => each.range),
    )
    return said.every((each) => {
      const [own, ...others] = (byRange.get(each.range) ?? []).toSorted((a) => (a.node === node ? -1 : 1))
      return own?.node === node && others.length === 0 && says(own, each)
    })
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

/** A range that is kept as one row of stock. */
function isBlock(range: Range): boolean {
  const prefix = readPrefix(range.prefix)
  return prefix !== undefined && sizeOf(prefix) > mostWrittenOut
}

/** The places at some addresses of a range. */
function placesOf(range: Range, runs: readonly Run[]): store.Which | undefined {
  const prefix = readPrefix(range.prefix)
  if (!prefix) return undefined
  const isAll = isBlock(range) || isWhole(runs, Number(sizeOf(prefix)))
  return { range: range.id, addresses: isAll ? 'all' : [...addressesOf(prefix, runs)].map(formatAddress) }
}

/** Whether a node speaks of addresses that the range has. */
function fits(range: Range, served: readonly Run[]): boolean {
  const prefix = readPrefix(range.prefix)
  if (!prefix) return false
  const size = sizeOf(prefix)
  return isNormal(served, size > mostWrittenOut ? 1 : Number(size))
}

const says = (trial: Trial, said: Tried): boolean =>
  trial.seenAs === said.seenAs &&
  JSON.stringify([trial.served, trial.problems]) === JSON.stringify([said.served, said.problems])
