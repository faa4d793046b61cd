import { contains, type Prefix, readAddress } from '../../core/address.ts'
import { chunked, list, numberOrNull, padded, runRows, sendRows, writtenOnce } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Ipv, Kind, Place, PlaceState } from './rules.ts'

export type Range = { readonly after: number; readonly upto: number }

/**
 * What is asked for, and the nodes whose addresses may be sold now: at least one. `unprovenAt` is the moment at which
 * proofs of ranges count, where a node lacks one; else nothing, and no statement asks for proofs.
 */
export type Asked = {
  readonly kind: Kind
  readonly carriers: readonly string[]
  readonly unprovenAt?: number | undefined
}

type PlaceRow = { id: bigint; address: string; free_from: bigint; carrier: string | null }

const toPlace = (row: PlaceRow): Place => ({
  id: Number(row.id),
  address: row.address,
  freeFrom: Number(row.free_from),
  carrier: row.carrier,
})

/**
 * What is free is sold while one of these nodes carries it. Nobody's and a dead node's are passed over, and so is what
 * is on no named gateway and whose carrier's proof has ended. The values are those of `carrying`.
 */
function carriedBy({ carriers, unprovenAt }: Asked, after: number, range = 'stock.range_id'): string {
  const count = padded(carriers).length
  const isThere = `carrier IN (${list(count, after)})`
  if (unprovenAt === undefined) return isThere
  return `${isThere} AND NOT EXISTS (
    SELECT 1 FROM stock_trials JOIN stock_ranges AS unproven ON unproven.id = stock_trials.range_id
    WHERE stock_trials.range_id = ${range} AND stock_trials.node_id = carrier
      AND unproven.homes = '' AND stock_trials.proof_until <= $${after + count + 1})`
}

const carrying = ({ carriers, unprovenAt }: Asked): readonly (string | number)[] =>
  unprovenAt === undefined ? padded(carriers) : [...padded(carriers), unprovenAt]

/**
 * What becomes of a place that another sale is looking at, on PostgreSQL: it is passed over, or its end is awaited.
 * Nobody gets the same one either way, because its row is locked and changes state.
 */
export type Patience = 'pass over' | 'wait'
const lockOf = { 'pass over': 'FOR UPDATE SKIP LOCKED', wait: 'FOR UPDATE' } as const

/**
 * Free places of a kind that one of these nodes carries, in the order of their numbers, their rows held until the
 * transaction ends. Compared as a whole, the three columns leave PostgreSQL no other way than the index of what is
 * free, however much has been sold.
 */
export async function lockFree(
  tx: Tx,
  asked: Asked,
  range: Range,
  count: number,
  patience: Patience,
): Promise<Place[]> {
  const { kind } = asked
  const rows = await tx.all<PlaceRow>(
    `SELECT id, address, free_from, carrier FROM stock
     WHERE state = 'free' AND (country, ipv, id) > ($1, $2, $3) AND (country, ipv, id) <= ($1, $2, $4)
       AND ${carriedBy(asked, 5)}
     ORDER BY country, ipv, id LIMIT $5 ${lockOf[patience]}`,
    [kind.country, kind.ipv, range.after, range.upto, count, ...carrying(asked)],
  )
  return rows.map(toPlace)
}

/**
 * The next free place of a kind, taken in the same statement that finds it. What somebody else is looking at is passed
 * over.
 */
export async function leaseNext(tx: Tx, { kind, carriers }: Asked, after: number): Promise<Place | undefined> {
  const among = padded(carriers)
  const values = [kind.country, kind.ipv, after, Number.MAX_SAFE_INTEGER, ...among]
  const row = await tx.first<PlaceRow>(leaseNextText(among.length), values)
  return row && toPlace(row)
}

const leaseNextText = writtenOnce(
  (carriers) =>
    `UPDATE stock SET state = 'leased', known_carrier = carrier WHERE state = 'free' AND id = (
       SELECT id FROM stock
       WHERE state = 'free' AND (country, ipv, id) > ($1, $2, $3) AND (country, ipv, id) <= ($1, $2, $4)
         AND carrier IN (${list(carriers, 4)})
       ORDER BY country, ipv, id LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING id, address, free_from, carrier`,
)

