import type { ExitId } from '../../../core/ids.ts'
import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { chunked, list, numberOrNull, padded, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { type Exit, type ExitStatusReport, readOffers, writeOffers } from './rules.ts'

type ExitRow = Omit<Exit, 'port' | 'asn' | 'node' | 'offers' | 'drainedAt' | 'createdAt' | 'changedAt'> & {
  readonly port: bigint | null
  readonly asn: bigint | null
  readonly node_id: string | null
  readonly offers: string | null
  readonly drained_at: bigint | null
  readonly created_at: bigint
  readonly changed_at: bigint
}

const toExit = ({ node_id, drained_at, created_at, changed_at, ...row }: ExitRow): Exit => ({
  ...row,
  port: numberOrNull(row.port),
  asn: numberOrNull(row.asn),
  offers: row.offers === null ? null : readOffers(row.offers),
  node: node_id,
  drainedAt: numberOrNull(drained_at),
  createdAt: Number(created_at),
  changedAt: Number(changed_at),
})

const columns =
  'id, pool, kind, host, port, country, state, city, zip, asn, node_id, offers, drained_at, created_at, changed_at'

export function insertExits(tx: Tx, exits: readonly { exit: Exit; credentials: Uint8Array | null }[]): void {
  sendRows(
    tx,
    `INSERT INTO exits (${columns}, credentials)`,
    exits.map(({ exit, credentials }) => {
      const { id, pool, kind, host, port, country, state, city, zip, asn, node, drainedAt, createdAt, changedAt } = exit
      const offers = exit.offers && writeOffers(exit.offers)
      const location = [country, state, city, zip, asn]
      return [id, pool, kind, host, port, ...location, node, offers, drainedAt, createdAt, changedAt, credentials]
    }),
  )
}

/** Whether each exit is up by the reports since `$1`, as `statusOf` decides it. No row for an exit without reports. */
const statuses = `(SELECT of_exit.id AS exit_id,
    CASE WHEN MAX(CASE WHEN reported_at >= $1 THEN up ELSE 0 END) = 1
      AND SUM(CASE WHEN reported_at < $1 THEN 0 WHEN up = 1 THEN 1 ELSE -1 END) >= 0 THEN 1 ELSE 0 END AS up
  FROM exit_reports JOIN exits AS of_exit ON of_exit.id = exit_reports.exit_id
  WHERE of_exit.node_id IS NULL OR of_exit.node_id = exit_reports.node_id
  GROUP BY of_exit.id)`

/** Exits that are neither drained nor down by reports since `believedAt`; `triedOnly` leaves out unreported ones. */
export async function listServing(reader: Reader, believedAt: number, triedOnly: boolean): Promise<Exit[]> {
  const untried = triedOnly ? '' : 'reports.up IS NULL OR'
  const rows = await reader.all<ExitRow>(
    `SELECT ${columns} FROM exits
     LEFT JOIN ${statuses} AS reports ON reports.exit_id = exits.id
     WHERE drained_at IS NULL AND (${untried} reports.up = 1) ORDER BY id`,
    [believedAt],
  )
  return rows.map(toExit)
}

/** The gateways' last reports on these exits. */
export async function listReports(reader: Reader, ids: readonly string[]): Promise<ExitStatusReport[]> {
  type ReportRow = Record<'exit' | 'node' | 'reason', string> & Record<'up' | 'since_at' | 'reported_at', bigint>
  const found: ExitStatusReport[] = []
  for (const some of chunked(ids)) {
    const rows = await reader.all<ReportRow>(
      `SELECT exit_id AS exit, node_id AS node, up, since_at, reason, reported_at FROM exit_reports
       WHERE exit_id IN (${list(some.length)}) ORDER BY exit_id, node_id`,
      some,
    )
    for (const { up, since_at, reported_at, ...row } of rows) {
      found.push({ ...row, isUp: up === 1n, sinceAt: Number(since_at), reportedAt: Number(reported_at) })
    }
  }
  return found
}

/** Keeps the last report of each gateway on each exit. */
export function writeReports(tx: Tx, reports: readonly ExitStatusReport[]): void {
  sendRows(
    tx,
    'INSERT INTO exit_reports (exit_id, node_id, up, since_at, reason, reported_at)',
    reports.map((each) => [each.exit, each.node, each.isUp ? 1 : 0, each.sinceAt, each.reason, each.reportedAt]),
    `ON CONFLICT (exit_id, node_id) DO UPDATE SET
       up = excluded.up, since_at = excluded.since_at, reason = excluded.reason, reported_at = excluded.reported_at`,
  )
}

/** The ids among these that are exits. */
export async function knownAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const paddedIds = padded(ids)
  const rows = await reader.all<{ id: string }>(
    `SELECT id FROM exits WHERE id IN (${list(paddedIds.length)})`,
    paddedIds,
  )
  return new Set(rows.map((row) => row.id))
}

