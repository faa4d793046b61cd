import type { Counter, Database, Reader, Tx } from '../../db/transaction.ts'
import { formatAddress, formatPrefix, type Prefix, readPrefix } from '../../kernel/address.ts'
import type { RandomBytes } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/time.ts'
import { outOfStock } from './errors.ts'
import { type Kind, mostWrittenOut, type Place, randomAddress, scattered, sizeOf, slotsOf } from './rules.ts'
import * as store from './store.ts'

/** Past this many the count of what is free is not exact. */
const mostCounted = 20_000
const countRememberedMs = 1_000
const importChunk = 4_000
const mintAttempts = 20
const lastId = Number.MAX_SAFE_INTEGER

export type Stock = ReturnType<typeof createStock>

export function createStock(deps: { db: Database; clock: Clock; random: RandomBytes; placeIds: Counter }) {
  const { db, clock } = deps
  /** Where the last sale of each kind ended: the next one begins there and need not pass what is sold. */
  const cursors = new Map<string, number>()
  const counts = new Map<string, { count: Promise<number>; askedAt: number }>()

  const nameOf = (kind: Kind): string => `${kind.country} ${kind.ipv}`

  /**
   * Looks for places after the cursor, and once more from the beginning for what is missing. The cursor moves on before
   * the answer is there, so that sales at the same moment look in different places.
   */
  async function lookAround(tx: Tx, kind: Kind, count: number): Promise<Place[]> {
    const name = nameOf(kind)
    const cursor = cursors.get(name) ?? 0
    cursors.set(name, cursor + count)
    const ahead = await store.lockFree(tx, kind, { after: cursor, upto: lastId }, count, 'pass over')
    const missing = count - ahead.length
    const behind =
      missing > 0 && cursor > 0 ? await store.lockFree(tx, kind, { after: 0, upto: cursor }, missing, 'pass over') : []
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
  async function takeNext(tx: Tx, kind: Kind): Promise<Place[]> {
    const name = nameOf(kind)
    const cursor = cursors.get(name) ?? 0
    cursors.set(name, cursor + 1)
    const place = await store.leaseNext(tx, kind, cursor)
    if (place && place.id > (cursors.get(name) ?? 0)) cursors.set(name, place.id)
    return place ? [place] : []
  }

  /** What nobody else is looking at, from where the last sale ended. */
  async function takeAtOnce(tx: Tx, kind: Kind, count: number, held: ReadonlySet<string>): Promise<Place[]> {
    const next = count === 1 && kind.ipv !== 3 ? await takeNext(tx, kind) : []
    if (next.length > 0) return next
    return choose(tx, await lookAround(tx, kind, wanted(kind, count, held)), count, held)
  }

  /**
   * What others were looking at and have left, so that nobody is refused for the sake of a sale that came to nothing.
   */
  async function takeInTurn(tx: Tx, kind: Kind, count: number, held: ReadonlySet<string>): Promise<Place[]> {
    const all = { after: 0, upto: lastId }
    return choose(tx, await store.lockFree(tx, kind, all, wanted(kind, count, held), 'wait'), count, held)
  }

  /** New places out of large blocks, each block taking its turn. */
  async function mint(tx: Tx, kind: Kind, ids: readonly number[]): Promise<Place[]> {
    const prefixes = (await store.prefixesOf(tx, kind)).map(readPrefix).filter((each) => each !== undefined)
    if (prefixes.length === 0) return []
    const addresses = new Set<string>()
    for (let attempt = 0; attempt < mintAttempts && addresses.size < ids.length; attempt += 1) {
      const drawn = new Set<string>()
      for (let index = addresses.size; index < ids.length; index += 1) {
        const prefix = prefixes[index % prefixes.length]
        if (prefix) drawn.add(formatAddress(randomAddress(prefix, deps.random)))
      }
      const known = await store.existing(tx, [...drawn])
      for (const address of drawn) if (!known.has(address)) addresses.add(address)
    }
    const places = [...addresses].map((address, index) => ({ id: ids[index] ?? 0, address, freeFrom: 0 }))
    store.mintPlaces(tx, places, kind)
    return places
  }

  return {
    /** Numbers for places that may have to be minted, fetched before the transaction begins. */
    spareIds: async (kind: Kind, count: number): Promise<number[]> => (kind.ipv === 6 ? deps.placeIds.take(count) : []),

    /**
     * Takes places for a customer or refuses, saying how many there are. `held` are addresses the customer has already.
     */
    async take(
      tx: Tx,
      kind: Kind,
      count: number,
      held: ReadonlySet<string>,
      spareIds: readonly number[],
    ): Promise<Place[]> {
      const places = await takeAtOnce(tx, kind, count, held)
      if (places.length < count) places.push(...(await mint(tx, kind, spareIds.slice(0, count - places.length))))
      if (places.length < count) {
        const have = new Set([...held, ...places.map((place) => place.address)])
        places.push(...(await takeInTurn(tx, kind, count - places.length, have)))
      }
      if (places.length < count) throw outOfStock(places.length)
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

    /** How many are free, exact up to 20,000, at most a second old. */
    available(kind: Kind): Promise<number> {
      const nowMs = clock()
      const known = counts.get(nameOf(kind))
      if (known && Math.abs(nowMs - known.askedAt) < countRememberedMs) return known.count
      const count = countNow(db, kind)
      counts.set(nameOf(kind), { count, askedAt: nowMs })
      count.catch(() => counts.delete(nameOf(kind)))
      return count
    },

    /**
     * Adds a block: written out address by address, or as a block if it is too large for that. Adding twice adds
     * nothing.
     */
    async add(prefix: Prefix, kind: Kind, onProgress: (done: number) => void = () => {}): Promise<number> {
      if (sizeOf(prefix) > mostWrittenOut) {
        return (await db.transact((tx) => store.insertPrefix(tx, formatPrefix(prefix), kind, clock()))) ? 1 : 0
      }
      return addAddresses(scattered(prefix), kind, onProgress)
    },

    addAddresses,
  }

  /** Adds addresses in chunks of one transaction each. A shared address's slots come one after all others' first. */
  async function addAddresses(
    addresses: Iterable<string>,
    kind: Kind,
    onProgress: (done: number) => void = () => {},
  ): Promise<number> {
    const all = [...addresses]
    let added = 0
    for (let slot = 0; slot < slotsOf(kind.ipv); slot += 1) {
      for (let at = 0; at < all.length; at += importChunk) {
        const chunk = all.slice(at, at + importChunk)
        const ids = await deps.placeIds.take(chunk.length)
        const places = chunk.map((address, index) => ({
          id: ids[index] ?? 0,
          address,
          slot,
          ...kind,
          state: 'free' as const,
        }))
        added += await db.transact(async (tx) => {
          // The first slot of an address that is another kind's is taken; the other slots must not be sold beside it.
          const others = slot === 0 ? new Set<string>() : await store.ofOtherKind(tx, chunk, kind)
          return store.insertPlaces(
            tx,
            places.filter((place) => !others.has(place.address)),
          )
        })
        onProgress(added)
      }
    }
    counts.clear()
    return added
  }
}

async function countNow(reader: Reader, kind: Kind): Promise<number> {
  if (kind.ipv === 6 && (await store.prefixesOf(reader, kind)).length > 0) return mostCounted
  return store.countFree(reader, kind, mostCounted)
}
