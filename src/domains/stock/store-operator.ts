import { chunked, list, numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Ipv, PlaceState, WalkedLease } from './rules.ts'
import type { NewPlace } from './store.ts'

export type PlaceRecord = NewPlace & {
  readonly restUntil: number | null
  readonly retiring: boolean
  /** The node that its holder knows of. */
  readonly knownCarrier: string | null
}

type Row = {
  id: bigint
  address: string
  slot: bigint
  country: string
  ipv: bigint
  state: string
  rest_until: bigint | null
  retiring: bigint
  range_id: bigint | null
  carrier: string | null
  known_carrier: string | null
}

const toRecord = (row: Row): PlaceRecord => ({
  id: Number(row.id),
  address: row.address,
  slot: Number(row.slot),
  country: row.country,
  ipv: Number(row.ipv) as Ipv,
  state: row.state as PlaceState,
  restUntil: numberOrNull(row.rest_until),
  retiring: row.retiring === 1n,
  range: numberOrNull(row.range_id),
  carrier: row.carrier,
  knownCarrier: row.known_carrier,
})

/** A page of places in the order they are sold. An empty text asks for every country or state. */
export async function listPlaces(
  reader: Reader,
  filter: { country: string; ipv: number; state: string; after: number; limit: number },
): Promise<PlaceRecord[]> {
  const rows = await reader.all<Row>(
    `SELECT * FROM stock
     WHERE id > $1 AND ($2 = '' OR country = $2) AND ($3 = 0 OR ipv = $3) AND ($4 = '' OR state = $4)
     ORDER BY id LIMIT $5`,
    [filter.after, filter.country, filter.ipv, filter.state, filter.limit],
  )
  return rows.map(toRecord)
}

/** Every place is in exactly one of these counts. */
export async function countByState(
  reader: Reader,
): Promise<{ country: string; ipv: number; state: PlaceState; count: number }[]> {
  const rows = await reader.all<{ country: string; ipv: bigint; state: string; n: bigint }>(
    'SELECT country, ipv, state, COUNT(*) AS n FROM stock GROUP BY country, ipv, state ORDER BY country, ipv, state',
  )
  return rows.map((row) => ({
    country: row.country,
    ipv: Number(row.ipv),
    state: row.state as PlaceState,
    count: Number(row.n),
  }))
}

/** Blocks that are not written out. */
export async function listPrefixes(
  reader: Reader,
): Promise<{ prefix: string; country: string; carrier: string | null; addedAt: number; retiredAt: number | null }[]> {
  type BlockRow = {
    prefix: string
    country: string
    carrier: string | null
    added_at: bigint
    retired_at: bigint | null
  }
  const rows = await reader.all<BlockRow>(
    'SELECT prefix, country, carrier, added_at, retired_at FROM stock_prefixes ORDER BY country, prefix',
  )
  return rows.map((row) => ({
    prefix: row.prefix,
    country: row.country,
    carrier: row.carrier,
    addedAt: Number(row.added_at),
    retiredAt: numberOrNull(row.retired_at),
  }))
}

/** A free or resting place retires at once, a leased one when its lease ends. Tells how many places the address has. */
export async function retire(tx: Tx, address: string): Promise<number> {
  return tx.run(
    `UPDATE stock SET retiring = 1,
       state = CASE WHEN state = 'leased' THEN state ELSE 'retired' END,
       rest_until = NULL
     WHERE address = $1`,
    [address],
  )
}

/** Takes a retirement back; what was retired is free again. */
export async function restore(tx: Tx, address: string): Promise<number> {
  return tx.run(
    `UPDATE stock SET retiring = 0, state = CASE WHEN state = 'retired' THEN 'free' ELSE state END WHERE address = $1`,
    [address],
  )
}

/**
 * Keeps a free place from being sold until a moment, or until later if it rests already. A leased one is left to its
 * holder.
 */
export async function quarantine(tx: Tx, address: string, untilAt: number): Promise<number> {
  return tx.run(
    `UPDATE stock SET state = 'resting', rest_until = CASE WHEN rest_until > $2 THEN rest_until ELSE $2 END
     WHERE address = $1 AND state IN ('free', 'resting')`,
    [address, untilAt],
  )
}

export async function retirePrefix(tx: Tx, prefix: string, nowMs: number): Promise<boolean> {
  return (
    (await tx.run('UPDATE stock_prefixes SET retired_at = $2 WHERE prefix = $1 AND retired_at IS NULL', [
      prefix,
      nowMs,
    ])) === 1
  )
}

