import { chunked, list, numberOrNull, padded, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { Problem, Range, Run, Trial } from './rules.ts'

type RangeRow = {
  id: bigint
  prefix: string
  homes: string
  state: string
  created_at: bigint
  changed_at: bigint
}

const toRange = (row: RangeRow): Range => ({
  id: Number(row.id),
  prefix: row.prefix,
  homes: row.homes === '' ? [] : row.homes.split(' '),
  state: row.state as Range['state'],
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
})

const writeHomes = (homes: readonly string[]): string => [...new Set(homes)].toSorted().join(' ')

type TrialRow = {
  node_id: string
  range_id: bigint
  served: string
  problems: string
  seen_as: string | null
  changed_at: bigint
  proven_from: string | null
  proven_at: bigint | null
  proof_until: bigint
}

const toTrial = (row: TrialRow): Trial => ({
  node: row.node_id,
  range: Number(row.range_id),
  served: JSON.parse(row.served) as Run[],
  problems: JSON.parse(row.problems) as Problem[],
  seenAs: row.seen_as,
  changedAt: Number(row.changed_at),
  provenFrom: row.proven_from,
  provenAt: numberOrNull(row.proven_at),
  proofUntil: Number(row.proof_until),
})

/** A prefix that somebody else has just added stays his: there is one range of it, whichever process adds it. */
export function insertRanges(tx: Tx, ranges: readonly Range[]): void {
  sendRows(
    tx,
    'INSERT INTO stock_ranges (id, prefix, homes, state, created_at, changed_at)',
    ranges.map((each) => [each.id, each.prefix, writeHomes(each.homes), each.state, each.createdAt, each.changedAt]),
    `ON CONFLICT (prefix) WHERE state <> 'gone' DO NOTHING`,
  )
}

/** The ranges with these prefixes, by prefix. */
export async function rangesWith(reader: Reader, prefixes: readonly string[]): Promise<Map<string, Range>> {
  const found = new Map<string, Range>()
  for (const chunk of chunked(prefixes)) {
    const rows = await reader.all<RangeRow>(
      `SELECT * FROM stock_ranges WHERE state <> 'gone' AND prefix IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) found.set(row.prefix, toRange(row))
  }
  return found
}

/** From this commit on nodes are told of them, or told to let them go. */
export function setState(tx: Tx, ids: readonly number[], state: Range['state'], nowMs: number): void {
  for (const chunk of chunked(ids)) {
    tx.send(`UPDATE stock_ranges SET state = $1, changed_at = $2 WHERE id IN (${list(chunk.length, 2)})`, [
      state,
      nowMs,
      ...chunk,
    ])
  }
}

export function setHomes(tx: Tx, id: number, homes: readonly string[], nowMs: number): void {
  tx.send('UPDATE stock_ranges SET homes = $2, changed_at = $3 WHERE id = $1', [id, writeHomes(homes), nowMs])
}

/** Of ranges that nobody was told of: their places were never on sale. */
export function deletePlaces(tx: Tx, ranges: readonly number[]): void {
  for (const chunk of chunked(ranges)) {
    tx.send(`DELETE FROM stock WHERE state = 'free' AND carrier IS NULL AND range_id IN (${list(chunk.length)})`, chunk)
  }
}

export async function listRanges(reader: Reader): Promise<Range[]> {
  const rows = await reader.all<RangeRow>(`SELECT * FROM stock_ranges WHERE state <> 'gone' ORDER BY id`)
  return rows.map(toRange)
}

/** What changed after a position, oldest change first; what is in, or what is gone too, so that a node lets it go. */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: number },
  limit: number,
  inOnly: boolean,
): Promise<Range[]> {
  const rows = await reader.all<RangeRow>(
    `SELECT * FROM stock_ranges WHERE (changed_at, id) > ($1, $2) AND ${inOnly ? `state = 'in'` : `state <> 'coming'`}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map(toRange)
}

/** Differs from what it was whenever something changed at `sinceAt` or later. */
export async function changeMark(reader: Reader, sinceAt: number): Promise<string> {
  const row = await reader.first<{ n: bigint; sum: bigint }>(
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) AS sum
     FROM stock_ranges WHERE changed_at >= $1`,
    [sinceAt],
  )
  return `${row?.n} ${row?.sum}`
}

/**
 * What all nodes have said of these ranges, whose rows stay locked: of two nodes that claim at once one is first.
 * Locked in one order, so that two never wait for each other.
 */
export async function lockRanges(tx: Tx, ids: readonly number[]): Promise<Map<number, Range>> {
  const found = new Map<number, Range>()
  for (const chunk of chunked(ids.toSorted((a, b) => a - b))) {
    const rows = await tx.all<RangeRow>(
      `SELECT * FROM stock_ranges WHERE id IN (${list(chunk.length)}) ORDER BY id FOR UPDATE`,
      chunk,
    )
    for (const row of rows) found.set(Number(row.id), toRange(row))
  }
  return found
}

/** What all nodes have said of these ranges, by range. */
export async function trialsByRange(reader: Reader, ranges: readonly number[]): Promise<Map<number, Trial[]>> {
  const found: Trial[] = []
  for (const chunk of chunked(ranges)) {
    const rows = await reader.all<TrialRow>(
      `SELECT * FROM stock_trials WHERE range_id IN (${list(chunk.length)}) ORDER BY range_id, node_id`,
      chunk,
    )
    found.push(...rows.map(toTrial))
  }
  return Map.groupBy(found, (each) => each.range)
}

export async function allTrials(reader: Reader): Promise<Trial[]> {
  return (await reader.all<TrialRow>('SELECT * FROM stock_trials ORDER BY range_id, node_id')).map(toTrial)
}

export function writeTrials(tx: Tx, trials: readonly Omit<Trial, 'provenFrom' | 'provenAt' | 'proofUntil'>[]): void {
  sendRows(
    tx,
    'INSERT INTO stock_trials (node_id, range_id, served, problems, seen_as, changed_at)',
    trials.map((each) => [
      each.node,
      each.range,
      JSON.stringify(each.served),
      JSON.stringify(each.problems),
      each.seenAs,
      each.changedAt,
    ]),
    `ON CONFLICT (node_id, range_id) DO UPDATE SET served = excluded.served, problems = excluded.problems,
       seen_as = excluded.seen_as, changed_at = excluded.changed_at`,
  )
}

export function dropTrials(tx: Tx, range: number, nodes: readonly string[]): void {
  if (nodes.length === 0) return
  const named = padded(nodes)
  tx.send(`DELETE FROM stock_trials WHERE range_id = $1 AND node_id IN (${list(named.length, 1)})`, [range, ...named])
}

/** Which places: all of a range, or those at some addresses of it. */
export type Which = { readonly range: number; readonly addresses: readonly string[] | 'all' }

/** Whoever carries them lets them go, which was now; nobody else's are touched. */
export function release(tx: Tx, which: Which, node: string, nowMs: number): void {
  for (const [sql, values] of of(which, 3)) {
    tx.send(`UPDATE stock SET carrier = NULL, lost_at = $3 WHERE range_id = $1 AND carrier = $2 ${sql}`, [
      which.range,
      node,
      nowMs,
      ...values,
    ])
  }
}

/** Takes what nobody carries who still serves. What a live node carries stays with it. */
export function claim(tx: Tx, which: Which, node: string, live: readonly string[]): void {
  const others = padded(live)
  const dead = others.length === 0 ? '' : `OR carrier NOT IN (${list(others.length, 2)})`
  for (const [sql, values] of of(which, 2 + others.length)) {
    tx.send(
      `UPDATE stock SET carrier = $2 WHERE range_id = $1 AND (carrier IS NULL ${
        others.length === 0 ? 'OR carrier <> $2' : dead
      }) ${sql}`,
      [which.range, node, ...others, ...values],
    )
  }
}

/** The same for all places of many ranges. The node itself is among those that serve. */
export function claimAll(tx: Tx, ranges: readonly number[], node: string, live: readonly string[]): void {
  const others = padded(live)
  for (const chunk of chunked(ranges)) {
    tx.send(
      `UPDATE stock SET carrier = $1 WHERE range_id IN (${list(chunk.length, 1 + others.length)})
         AND (carrier IS NULL OR carrier NOT IN (${list(others.length, 1)}))`,
      [node, ...others, ...chunk],
    )
  }
}

function* of(which: Which, after: number): Generator<[sql: string, values: readonly string[]]> {
  if (which.addresses === 'all') yield ['', []]
  else for (const chunk of chunked(which.addresses)) yield [`AND address IN (${list(chunk.length, after)})`, chunk]
}

export function releaseBlock(tx: Tx, prefix: string, node: string): void {
  tx.send('UPDATE stock_prefixes SET carrier = NULL WHERE prefix = $1 AND carrier = $2', [prefix, node])
}

export function claimBlock(tx: Tx, prefix: string, node: string, live: readonly string[]): void {
  const others = padded(live)
  const dead = others.length === 0 ? 'OR carrier <> $2' : `OR carrier NOT IN (${list(others.length, 2)})`
  tx.send(`UPDATE stock_prefixes SET carrier = $2 WHERE prefix = $1 AND (carrier IS NULL ${dead})`, [
    prefix,
    node,
    ...others,
  ])
}

/** Puts places into a range, whoever carried them before. Nobody does until a node has tried them there. */
export function moveInto(tx: Tx, range: number, addresses: readonly string[], nowMs: number): void {
  for (const chunk of chunked(addresses)) {
    tx.send(
      `UPDATE stock SET range_id = $1, carrier = NULL,
         lost_at = CASE WHEN carrier IS NULL THEN COALESCE(lost_at, $2) ELSE $2 END
       WHERE address IN (${list(chunk.length, 2)})`,
      [range, nowMs, ...chunk],
    )
  }
}

export async function addressesIn(reader: Reader, range: number): Promise<string[]> {
  const rows = await reader.all<{ address: string }>(
    'SELECT DISTINCT address FROM stock WHERE range_id = $1 ORDER BY address',
    [range],
  )
  return rows.map((row) => row.address)
}

export type Standing = { readonly range: number; readonly carrier: string | null; readonly places: number }

/** How many places of each range each node carries. */
export async function standings(reader: Reader): Promise<Standing[]> {
  const rows = await reader.all<{ range_id: bigint; carrier: string | null; n: bigint }>(
    `SELECT range_id, carrier, COUNT(*) AS n FROM stock WHERE range_id IS NOT NULL AND state <> 'retired'
     GROUP BY range_id, carrier ORDER BY range_id, carrier`,
  )
  return rows.map((row) => ({ range: Number(row.range_id), carrier: row.carrier, places: Number(row.n) }))
}

/** Places at these ids and who carries them. */
export async function carriersOf(reader: Reader, places: readonly number[]): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  for (const chunk of chunked(places)) {
    const rows = await reader.all<{ id: bigint; carrier: string }>(
      `SELECT id, carrier FROM stock WHERE carrier IS NOT NULL AND id IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) found.set(Number(row.id), row.carrier)
  }
  return found
}

/** Which of these places are sold no more once they are free: those that retire, and those in quarantine. */
export async function withdrawnAmong(reader: Reader, places: readonly number[]): Promise<Set<number>> {
  const found = new Set<number>()
  for (const chunk of chunked(places)) {
    const rows = await reader.all<{ id: bigint }>(
      `SELECT id FROM stock WHERE (retiring = 1 OR quarantined = 1) AND id IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) found.add(Number(row.id))
  }
  return found
}

/** Large blocks and who carries them. */
export function listBlocks(reader: Reader): Promise<{ prefix: string; carrier: string | null }[]> {
  return reader.all<{ prefix: string; carrier: string | null }>(
    'SELECT prefix, carrier FROM stock_prefixes ORDER BY prefix',
  )
}

export type Leased = { readonly place: number; readonly proxy: number; readonly lostAt: number | null }

/** Sold places that a node carries, or nobody, in their order, a page at a time. */
export async function leasedBy(
  reader: Reader,
  carrier: string | null,
  after: number,
  limit: number,
): Promise<Leased[]> {
  const rows = await reader.all<{ id: bigint; proxy_id: bigint; lost_at: bigint | null }>(
    `SELECT stock.id, leases.proxy_id, stock.lost_at FROM stock
     JOIN leases ON leases.place_id = stock.id AND leases.ended_at IS NULL
     WHERE stock.state = 'leased' AND stock.carrier ${carrier === null ? 'IS NULL' : '= $3'} AND stock.id > $1
     ORDER BY stock.id LIMIT $2`,
    [after, limit, ...(carrier === null ? [] : [carrier])],
  )
  return rows.map((row) => ({
    place: Number(row.id),
    proxy: Number(row.proxy_id),
    lostAt: numberOrNull(row.lost_at),
  }))
}

export type Moved = { readonly place: number; readonly proxy: number; readonly from: string | null }

/**
 * Sold places that another node carries than their holders know of, one of those that serve. `from` is null where they
 * knew of none.
 */
export async function movedPlaces(
  reader: Reader,
  live: readonly string[],
  after: number,
  limit: number,
): Promise<Moved[]> {
  if (live.length === 0) return []
  const carriers = padded(live)
  const rows = await reader.all<{ id: bigint; proxy_id: bigint; known_carrier: string | null }>(
    `SELECT stock.id, leases.proxy_id, stock.known_carrier FROM stock
     JOIN leases ON leases.place_id = stock.id AND leases.ended_at IS NULL
     WHERE stock.state = 'leased' AND stock.carrier IS NOT NULL
       AND (stock.known_carrier IS NULL OR stock.known_carrier <> stock.carrier) AND stock.id > $1
       AND stock.carrier IN (${list(carriers.length, 1)})
     ORDER BY stock.id LIMIT $${carriers.length + 2}`,
    [after, ...carriers, limit],
  )
  return rows.map((row) => ({ place: Number(row.id), proxy: Number(row.proxy_id), from: row.known_carrier }))
}

/** From now on its holder knows who carries a place. False if he knew: somebody else has told him meanwhile. */
export async function setKnown(tx: Tx, place: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE stock SET known_carrier = carrier WHERE id = $1 AND state = 'leased' AND carrier IS NOT NULL
       AND (known_carrier IS NULL OR known_carrier <> carrier)`,
    [place],
  )
  return changed === 1
}

/** Who carries each of these places, or did last as far as its holder knows. */
export async function lastCarriersOf(reader: Reader, places: readonly number[]): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  for (const chunk of chunked(places)) {
    const rows = await reader.all<{ id: bigint; node: string }>(
      `SELECT id, COALESCE(carrier, known_carrier) AS node FROM stock
       WHERE COALESCE(carrier, known_carrier) IS NOT NULL AND id IN (${list(chunk.length)})`,
      chunk,
    )
    for (const row of rows) found.set(Number(row.id), row.node)
  }
  return found
}
