import type { ExitId } from '../../../core/ids.ts'
import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import {
  big,
  columnsOf,
  flag,
  idColumn,
  int,
  oneOf,
  orNull,
  type Row,
  textColumn,
  valuesOf,
} from '../../../db/columns.ts'
import { allIn, changesOne, chunked, countBy, list, padded, sendIn, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { type Exit, type ExitStatusReport, readOffers, writeOffers } from './rules.ts'

const exits = columnsOf<Exit>({
  id: idColumn('id'),
  pool: textColumn('pool'),
  kind: oneOf('kind', ['local', 'http', 'socks5']),
  host: textColumn('host'),
  port: orNull(int('port')),
  country: textColumn('country'),
  state: textColumn('state'),
  city: textColumn('city'),
  zip: textColumn('zip'),
  asn: orNull(int('asn')),
  offers: orNull({
    name: 'offers',
    read: (value) => readOffers(textColumn('offers').read(value)),
    write: writeOffers,
  }),
  node: orNull(textColumn('node_id')),
  drainedAt: orNull(int('drained_at')),
  createdAt: int('created_at'),
  changedAt: int('changed_at'),
})

export function insertExits(tx: Tx, added: readonly { exit: Exit; credentials: Uint8Array | null }[]): void {
  const rows = added.map(({ exit, credentials }) => [...exits.values(exit), credentials])
  sendRows(tx, `INSERT INTO exits (${exits.names}, credentials)`, rows)
}

/** Whether each exit is up by the reports since `$1`, as `statusOf` decides it. No row for an exit without reports. */
const statuses = `(SELECT of_exit.id AS exit_id,
    CASE WHEN MAX(CASE WHEN reported_at >= $1 THEN up ELSE 0 END) = 1
      AND SUM(CASE WHEN reported_at < $1 THEN 0 WHEN up = 1 THEN 1 ELSE -1 END) >= 0 THEN 1 ELSE 0 END AS up
  FROM exit_reports JOIN exits AS of_exit ON of_exit.id = exit_reports.exit_id
  WHERE of_exit.node_id IS NULL OR of_exit.node_id = exit_reports.node_id
  GROUP BY of_exit.id)`

/** Exits that are neither drained nor down by reports since `believedAt`; `triedOnly` leaves out unreported ones. */
export function listServing(reader: Reader, believedAt: number, triedOnly: boolean): Promise<Exit[]> {
  const untried = triedOnly ? '' : 'reports.up IS NULL OR'
  return exits.all(
    reader,
    `SELECT ${exits.names} FROM exits
     LEFT JOIN ${statuses} AS reports ON reports.exit_id = exits.id
     WHERE drained_at IS NULL AND (${untried} reports.up = 1) ORDER BY id`,
    [believedAt],
  )
}

const reports = columnsOf<ExitStatusReport>({
  exit: textColumn('exit_id'),
  node: textColumn('node_id'),
  isUp: flag('up'),
  sinceAt: int('since_at'),
  reason: textColumn('reason'),
  reportedAt: int('reported_at'),
})

/** The gateways' last reports on these exits. */
export async function listReports(reader: Reader, ids: readonly string[]): Promise<ExitStatusReport[]> {
  const found: ExitStatusReport[] = []
  for (const some of chunked(ids)) {
    const sql = `SELECT * FROM exit_reports WHERE exit_id IN (${list(some.length)}) ORDER BY exit_id, node_id`
    found.push(...(await reports.all(reader, sql, some)))
  }
  return found
}

/** Keeps the last report of each gateway on each exit. */
export const writeReports = (tx: Tx, latest: readonly ExitStatusReport[]): void =>
  sendRows(
    tx,
    `INSERT INTO exit_reports (${reports.names})`,
    latest.map(reports.values),
    `ON CONFLICT (exit_id, node_id) DO UPDATE SET
       up = excluded.up, since_at = excluded.since_at, reason = excluded.reason, reported_at = excluded.reported_at`,
  )

/** The ids among these that are exits. */
export async function knownAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const some = padded(ids)
  const sql = `SELECT id FROM exits WHERE id IN (${list(some.length)})`
  return new Set(await valuesOf(textColumn('id')).all(reader, sql, some))
}

