import { type Address, contains, formatAddress, formatPrefix, type Prefix, readPrefix } from '../../core/address.ts'
import type { RandomBytes } from '../../core/ids.ts'
import type { Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import { ConstraintViolation, type Counter, type Database, type Reader, type Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Fleet } from '../fleet/index.ts'
import type { Node } from '../fleet/rules.ts'
import { NoGateway, outOfStock, soldElsewhere } from './errors.ts'
import { createStockNodes } from './nodes.ts'
import type { Planned } from './ranges/rules-plan.ts'
import { createRanges } from './ranges/service.ts'
import { createServed } from './ranges/service-served.ts'
import { type Kind, mostWrittenOut, type Place, randomAddress, scattered, sizeOf, slotsOf } from './rules.ts'
import * as store from './store.ts'

/** Past this many the count of what is free is not exact. */
const mostCounted = 20_000
const countRememberedMs = 1_000
const importChunk = 4_000
const mintAttempts = 20
const lastId = Number.MAX_SAFE_INTEGER

export type Stock = ReturnType<typeof createStock>

/** What is fetched before a transaction that takes places: who carries now, and numbers for places to be minted. */
export type Readiness = {
  readonly carriers: readonly Node[]
  /** Gateways that are likely to come back. */
  readonly away: readonly string[]
  /** The moment at which proofs of ranges count, where a gateway lacks one. */
  readonly unprovenAt: number | undefined
  readonly spareIds: readonly number[]
}

export function createStock(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  random: RandomBytes
  fleet: Pick<Fleet, 'nodes' | 'findByName'>
  customers: Pick<Customers, 'mode'>
  placeIds: Counter
  rangeIds: Counter
}) {
  const { db, clock } = deps
  const ranges = createRanges(deps)
  /** Where the last sale of each kind ended: the next one begins there and need not pass what is sold. */
  const cursors = new Map<string, number>()
  const counts = new Map<string, { count: Promise<number>; askedAt: number }>()

  const nameOf = (kind: Kind): string => `${kind.country} ${kind.ipv}`

  /**
   * Looks for places after the cursor, and once more from the beginning for what is missing. The cursor moves on before
   * the answer is there, so that sales at the same moment look in different places.
   */
  async function lookAround(tx: Tx, asked: store.Asked, count: number): Promise<Place[]> {
    const name = nameOf(asked.kind)
    const cursor = cursors.get(name) ?? 0
    cursors.set(name, cursor + count)
    const ahead = await store.lockFree(tx, asked, { after: cursor, upto: lastId }, count, 'pass over')
    const missing = count - ahead.length
    const behind =
      missing > 0 && cursor > 0 ? await store.lockFree(tx, asked, { after: 0, upto: cursor }, missing, 'pass over') : []
    const last = behind.at(-1) ?? ahead.at(-1)
    if (last && (behind.length > 0 || last.id > (cursors.get(name) ?? 0))) cursors.set(name, last.id)
    return [...ahead, ...behind]
  }

  /** Shared addresses: one slot of an address for a customer, so places are chosen among more than are needed. */
  const wanted = (kind: Kind, count: number, held: ReadonlySet<string>): number =>
    kind.ipv === 3 ? count * 3 + held.size * 2 : count

  function choose(tx: Tx, found: readonly Place[], count: number, held: ReadonlySet<string>): Place[] {
    const taken = new Set(held)
    const chosen: Place[] = []
    for (const place of found) {
      if (chosen.length === count || taken.has(place.address)) continue
      taken.add(place.address)
      chosen.push(place)
    }
    store.setLeased(
      tx,
      chosen.map((place) => place.id),
    )
    return chosen
  }

  /** One address of one's own, which is what most buy: found and taken at once, ahead of where the last sale ended. */
  async function takeNext(tx: Tx, asked: store.Asked): Promise<Place[]> {
    const name = nameOf(asked.kind)
    const cursor = cursors.get(name) ?? 0
    cursors.set(name, cursor + 1)
    const place = await store.leaseNext(tx, asked, cursor)
    if (place && place.id > (cursors.get(name) ?? 0)) cursors.set(name, place.id)
    return place ? [place] : []
  }

  /** What nobody else is looking at, from where the last sale ended. */
  async function takeAtOnce(tx: Tx, asked: store.Asked, count: number, held: ReadonlySet<string>): Promise<Place[]> {
    const { kind } = asked
    const isPlain = count === 1 && kind.ipv !== 3 && asked.unprovenAt === undefined
    const next = isPlain ? await takeNext(tx, asked) : []
    if (next.length > 0) return next
    return choose(tx, await lookAround(tx, asked, wanted(kind, count, held)), count, held)
  }

  /**
   * What others were looking at and have left, so that nobody is refused for the sake of a sale that came to nothing.
   */
  async function takeInTurn(tx: Tx, asked: store.Asked, count: number, held: ReadonlySet<string>): Promise<Place[]> {
    const all = { after: 0, upto: lastId }
    return choose(tx, await store.lockFree(tx, asked, all, wanted(asked.kind, count, held), 'wait'), count, held)
  }

  /** New places out of large blocks that are carried, each block taking its turn. */
  async function mint(tx: Tx, asked: store.Asked, ids: readonly number[]): Promise<Place[]> {
    if (ids.length === 0) return []
    const blocks = (await store.blocksOf(tx, asked)).flatMap((block) => {
      const prefix = readPrefix(block.prefix)
      return prefix ? [{ ...block, prefix }] : []
    })
    if (blocks.length === 0) return []
    const minted = new Map<string, (typeof blocks)[number]>()
    for (let attempt = 0; attempt < mintAttempts && minted.size < ids.length; attempt += 1) {
      const drawn = new Map<string, (typeof blocks)[number]>()
      for (let index = minted.size; index < ids.length; index += 1) {
        const block = blocks[index % blocks.length]
        if (block) drawn.set(formatAddress(randomAddress(block.prefix, deps.random)), block)
      }
      const known = await store.existing(tx, [...drawn.keys()])
      const exits = await store.exitsAmong(tx, [...drawn.keys()])
      for (const [address, block] of drawn) if (!known.has(address) && !exits.has(address)) minted.set(address, block)
    }
    const places = [...minted].map(([address, { range, carrier }], index) => ({
      id: ids[index] ?? 0,
      address,
      freeFrom: 0,
      range,
      carrier,
    }))
    store.mintPlaces(tx, places, asked.kind)
    return places
  }

  /** Whether what is missing is there, and only its gateway is not. */
  async function areAway(tx: Tx, kind: Kind, missing: number, away: readonly string[]): Promise<boolean> {
    if (away.length === 0) return false
    const asked = { kind, carriers: away }
    if (kind.ipv === 6 && (await store.blocksOf(tx, asked)).length > 0) return true
    return (await store.countFree(tx, asked, missing)) === missing
  }

  return {
    ranges,
    served: createServed(deps),
    nodes: createStockNodes({ db, ranges }),

    /** What `take` needs, fetched before the transaction begins, for neither may wait inside of it. */
    async prepare(kind: Kind, count: number): Promise<Readiness> {
      const [carriers, away, unprovenAt, spareIds] = await Promise.all([
        ranges.serving(),
        ranges.away(),
        ranges.unprovenAt(),
        kind.ipv === 6 ? deps.placeIds.take(count) : Promise.resolve([]),
      ])
      return { carriers, away, unprovenAt, spareIds }
    },

    /**
     * Takes places for a customer or refuses, saying how many there are. Only what a node that is there carries is
     * taken. `held` are addresses the customer has already.
     */
    async take(
      tx: Tx,
      kind: Kind,
      count: number,
      held: ReadonlySet<string>,
      { carriers, away, unprovenAt, spareIds }: Readiness,
    ): Promise<Place[]> {
      if (carriers.length === 0) throw new NoGateway()
      const asked = { kind, carriers: carriers.map((node) => node.id), unprovenAt }
      const places = await takeAtOnce(tx, asked, count, held)
      if (places.length < count) places.push(...(await mint(tx, asked, spareIds.slice(0, count - places.length))))
      if (places.length < count) {
        const have = new Set([...held, ...places.map((place) => place.address)])
        places.push(...(await takeInTurn(tx, asked, count - places.length, have)))
      }
      if (places.length < count) {
        // What waits for its proof is there again within minutes.
        const later = unprovenAt === undefined ? away : [...away, ...asked.carriers]
        throw (await areAway(tx, kind, count - places.length, later)) ? new NoGateway() : outOfStock(places.length)
      }
      return places
    },

    /**
     * Writes down who holds what from now on; from when the place was last held, should the clock have been set back
     * since.
     */
    lease: (tx: Tx, leases: readonly { place: Place; proxy: number }[], nowMs: number): void =>
      store.openLeases(
        tx,
        leases.map(({ place, proxy }) => ({ place: place.id, startedAt: Math.max(nowMs, place.freeFrom), proxy })),
      ),

    /** Ends leases; the places rest until their time and are then sold again. */
    async release(tx: Tx, places: readonly { id: number; endedAt: number; restUntil: number }[]): Promise<void> {
      for (const { id, endedAt, restUntil } of places) {
        const freeFrom = (await store.endLease(tx, id, endedAt)) ?? endedAt
        store.setResting(tx, { id, freeFrom, restUntil })
      }
    },

    /** Makes rested places free. Returns how many; call again while it is as many as asked for. */
    endRest: (most: number): Promise<number> => db.transact((tx) => store.endRest(tx, clock(), most)),

    /** How many are free and carried by a node that is there, exact up to 20,000, at most a second old. */
    available(kind: Kind): Promise<number> {
      const nowMs = clock()
      const known = counts.get(nameOf(kind))
      if (known && Math.abs(nowMs - known.askedAt) < countRememberedMs) return known.count
      const count = countNow(kind)
      counts.set(nameOf(kind), { count, askedAt: nowMs })
      count.catch(() => counts.delete(nameOf(kind)))
      return count
    },

    /** How many could be had instead of a range: those outside of it. `within` are its own that are free and served. */
    async availableBeside(kind: Kind, within: number, blocks: readonly string[]): Promise<number> {
      const asked = { kind, carriers: await ranges.live(), unprovenAt: await ranges.unprovenAt() }
      if (asked.carriers.length === 0) return 0
      const others =
        kind.ipv === 6 ? (await store.blocksOf(db, asked)).filter((each) => !blocks.includes(each.prefix)) : []
      if (others.length > 0) return mostCounted
      return Math.max(0, (await store.countFree(db, asked, mostCounted + within)) - within)
    },

    /** The large block on sale that an address is in, whose sale may draw it any time. */
    async blockAround(reader: Reader, address: Address): Promise<string | undefined> {
      return (await store.blocksOnSale(reader)).find((text) => {
        const block = readPrefix(text)
        return block !== undefined && block.base.version === address.version && contains(block, address)
      })
    },

    /**
     * Adds a block: written out address by address, or as a block if it is too large for that. Adding twice adds
     * nothing. It is on the nodes named, or on any that proves that it can use it.
     */
    async add(
      prefix: Prefix,
      kind: Kind,
      onProgress: (done: number) => void = () => {},
      homes: readonly string[] = [],
    ): Promise<number> {
      if (sizeOf(prefix) <= mostWrittenOut) return addAddresses(scattered(prefix), kind, onProgress, homes)
      const id = await ranges.nextId()
      return db.transact(async (tx) => {
        if (!(await store.insertPrefix(tx, formatPrefix(prefix), kind, clock()))) return 0
        if (await store.hasExitWithin(tx, prefix)) throw soldElsewhere()
        await ranges.addBlock(tx, prefix, id, homes)
        return 1
      })
    },

    addAddresses,

    /** Whether a large block is in stock, whoever carries it. */
    hasBlock: (prefix: Prefix): Promise<boolean> => store.hasPrefix(db, formatPrefix(prefix)),
  }

  /**
   * Adds addresses in chunks of one transaction each. A shared address's slots come one after all others' first. Nodes
   * hear of their ranges when all are in. What an import of the same that was broken off has left is finished with it.
   */
  async function addAddresses(
    addresses: Iterable<string>,
    kind: Kind,
    onProgress: (done: number) => void = () => {},
    homes: readonly string[] = [],
  ): Promise<number> {
    const all = [...addresses]
    await ranges.unfinished.untilNobodyAdds(all)
    const known = await store.existing(db, all)
    const unknown = all.filter((each) => !known.has(each))
    const left = await ranges.unfinished.leftBehind(all, unknown)
    const wished = await ranges.plan(
      unknown.filter((each) => left.byAddress(each) === undefined),
      homes,
    )
    const begun = await ranges.begin(wished)
    const rangeOf: Planned['byAddress'] = (address) => left.byAddress(address) ?? begun.byAddress(address)
    try {
      let added = 0
      for (let slot = 0; slot < slotsOf(kind.ipv); slot += 1) {
        for (let at = 0; at < all.length; at += importChunk) {
          added += await addChunk(all.slice(at, at + importChunk), slot, kind, rangeOf)
          onProgress(added)
        }
      }
      await ranges.open(begun)
      await ranges.unfinished.finish(left, homes)
      counts.clear()
      return added
    } catch (error) {
      if (!(error instanceof ConstraintViolation)) throw error
      await db.transact(async (tx) => ranges.cancel(tx, wished, begun))
      throw soldElsewhere()
    }
  }

  async function addChunk(chunk: readonly string[], slot: number, kind: Kind, rangeOf: Planned['byAddress']) {
    const ids = await deps.placeIds.take(chunk.length)
    return db.transact(async (tx) => {
      const there = await store.existing(tx, chunk)
      // The first slot of an address that is another kind's is taken; the other slots must not be sold beside it.
      const others = slot === 0 ? new Set<string>() : await store.ofOtherKind(tx, chunk, kind)
      const places = chunk.flatMap((address, index): store.NewPlace[] => {
        if (others.has(address)) return []
        // A slot is on the node that its address is on.
        const where = there.get(address) ?? { range: rangeOf(address) ?? null, carrier: null }
        return [{ id: ids[index] ?? 0, address, slot, ...kind, state: 'free', ...where }]
      })
      return store.insertPlaces(tx, places)
    })
  }

  async function countNow(kind: Kind): Promise<number> {
    const carriers = await ranges.live()
    if (carriers.length === 0) return 0
    const asked = { kind, carriers, unprovenAt: await ranges.unprovenAt() }
    if (kind.ipv === 6 && (await store.blocksOf(db, asked)).length > 0) return mostCounted
    return store.countFree(db, asked, mostCounted)
  }
}
