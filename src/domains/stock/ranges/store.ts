import {
  type Column,
  columnsOf,
  int,
  oneOf,
  orNull,
  type Row,
  recordsOf,
  textColumn,
  textList,
  valuesOf,
} from '../../../db/columns.ts'
import { allIn, changeMarkOf, changesOne, chunked, countBy, list, padded, sendIn, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import {
  type AddressProblem,
  type AddressRun,
  rangeStates,
  type StockRange,
  type Trial,
  type UnderWay,
} from './rules.ts'

const writeNodeIds = (nodeIds: readonly string[]): string => [...new Set(nodeIds)].toSorted().join(' ')

const rangeColumns = columnsOf<StockRange>({
  id: int('id'),
  prefix: textColumn('prefix'),
  nodeIds: { ...textList('node_ids'), write: writeNodeIds },
  state: oneOf('state', rangeStates),
  createdAt: int('created_at'),
  changedAt: int('changed_at'),
})

/** A list as JSON, which only this store writes. */
const jsonList = <Item>(name: string): Column<readonly Item[]> => ({
  name,
  read(value) {
    const items: unknown = JSON.parse(textColumn(name).read(value))
    if (!Array.isArray(items)) throw new TypeError(`column ${name} holds no list`)
    return items as readonly Item[]
  },
  write: (items) => JSON.stringify(items),
})

type Report = Omit<Trial, 'provenFrom' | 'provenAt' | 'proofUntil'>

const reportColumns = columnsOf<Report>({
  node: textColumn('node_id'),
  range: int('range_id'),
  served: jsonList<AddressRun>('served'),
  problems: jsonList<AddressProblem>('problems'),
  seenAs: orNull(textColumn('seen_as')),
  changedAt: int('changed_at'),
})

const proofColumns = columnsOf<Pick<Trial, 'provenFrom' | 'provenAt' | 'proofUntil'>>({
  provenFrom: orNull(textColumn('proven_from')),
  provenAt: orNull(int('proven_at')),
  proofUntil: int('proof_until'),
})

const trials = recordsOf((row): Trial => ({ ...reportColumns.read(row), ...proofColumns.read(row) }))

/** There is one range of each prefix, whichever process adds it. */
export const insertRanges = (tx: Tx, ranges: readonly StockRange[]): void =>
  sendRows(
    tx,
    `INSERT INTO stock_ranges (${rangeColumns.names})`,
    ranges.map(rangeColumns.values),
    `ON CONFLICT (prefix) WHERE state <> 'gone' DO NOTHING`,
  )

export async function rangesWith(reader: Reader, prefixes: readonly string[]): Promise<Map<string, StockRange>> {
  const sql = (among: string) => `SELECT * FROM stock_ranges WHERE state <> 'gone' AND prefix IN (${among})`
  const ranges = (await allIn<Row>(reader, prefixes, sql)).map(rangeColumns.read)
  return new Map(ranges.map((range) => [range.prefix, range]))
}

/** From this commit on nodes are sent the ranges, or that they are gone. */
export const setState = (tx: Tx, ids: readonly number[], state: StockRange['state'], nowMs: number): void =>
  sendIn(tx, ids, (among) => `UPDATE stock_ranges SET state = $1, changed_at = $2 WHERE id IN (${among})`, [
    state,
    nowMs,
  ])

export const setNodeIds = (tx: Tx, id: number, nodeIds: readonly string[], nowMs: number): void =>
  tx.send('UPDATE stock_ranges SET node_ids = $2, changed_at = $3 WHERE id = $1', [id, writeNodeIds(nodeIds), nowMs])

/** Deletes the slots of ranges that were never on sale. */
export const deleteSlots = (tx: Tx, ranges: readonly number[]): void =>
  sendIn(
    tx,
    ranges,
    (ids) => `DELETE FROM stock WHERE state = 'free' AND serving_node IS NULL AND range_id IN (${ids})`,
  )

export const listRanges = (reader: Reader): Promise<StockRange[]> =>
  rangeColumns.all(reader, `SELECT * FROM stock_ranges WHERE state <> 'gone' ORDER BY id`)

/** Changes after a position, oldest first. `inOnly` leaves out ranges that are gone. */
export const changedAfter = (
  reader: Reader,
  after: { changedAt: number; id: number },
  limit: number,
  inOnly: boolean,
): Promise<StockRange[]> =>
  rangeColumns.all(
    reader,
    `SELECT * FROM stock_ranges WHERE (changed_at, id) > ($1, $2) AND ${inOnly ? `state = 'in'` : `state <> 'coming'`}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )

export const changeMark = (reader: Reader, sinceAt: number): Promise<string> =>
  changeMarkOf(reader, 'stock_ranges', sinceAt)

/** Locks ranges, in the order of their ids, which prevents deadlocks. */
export async function lockRanges(tx: Tx, ids: readonly number[]): Promise<Map<number, StockRange>> {
  const sql = (among: string) => `SELECT * FROM stock_ranges WHERE id IN (${among}) ORDER BY id FOR UPDATE`
  const sorted = ids.toSorted((a, b) => a - b)
  const ranges = (await allIn<Row>(tx, sorted, sql)).map(rangeColumns.read)
  return new Map(ranges.map((range) => [range.id, range]))
}

export async function trialsByRange(reader: Reader, ranges: readonly number[]): Promise<Map<number, Trial[]>> {
  const sql = (ids: string) => `SELECT * FROM stock_trials WHERE range_id IN (${ids}) ORDER BY range_id, node_id`
  return Map.groupBy((await allIn<Row>(reader, ranges, sql)).map(trials.read), (each) => each.range)
}

export const allTrials = (reader: Reader): Promise<Trial[]> =>
  trials.all(reader, 'SELECT * FROM stock_trials ORDER BY range_id, node_id')

/** Writes reports. Proofs are not changed. */
export const writeTrials = (tx: Tx, reports: readonly Report[]): void =>
  sendRows(
    tx,
    `INSERT INTO stock_trials (${reportColumns.names})`,
    reports.map(reportColumns.values),
    `ON CONFLICT (node_id, range_id) DO UPDATE SET served = excluded.served, problems = excluded.problems,
       seen_as = excluded.seen_as, changed_at = excluded.changed_at`,
  )

/** Writes proofs of a node. Reports are not changed. `from` is null for a call over the shop's own socket. */
export const writeProofs = (
  tx: Tx,
  node: string,
  ranges: readonly number[],
  { from, provenAt, endsAt }: { readonly from: string | null; readonly provenAt: number; readonly endsAt: number },
): void =>
  sendRows(
    tx,
    `INSERT INTO stock_trials (${reportColumns.names}, ${proofColumns.names})`,
    ranges.map((range) => [node, range, '[]', '[]', null, provenAt, from, provenAt, endsAt]),
    `ON CONFLICT (node_id, range_id) DO UPDATE SET proven_from = excluded.proven_from,
       proven_at = excluded.proven_at, proof_until = excluded.proof_until`,
  )

/** The serving nodes of an address's slots that are leased, or were after a moment. */
export const leasedServingNodes = (reader: Reader, address: string, afterMs: number): Promise<(string | null)[]> =>
  valuesOf(orNull(textColumn('serving_node'))).all(
    reader,
    `SELECT DISTINCT serving_node FROM stock JOIN leases ON leases.slot_id = stock.id
     WHERE address = $1 AND (ended_at IS NULL OR ended_at >= $2)`,
    [address, afterMs],
  )

/** The nodes of a range count as proven until a moment. */
export const vouch = (tx: Tx, range: number, endsAt: number): void =>
  tx.send('UPDATE stock_trials SET proof_until = $2 WHERE range_id = $1 AND proof_until < $2', [range, endsAt])

/** How many ranges without named nodes each node claims without a proof that is valid and was given. */
export async function countUnproven(reader: Reader, atMs: number): Promise<Map<string, number>> {
  const rows = await reader.all<{ node_id: string; n: bigint }>(
    `SELECT node_id, COUNT(*) AS n FROM stock_trials JOIN stock_ranges ON stock_ranges.id = stock_trials.range_id
     WHERE (proof_until <= $1 OR proven_at IS NULL) AND served <> '[]' AND node_ids = '' AND state = 'in'
     GROUP BY node_id`,
    [atMs],
  )
  return new Map(rows.map((row) => [row.node_id, Number(row.n)]))
}

export const dropTrials = (tx: Tx, range: number, nodes: readonly string[]): void =>
  sendIn(tx, nodes, (among) => `DELETE FROM stock_trials WHERE range_id = $1 AND node_id IN (${among})`, [range])

/** Slots of a range: all, or those of some addresses. */
export type RangeSlots = { readonly range: number; readonly addresses: readonly string[] | 'all' }

/** The condition of `RangeSlots`, with placeholders after the first `after` ones. */
function* conditionsOf(slots: RangeSlots, after: number): Generator<[sql: string, values: readonly string[]]> {
  if (slots.addresses === 'all') yield ['', []]
  else for (const chunk of chunked(slots.addresses)) yield [`AND address IN (${list(chunk.length, after)})`, chunk]
}

/** Takes slots from the node that serves them. */
export function release(tx: Tx, slots: RangeSlots, node: string, nowMs: number): void {
  for (const [sql, values] of conditionsOf(slots, 3)) {
    const update = `UPDATE stock SET serving_node = NULL, lost_at = $3 WHERE range_id = $1 AND serving_node = $2 ${sql}`
    tx.send(update, [slots.range, node, nowMs, ...values])
  }
}

/** True where no live node is the serving node; `$2` is the claimant. */
function isUnserved(live: readonly string[]): string {
  const isOther = live.length === 0 ? 'serving_node <> $2' : `serving_node NOT IN (${list(live.length, 2)})`
  return `(serving_node IS NULL OR ${isOther})`
}

/** Gives a node slots that no live node serves. */
export function claim(tx: Tx, slots: RangeSlots, node: string, alive: readonly string[]): void {
  const live = padded(alive)
  for (const [sql, values] of conditionsOf(slots, 2 + live.length)) {
    const common = [slots.range, node, ...live]
    tx.send(`UPDATE stock SET serving_node = $2 WHERE range_id = $1 AND ${isUnserved(live)} ${sql}`, [
      ...common,
      ...values,
    ])
  }
}

/** `claim` for all slots of many ranges. The node itself is in `alive`. */
export function claimAll(tx: Tx, ranges: readonly number[], node: string, alive: readonly string[]): void {
  const live = padded(alive)
  const isFree = `(serving_node IS NULL OR serving_node NOT IN (${list(live.length, 1)}))`
  sendIn(tx, ranges, (ids) => `UPDATE stock SET serving_node = $1 WHERE range_id IN (${ids}) AND ${isFree}`, [
    node,
    ...live,
  ])
}

export const releaseBlock = (tx: Tx, prefix: string, node: string): void =>
  tx.send('UPDATE stock_prefixes SET serving_node = NULL WHERE prefix = $1 AND serving_node = $2', [prefix, node])

export function claimBlock(tx: Tx, prefix: string, node: string, alive: readonly string[]): void {
  const live = padded(alive)
  const sql = `UPDATE stock_prefixes SET serving_node = $2 WHERE prefix = $1 AND ${isUnserved(live)}`
  tx.send(sql, [prefix, node, ...live])
}

/** Moves slots into a range. They have no serving node until a node has tried them there. */
export const moveInto = (tx: Tx, range: number, addresses: readonly string[], nowMs: number): void =>
  sendIn(
    tx,
    addresses,
    (among) =>
      `UPDATE stock SET range_id = $1, serving_node = NULL,
         lost_at = CASE WHEN serving_node IS NULL THEN COALESCE(lost_at, $2) ELSE $2 END
       WHERE address IN (${among})`,
    [range, nowMs],
  )

export const addressesIn = (reader: Reader, range: number): Promise<string[]> =>
  valuesOf(textColumn('address')).all(
    reader,
    'SELECT DISTINCT address FROM stock WHERE range_id = $1 ORDER BY address',
    [range],
  )

const nodeCounts = columnsOf({
  range: int('range_id'),
  servingNode: orNull(textColumn('serving_node')),
  slots: int('n'),
})

export const countByServingNode = (reader: Reader) =>
  nodeCounts.all(
    reader,
    `SELECT range_id, serving_node, COUNT(*) AS n FROM stock WHERE range_id IS NOT NULL AND state <> 'retired'
     GROUP BY range_id, serving_node ORDER BY range_id, serving_node`,
  )

export async function servingNodesOf(reader: Reader, slots: readonly number[]): Promise<Map<number, string>> {
  const sql = (ids: string) => `SELECT id, serving_node FROM stock WHERE serving_node IS NOT NULL AND id IN (${ids})`
  const rows = await allIn<{ id: bigint; serving_node: string }>(reader, slots, sql)
  return new Map(rows.map((row) => [Number(row.id), row.serving_node]))
}

/** The serving nodes of these slots, or the ones that their holders know. */
export async function lastServingNodesOf(reader: Reader, slots: readonly number[]): Promise<Map<number, string>> {
  const sql = (ids: string) =>
    `SELECT id, COALESCE(serving_node, known_node) AS node FROM stock
     WHERE COALESCE(serving_node, known_node) IS NOT NULL AND id IN (${ids})`
  const rows = await allIn<{ id: bigint; node: string }>(reader, slots, sql)
  return new Map(rows.map((row) => [Number(row.id), row.node]))
}

/** Those slots that are not sold again: retiring or in quarantine. */
export async function withdrawnAmong(reader: Reader, slots: readonly number[]): Promise<Set<number>> {
  const sql = (ids: string) => `SELECT id FROM stock WHERE (retiring = 1 OR quarantined = 1) AND id IN (${ids})`
  return new Set((await allIn<{ id: bigint }>(reader, slots, sql)).map((row) => Number(row.id)))
}

export const listBlocks = (reader: Reader): Promise<{ prefix: string; serving_node: string | null }[]> =>
  reader.all<{ prefix: string; serving_node: string | null }>(
    'SELECT prefix, serving_node FROM stock_prefixes WHERE retired_at IS NULL ORDER BY prefix',
  )

const leasedSlot = { slot: int('id'), proxy: int('proxy_id') }

/** A page of leased slots of a serving node, or of none, by id. */
export const leasedBy = (reader: Reader, servingNode: string | null, after: number, limit: number) =>
  columnsOf({ ...leasedSlot, lostAt: orNull(int('lost_at')) }).all(
    reader,
    `SELECT stock.id, leases.proxy_id, stock.lost_at FROM stock
     JOIN leases ON leases.slot_id = stock.id AND leases.ended_at IS NULL
     WHERE stock.state = 'leased' AND stock.serving_node ${servingNode === null ? 'IS NULL' : '= $3'} AND stock.id > $1
     ORDER BY stock.id LIMIT $2`,
    [after, limit, ...(servingNode === null ? [] : [servingNode])],
  )

export const countLeasedBy = (reader: Reader, servingNode: string): Promise<number> =>
  countBy(reader, `SELECT COUNT(*) AS n FROM stock WHERE state = 'leased' AND serving_node = $1`, [servingNode])

/** A page of leased slots that a live node serves and whose holders know another one, which is `from`, by id. */
export async function movedSlots(reader: Reader, live: readonly string[], after: number, limit: number) {
  if (live.length === 0) return []
  const paddedNodes = padded(live)
  return columnsOf({ ...leasedSlot, from: orNull(textColumn('known_node')) }).all(
    reader,
    `SELECT stock.id, leases.proxy_id, stock.known_node FROM stock
     JOIN leases ON leases.slot_id = stock.id AND leases.ended_at IS NULL
     WHERE stock.state = 'leased' AND stock.serving_node IS NOT NULL
       AND (stock.known_node IS NULL OR stock.known_node <> stock.serving_node) AND stock.id > $1
       AND stock.serving_node IN (${list(paddedNodes.length, 1)})
     ORDER BY stock.id LIMIT $${paddedNodes.length + 2}`,
    [after, ...paddedNodes, limit],
  )
}

/** Marks the serving node of a slot as known to its holder. False if another process has done so. */
export const setKnown = (tx: Tx, slot: number): Promise<boolean> =>
  changesOne(
    tx,
    `UPDATE stock SET known_node = serving_node WHERE id = $1 AND state = 'leased' AND serving_node IS NOT NULL
       AND (known_node IS NULL OR known_node <> serving_node)`,
    [slot],
  )

/** Unfinished imports. All ranges of one import have the same time; while it runs, its counts change in seconds. */
export async function importsUnderWay(reader: Reader): Promise<UnderWay[]> {
  const begun = await reader.all<{ created_at: bigint; ranges: bigint; prefix: string }>(
    `SELECT created_at, COUNT(*) AS ranges, MIN(prefix) AS prefix FROM stock_ranges WHERE state = 'coming'
     GROUP BY created_at ORDER BY created_at`,
  )
  if (begun.length === 0) return []
  const filled = await reader.all<{ created_at: bigint; slots: bigint }>(
    `SELECT stock_ranges.created_at, COUNT(*) AS slots FROM stock_ranges
     JOIN stock ON stock.range_id = stock_ranges.id
     WHERE stock_ranges.state = 'coming' GROUP BY stock_ranges.created_at`,
  )
  const slotsAt = new Map(filled.map((row) => [row.created_at, Number(row.slots)]))
  return begun.map(({ created_at: createdAt, ranges, prefix }) => {
    return { begunAt: Number(createdAt), ranges: Number(ranges), slots: slotsAt.get(createdAt) ?? 0, prefix }
  })
}

/** Up to `max` ranges of an unfinished import. */
export function comingOf(reader: Reader, begunAt: number, max: number): Promise<number[]> {
  const sql = `SELECT id FROM stock_ranges WHERE state = 'coming' AND created_at = $1 ORDER BY id LIMIT $2`
  return valuesOf(int('id')).all(reader, sql, [begunAt, max])
}

/** Ends an abandoned import: ranges with slots are in, the others are gone. */
export const adoptComing = (tx: Tx, ids: readonly number[], nowMs: number): void =>
  sendIn(
    tx,
    ids,
    (among) =>
      `UPDATE stock_ranges SET changed_at = $1, state = CASE
         WHEN EXISTS (SELECT 1 FROM stock WHERE stock.range_id = stock_ranges.id) THEN 'in' ELSE 'gone' END
       WHERE state = 'coming' AND id IN (${among})`,
    [nowMs],
  )