export async function restorePrefix(tx: Tx, prefix: string): Promise<boolean> {
  return (
    (await tx.run('UPDATE stock_prefixes SET retired_at = NULL WHERE prefix = $1 AND retired_at IS NOT NULL', [
      prefix,
    ])) === 1
  )
}

/** Places that are leased without an open lease, or have one without being leased. */
export async function disagreements(reader: Reader, most: number): Promise<{ place: number; state: string }[]> {
  const rows = await reader.all<{ id: bigint; state: string }>(
    `SELECT stock.id, stock.state FROM stock
     LEFT JOIN leases ON leases.place_id = stock.id AND leases.ended_at IS NULL
     WHERE (stock.state = 'leased') <> (leases.place_id IS NOT NULL) LIMIT $1`,
    [most],
  )
  return rows.map((row) => ({ place: Number(row.id), state: row.state }))
}

/** Addresses that are in stock as two kinds at once, and so could be sold as one's own and as shared. */
export async function mixedAddresses(reader: Reader, most: number): Promise<string[]> {
  const rows = await reader.all<{ address: string }>(
    `SELECT address FROM stock GROUP BY address HAVING MIN(ipv) <> MAX(ipv) OR MIN(country) <> MAX(country) LIMIT $1`,
    [most],
  )
  return rows.map((row) => row.address)
}

/** Leases that began before the one before them on the same place had ended, and leases of no place. */
export async function overlaps(reader: Reader, most: number): Promise<number[]> {
  const rows = await reader.all<{ place_id: bigint }>(
    `SELECT place_id FROM (
       SELECT place_id, started_at,
         LAG(COALESCE(ended_at, 9223372036854775807)) OVER (PARTITION BY place_id ORDER BY started_at) AS before_ended
       FROM leases) AS walked
     WHERE before_ended > started_at
     UNION ALL SELECT place_id FROM leases WHERE NOT EXISTS (SELECT 1 FROM stock WHERE stock.id = leases.place_id)
     LIMIT $1`,
    [most],
  )
  return rows.map((row) => Number(row.place_id))
}

/** Places that may be leased from another moment on than the end of the last lease that they had. */
export async function misdated(reader: Reader, most: number): Promise<number[]> {
  const rows = await reader.all<{ id: bigint }>(
    `SELECT id FROM stock WHERE free_from <>
       COALESCE((SELECT MAX(ended_at) FROM leases WHERE leases.place_id = stock.id), 0) ORDER BY id LIMIT $1`,
    [most],
  )
  return rows.map((row) => Number(row.id))
}

type LeaseRow = {
  place_id: bigint
  proxy_id: bigint
  started_at: bigint
  ended_at: bigint | null
  free_from: bigint
  address: string
  country: string
  ipv: bigint
}

export async function leasesOf(
  reader: Reader,
  proxy: number,
): Promise<{ address: string; startedAt: number; endedAt: number | null }[]> {
  const rows = await reader.all<{ address: string; started_at: bigint; ended_at: bigint | null }>(
    `SELECT stock.address, leases.started_at, leases.ended_at FROM leases JOIN stock ON stock.id = leases.place_id
     WHERE leases.proxy_id = $1 ORDER BY leases.started_at, leases.ended_at IS NULL, leases.ended_at`,
    [proxy],
  )
  return rows.map((row) => ({
    address: row.address,
    startedAt: Number(row.started_at),
    endedAt: numberOrNull(row.ended_at),
  }))
}

/**
 * Who held an address between two moments, both included, the oldest first. A lease is over at the moment of its end:
 * whoever has the address from then on is the next one, and never both.
 */
export async function holdersBetween(
  reader: Reader,
  address: string,
  from: number,
  to: number,
): Promise<{ proxy: number; startedAt: number; endedAt: number | null }[]> {
  const rows = await reader.all<{ proxy_id: bigint; started_at: bigint; ended_at: bigint | null }>(
    `SELECT leases.proxy_id, leases.started_at, leases.ended_at FROM stock JOIN leases ON leases.place_id = stock.id
     WHERE stock.address = $1 AND leases.started_at <= $3 AND (leases.ended_at IS NULL OR leases.ended_at > $2)
     ORDER BY leases.started_at, leases.proxy_id LIMIT 1000`,
    [address, from, to],
  )
  return rows.map((row) => ({
    proxy: Number(row.proxy_id),
    startedAt: Number(row.started_at),
    endedAt: numberOrNull(row.ended_at),
  }))
}