/** The local exits among these that belong to no gateway. */
export const unboundLocals = (reader: Reader, ids: readonly string[]): Promise<{ id: string; host: string }[]> =>
  allIn(
    reader,
    ids,
    (among) => `SELECT id, host FROM exits WHERE kind = 'local' AND node_id IS NULL AND id IN (${among}) ORDER BY id`,
  )

/** Binds exits to a gateway, except those that another report has bound since. */
export const bindExits = (tx: Tx, ids: readonly string[], node: string, nowMs: number): void =>
  sendIn(
    tx,
    ids,
    (among) => `UPDATE exits SET node_id = $1, changed_at = $2 WHERE node_id IS NULL AND id IN (${among})`,
    [node, nowMs],
  )

/** A page of the exits of a pool, or of all pools, without removed ones. */
export const listExits = (reader: Reader, pool: string | undefined, after: string, limit: number): Promise<Exit[]> =>
  exits.all(
    reader,
    `SELECT * FROM exits WHERE ${pool === undefined ? '' : 'pool = $3 AND '}id > $1 AND removed_at IS NULL
     ORDER BY id LIMIT $2`,
    [after, limit, ...(pool === undefined ? [] : [pool])],
  )

const poolCounts = columnsOf({ pool: textColumn('pool'), exits: int('exits'), serving: int('serving') })

/** The number of exits of each pool, and of those that serve. */
export const countByPool = (reader: Reader, believedAt: number) =>
  poolCounts.all(
    reader,
    `SELECT pool, COUNT(*) AS exits,
       CAST(SUM(CASE WHEN drained_at IS NULL AND reports.up = 1 THEN 1 ELSE 0 END) AS BIGINT) AS serving
     FROM exits LEFT JOIN ${statuses} AS reports ON reports.exit_id = exits.id
     WHERE removed_at IS NULL GROUP BY pool ORDER BY pool`,
    [believedAt],
  )

export const setDrained = (tx: Tx, id: ExitId, drainedAt: number | null, nowMs: number): Promise<boolean> =>
  changesOne(tx, 'UPDATE exits SET drained_at = $2, changed_at = $3 WHERE id = $1 AND removed_at IS NULL', [
    id,
    drainedAt,
    nowMs,
  ])

export const lockExit = (tx: Tx, id: ExitId): Promise<Exit | undefined> =>
  exits.first(tx, 'SELECT * FROM exits WHERE id = $1 AND removed_at IS NULL FOR UPDATE', [id])

/** Hides an exit for good and deletes its credentials. */
export const setRemoved = (tx: Tx, id: ExitId, nowMs: number): void =>
  tx.send('UPDATE exits SET removed_at = $2, credentials = NULL WHERE id = $1', [id, nowMs])

export const countOfNode = (reader: Reader, node: string): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM exits WHERE node_id = $1 AND removed_at IS NULL', [node])

export const setNode = (tx: Tx, id: ExitId, node: string | null, nowMs: number): void =>
  tx.send('UPDATE exits SET node_id = $2, changed_at = $3 WHERE id = $1', [id, node, nowMs])