/** Nobody else can have taken them: their rows are held. */
export function setLeased(tx: Tx, ids: readonly number[]): void {
  for (const chunk of chunked(ids)) {
    tx.send(
      `UPDATE stock SET state = 'leased', known_carrier = carrier
       WHERE state = 'free' AND id IN (${list(chunk.length)})`,
      chunk,
    )
  }
}

/** The unique index on an open lease is what makes a double sale impossible, whatever the code above it does. */
export function openLeases(tx: Tx, leases: readonly { place: number; startedAt: number; proxy: number }[]): void {
  sendRows(
    tx,
    'INSERT INTO leases (place_id, started_at, proxy_id)',
    leases.map((lease) => [lease.place, lease.startedAt, lease.proxy]),
  )
}

/**
 * Ends a place's lease, after it began however late the clock says it is, and tells when that was; undefined if it has
 * none.
 */
export async function endLease(tx: Tx, place: number, endedAt: number): Promise<number | undefined> {
  const row = await tx.first<{ ended_at: bigint }>(
    `UPDATE leases SET ended_at = CASE WHEN started_at < $2 THEN $2 ELSE started_at + 1 END
     WHERE place_id = $1 AND ended_at IS NULL RETURNING ended_at`,
    [place, endedAt],
  )
  return row && Number(row.ended_at)
}

/** A place whose lease has ended rests, or retires if the operator has asked for that meanwhile. */
export function setResting(tx: Tx, place: { id: number; freeFrom: number; restUntil: number }): void {
  tx.send(
    `UPDATE stock SET
       state = CASE WHEN retiring = 1 THEN 'retired' ELSE 'resting' END,
       rest_until = CASE WHEN retiring = 1 THEN NULL ELSE $2 END,
       known_carrier = NULL,
       free_from = $3
     WHERE id = $1 AND state = 'leased'`,
    [place.id, place.restUntil, place.freeFrom],
  )
}

/** Ends the rest of a bounded number of places whose time has come. */
export async function endRest(tx: Tx, nowMs: number, most: number): Promise<number> {
  return tx.run(
    `UPDATE stock SET state = 'free', rest_until = NULL WHERE state = 'resting' AND id IN (
       SELECT id FROM stock WHERE state = 'resting' AND rest_until <= $1 AND quarantined = 0
       ORDER BY rest_until LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    [nowMs, most],
  )
}

export type NewPlace = {
  readonly id: number
  readonly address: string
  readonly slot: number
  readonly country: string
  readonly ipv: Ipv
  readonly state: PlaceState
  readonly range: number | null
  readonly carrier: string | null
}

/** Adds places; one that is there already stays as it is. Tells how many were new. */
export async function insertPlaces(tx: Tx, places: readonly NewPlace[]): Promise<number> {
  return runRows(
    tx,
    'INSERT INTO stock (id, address, slot, country, ipv, state, retiring, range_id, carrier)',
    places.map((each) => [
      each.id,
      each.address,
      each.slot,
      each.country,
      each.ipv,
      each.state,
      0,
      each.range,
      each.carrier,
    ]),
    'ON CONFLICT (address, slot) DO NOTHING',
  )
}

/**
 * Mints places from a large block. A clash with a place that exists makes the transaction fail on the unique address.
 */
export function mintPlaces(tx: Tx, places: readonly (Place & { readonly range: number })[], kind: Kind): void {
  sendRows(
    tx,
    'INSERT INTO stock (id, address, slot, country, ipv, state, retiring, range_id, carrier, known_carrier)',
    places.map(({ id, address, range, carrier }) => [
      id,
      address,
      0,
      kind.country,
      kind.ipv,
      'leased',
      0,
      range,
      carrier,
      carrier,
    ]),
  )
}

/** Which of these addresses are in stock, with their range and who carries them. */
export async function existing(
  reader: Reader,
  addresses: readonly string[],
): Promise<Map<string, { range: number | null; carrier: string | null }>> {
  const found = new Map<string, { range: number | null; carrier: string | null }>()
  for (const chunk of chunked(addresses)) {
    const rows = await reader.all<{ address: string; range_id: bigint | null; carrier: string | null }>(
      `SELECT address, range_id, carrier FROM stock WHERE slot = 0 AND address IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) found.set(row.address, { range: numberOrNull(row.range_id), carrier: row.carrier })
  }
  return found
}