/** Every lease there ever was, place after place, a page at a time. */
export async function leasesAfter(
  reader: Reader,
  after: { readonly place: number; readonly startedAt: number },
  limit: number,
): Promise<WalkedLease[]> {
  const rows = await reader.all<LeaseRow>(
    `SELECT leases.place_id, leases.proxy_id, leases.started_at, leases.ended_at, stock.address, stock.country,
       stock.ipv, COALESCE((SELECT MAX(ended_at) FROM leases AS earlier
         WHERE earlier.place_id = leases.place_id AND earlier.started_at < leases.started_at), 0) AS free_from
     FROM leases JOIN stock ON stock.id = leases.place_id
     WHERE (leases.place_id, leases.started_at) > ($1, $2) ORDER BY leases.place_id, leases.started_at LIMIT $3`,
    [after.place, after.startedAt, limit],
  )
  return rows.map((row) => ({
    place: Number(row.place_id),
    proxy: Number(row.proxy_id),
    startedAt: Number(row.started_at),
    endedAt: row.ended_at === null ? null : Number(row.ended_at),
    freeFromAt: Number(row.free_from),
    address: row.address,
    country: row.country,
    ipv: Number(row.ipv),
  }))
}

/** Every place there is, a page at a time, to look at it by itself. */
export async function placesAfter(reader: Reader, after: number, limit: number): Promise<PlaceRecord[]> {
  const rows = await reader.all<Row>('SELECT * FROM stock WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])
  return rows.map(toRecord)
}

/** The places of these addresses. */
export async function placesOf(reader: Reader, addresses: readonly string[]): Promise<PlaceRecord[]> {
  const found: PlaceRecord[] = []
  for (const chunk of chunked(addresses)) {
    const rows = await reader.all<Row>(
      `SELECT * FROM stock WHERE address IN (${list(chunk.length)}) ORDER BY id`,
      chunk,
    )
    found.push(...rows.map(toRecord))
  }
  return found
}

/** Who holds these places now. */
export async function holdersOf(
  reader: Reader,
  places: readonly number[],
): Promise<{ place: number; proxy: number }[]> {
  const found: { place: number; proxy: number }[] = []
  for (const chunk of chunked(places)) {
    const rows = await reader.all<{ place_id: bigint; proxy_id: bigint }>(
      `SELECT place_id, proxy_id FROM leases WHERE ended_at IS NULL AND place_id IN (${list(chunk.length)})`,
      chunk,
    )
    found.push(...rows.map((row) => ({ place: Number(row.place_id), proxy: Number(row.proxy_id) })))
  }
  return found
}

/** The same as for one address: what is free or rests retires at once, what is leased when its lease ends. */
export function retirePlaces(tx: Tx, places: readonly number[]): void {
  for (const chunk of chunked(places)) {
    tx.send(
      `UPDATE stock SET retiring = 1, rest_until = NULL,
         state = CASE WHEN state = 'leased' THEN state ELSE 'retired' END
       WHERE id IN (${list(chunk.length)})`,
      chunk,
    )
  }
}

export function restorePlaces(tx: Tx, places: readonly number[]): void {
  for (const chunk of chunked(places)) {
    tx.send(
      `UPDATE stock SET retiring = 0, state = CASE WHEN state = 'retired' THEN 'free' ELSE state END
       WHERE id IN (${list(chunk.length)})`,
      chunk,
    )
  }
}

/** What is free rests, and no rest here ends before the quarantine does. What is leased stays its holder's. */
export function setQuarantined(tx: Tx, places: readonly number[], nowMs: number): void {
  for (const chunk of chunked(places)) {
    tx.send(
      `UPDATE stock SET quarantined = 1, rest_until = CASE WHEN state = 'free' THEN $1 ELSE rest_until END,
         state = CASE WHEN state = 'free' THEN 'resting' ELSE state END
       WHERE id IN (${list(chunk.length, 1)})`,
      [nowMs, ...chunk],
    )
  }
}

export function endQuarantine(tx: Tx, places: readonly number[]): void {
  for (const chunk of chunked(places)) {
    tx.send(`UPDATE stock SET quarantined = 0 WHERE id IN (${list(chunk.length)})`, chunk)
  }
}

export function setBlockQuarantined(tx: Tx, prefix: string, quarantined: boolean): void {
  tx.send('UPDATE stock_prefixes SET quarantined = $2 WHERE prefix = $1', [prefix, quarantined ? 1 : 0])
}

/** Addresses that two products sell at once, which a trigger keeps from happening. */
export async function soldTwice(reader: Reader, most: number): Promise<string[]> {
  const rows = await reader.all<{ address: string }>(
    `SELECT DISTINCT stock.address FROM exits JOIN stock ON stock.address = exits.host
     WHERE exits.kind = 'local' AND exits.drained_at IS NULL AND stock.state <> 'retired'
     ORDER BY stock.address LIMIT $1`,
    [most],
  )
  return rows.map((row) => row.address)
}