export async function listExits(
  reader: Reader,
  pool: string | undefined,
  after: string,
  limit: number,
): Promise<Exit[]> {
  const rows = await reader.all<ExitRow>(
    pool === undefined
      ? `SELECT ${columns} FROM exits WHERE id > $1 ORDER BY id LIMIT $2`
      : `SELECT ${columns} FROM exits WHERE id > $1 AND pool = $3 ORDER BY id LIMIT $2`,
    pool === undefined ? [after, limit] : [after, limit, pool],
  )
  return rows.map(toExit)
}

/** The number of exits of each pool, and of those that serve. */
export async function countByPool(reader: Reader, believedAt: number) {
  const rows = await reader.all<{ pool: string; exits: bigint; serving: bigint }>(
    `SELECT pool, COUNT(*) AS exits,
       CAST(SUM(CASE WHEN drained_at IS NULL AND reports.up = 1 THEN 1 ELSE 0 END) AS BIGINT) AS serving
     FROM exits LEFT JOIN ${statuses} AS reports ON reports.exit_id = exits.id
     GROUP BY pool ORDER BY pool`,
    [believedAt],
  )
  return rows.map((row) => ({ pool: row.pool, exits: Number(row.exits), serving: Number(row.serving) }))
}

export async function setDrained(tx: Tx, id: ExitId, drainedAt: number | null, nowMs: number): Promise<boolean> {
  return (await tx.run('UPDATE exits SET drained_at = $2, changed_at = $3 WHERE id = $1', [id, drainedAt, nowMs])) === 1
}

/** Exits that changed after a position, oldest change first, with or without drained ones. */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  servingOnly: boolean,
): Promise<{ exit: Exit; credentials: Uint8Array | null }[]> {
  const rows = await reader.all<ExitRow & { credentials: Uint8Array | null }>(
    `SELECT ${columns}, credentials FROM exits
     WHERE (changed_at, id) > ($1, $2) ${servingOnly ? 'AND drained_at IS NULL' : ''} ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map(({ credentials, ...row }) => ({ exit: toExit(row), credentials }))
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
export function raiseCounts(tx: Tx, node: string, boot: string, counts: readonly ExitBytes[]): void {
  sendRows(
    tx,
    'INSERT INTO exit_counts (exit_id, node_id, boot, received, sent, checksum)',
    counts.map(({ exit, received, sent }) => [exit, node, boot, received, sent, checksumOf([received, sent])]),
    `ON CONFLICT (exit_id, node_id, boot) DO UPDATE SET
       received = excluded.received, sent = excluded.sent, checksum = excluded.checksum`,
  )
}

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

/** The bytes through an exit on each day from one to another, both included. */
export async function listDays(reader: Reader, id: ExitId, from: number, to: number) {
  const rows = await reader.all<{ day: bigint; received: bigint; sent: bigint }>(
    'SELECT day, received, sent FROM exit_days WHERE exit_id = $1 AND day BETWEEN $2 AND $3 ORDER BY day',
    [id, from, to],
  )
  return rows.map((row) => ({ ...row, day: Number(row.day) }))
}

/** Exits whose days do not add up to the gateways' counts, for `verify`. */
export async function unevenExits(reader: Reader, limit: number): Promise<string[]> {
  const rows = await reader.all<{ exit_id: string }>(
    `SELECT exit_id FROM (
       SELECT exit_id, received, sent FROM exit_counts
       UNION ALL SELECT exit_id, -received, -sent FROM exit_days) AS both_books
     GROUP BY exit_id HAVING SUM(received) <> 0 OR SUM(sent) <> 0 ORDER BY exit_id LIMIT $1`,
    [limit],
  )
  return rows.map((row) => row.exit_id)
}

/** Exits with a wrong checksum, and reports by or on something that does not exist. */
export async function unsoundExits(
  reader: Reader,
  limit: number,
): Promise<{ exit: string; reason: 'checksum' | 'exit_report' }[]> {
  return reader.all(
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
}

/** Whether an address is, or was, a local exit. */
export async function isLocal(reader: Reader, host: string): Promise<boolean> {
  const row = await reader.first<{ one: bigint }>(
    `SELECT 1 AS one FROM exits WHERE kind = 'local' AND host = $1 LIMIT 1`,
    [host],
  )
  return row !== undefined
}