/** Exits that changed after a position, oldest change first, with or without drained ones. */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  servingOnly: boolean,
) {
  const rows = await reader.all<Row & { credentials: Uint8Array | null }>(
    `SELECT * FROM exits
     WHERE (changed_at, id) > ($1, $2) ${servingOnly ? 'AND drained_at IS NULL' : ''} ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map((row) => ({ exit: exits.read(row), credentials: row.credentials }))
}

export type ExitBytes = { readonly exit: string; readonly received: bigint; readonly sent: bigint }

/** The bytes that a gateway's boot has counted for exits. Its rows stay locked. */
export async function lockCounts(tx: Tx, node: string, boot: string, ids: readonly string[]): Promise<ExitBytes[]> {
  const some = padded(ids)
  return tx.all(
    `SELECT exit_id AS exit, received, sent FROM exit_counts
     WHERE node_id = $1 AND boot = $2 AND exit_id IN (${list(some.length, 2)}) ORDER BY exit_id FOR UPDATE`,
    [node, boot, ...some],
  )
}

/** The caller has locked the rows and passes maxima. */
export const raiseCounts = (tx: Tx, node: string, boot: string, counts: readonly ExitBytes[]): void =>
  sendRows(
    tx,
    'INSERT INTO exit_counts (exit_id, node_id, boot, received, sent, checksum)',
    counts.map(({ exit, received, sent }) => [exit, node, boot, received, sent, checksumOf([received, sent])]),
    `ON CONFLICT (exit_id, node_id, boot) DO UPDATE SET
       received = excluded.received, sent = excluded.sent, checksum = excluded.checksum`,
  )

/** The bytes through these exits on a day so far. The rows stay locked. */
export async function lockDay(tx: Tx, day: number, ids: readonly string[]): Promise<ExitBytes[]> {
  const some = padded(ids)
  return tx.all(
    `SELECT exit_id AS exit, received, sent FROM exit_days
     WHERE day = $1 AND exit_id IN (${list(some.length, 1)}) ORDER BY exit_id FOR UPDATE`,
    [day, ...some],
  )
}

export function addToDay(tx: Tx, day: number, added: readonly ExitBytes[]): void {
  const [more, moreSent] = ['exit_days.received + excluded.received', 'exit_days.sent + excluded.sent']
  sendRows(
    tx,
    'INSERT INTO exit_days (exit_id, day, received, sent, checksum)',
    added.map(({ exit, received, sent }) => [exit, day, received, sent, checksumOf([day, received, sent])]),
    `ON CONFLICT (exit_id, day) DO UPDATE SET
       received = ${more}, sent = ${moreSent}, checksum = ${checksumIn(['exit_days.day', more, moreSent])}`,
  )
}

const days = columnsOf({ day: int('day'), received: big('received'), sent: big('sent') })

/** The bytes through an exit on each day from one to another, both included. */
export const listDays = (reader: Reader, id: ExitId, from: number, to: number) =>
  days.all(reader, 'SELECT * FROM exit_days WHERE exit_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day', [id, from, to])

/** Exits whose days do not add up to the gateways' counts, for `verify`. */
export const unevenExits = (reader: Reader, limit: number): Promise<string[]> =>
  valuesOf(textColumn('exit_id')).all(
    reader,
    `SELECT exit_id FROM (
       SELECT exit_id, received, sent FROM exit_counts
       UNION ALL SELECT exit_id, -received, -sent FROM exit_days) AS both_books
     GROUP BY exit_id HAVING SUM(received) <> 0 OR SUM(sent) <> 0 ORDER BY exit_id LIMIT $1`,
    [limit],
  )

/** Exits with a wrong checksum, and reports by or on something that does not exist. */
export const unsoundExits = (reader: Reader, limit: number) =>
  reader.all<{ exit: string; reason: 'checksum' | 'exit_report' }>(
    `SELECT exit_id AS exit, 'checksum' AS reason FROM exit_counts
     WHERE checksum <> ${checksumIn(['received', 'sent'])}
     UNION ALL SELECT exit_id, 'checksum' FROM exit_days
     WHERE checksum <> ${checksumIn(['day', 'received', 'sent'])}
     UNION ALL SELECT exit_id, 'exit_report'
     FROM (SELECT exit_id, node_id FROM exit_counts UNION ALL SELECT exit_id, node_id FROM exit_reports) AS spoken
     WHERE NOT EXISTS (SELECT 1 FROM exits WHERE exits.id = spoken.exit_id)
       OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = spoken.node_id AND nodes.kind = 'gateway')
     LIMIT $1`,
    [limit],
  )

/** Whether an address is, or was, a local exit. */
export const isLocal = async (reader: Reader, host: string): Promise<boolean> =>
  (await reader.first(`SELECT 1 FROM exits WHERE kind = 'local' AND host = $1 LIMIT 1`, [host])) !== undefined