/** Which of these addresses are in stock as something else: in another country, or as an address of one's own. */
export async function ofOtherKind(reader: Reader, addresses: readonly string[], kind: Kind): Promise<Set<string>> {
  const found = new Set<string>()
  for (const chunk of chunked(addresses)) {
    const rows = await reader.all<{ address: string }>(
      `SELECT address FROM stock
       WHERE slot = 0 AND (country <> $1 OR ipv <> $2) AND address IN (${list(chunk.length, 2)})`,
      [kind.country, kind.ipv, ...chunk],
    )
    for (const row of rows) found.add(row.address)
  }
  return found
}

export type Block = { readonly prefix: string; readonly range: number; readonly carrier: string }

/** The large blocks of a kind that one of these nodes carries. */
export async function blocksOf(reader: Reader, asked: Asked): Promise<Block[]> {
  const { kind } = asked
  const rows = await reader.all<{ prefix: string; range_id: bigint; carrier: string }>(
    `SELECT stock_prefixes.prefix, stock_ranges.id AS range_id, carrier FROM stock_prefixes
     JOIN stock_ranges ON stock_ranges.prefix = stock_prefixes.prefix AND stock_ranges.state = 'in'
     WHERE country = $1 AND ipv = $2 AND retired_at IS NULL AND quarantined = 0
       AND ${carriedBy(asked, 2, 'stock_ranges.id')}
     ORDER BY stock_prefixes.prefix`,
    [kind.country, kind.ipv, ...carrying(asked)],
  )
  return rows.map((row) => ({ prefix: row.prefix, range: Number(row.range_id), carrier: row.carrier }))
}

/** Which of these addresses are exits of premium pools, which nobody gets as his own. */
export async function exitsAmong(reader: Reader, addresses: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for (const chunk of chunked(addresses)) {
    const rows = await reader.all<{ host: string }>(
      `SELECT host FROM exits WHERE kind = 'local' AND drained_at IS NULL AND host IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) found.add(row.host)
  }
  return found
}

/** Whether an exit leaves from an address of a prefix. */
export async function hasExitWithin(reader: Reader, prefix: Prefix): Promise<boolean> {
  const rows = await reader.all<{ host: string }>(`SELECT host FROM exits WHERE kind = 'local' AND drained_at IS NULL`)
  return rows.some(({ host }) => {
    const address = readAddress(host)
    return address !== undefined && address.version === prefix.base.version && contains(prefix, address)
  })
}

/** The large blocks that are not retired. */
export async function blocksOnSale(reader: Reader): Promise<string[]> {
  const rows = await reader.all<{ prefix: string }>(
    'SELECT prefix FROM stock_prefixes WHERE retired_at IS NULL ORDER BY prefix',
  )
  return rows.map((row) => row.prefix)
}

export async function hasPrefix(reader: Reader, prefix: string): Promise<boolean> {
  return (await reader.first('SELECT 1 AS one FROM stock_prefixes WHERE prefix = $1', [prefix])) !== undefined
}

export async function insertPrefix(tx: Tx, prefix: string, kind: Kind, nowMs: number): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO stock_prefixes (prefix, country, ipv, added_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (prefix) DO NOTHING`,
    [prefix, kind.country, kind.ipv, nowMs],
  )
  return added === 1
}

/**
 * How many are free that one of these nodes carries, counted no further than `most`: past that the exact number helps
 * nobody and costs time.
 */
export async function countFree(reader: Reader, asked: Asked, most: number): Promise<number> {
  const { kind } = asked
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM (
       SELECT 1 FROM stock WHERE country = $1 AND ipv = $2 AND state = 'free' AND ${carriedBy(asked, 3)}
       LIMIT $3) AS counted`,
    [kind.country, kind.ipv, most, ...carrying(asked)],
  )
  return Number(row?.n ?? 0n)
}
