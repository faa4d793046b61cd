import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { list, readWide, sendRows, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { Line } from './rules.ts'

type Row = {
  node: string
  boot: string
  subject: string
  turn: bigint
  granted: bigint
  returned: bigint
  lapsed: bigint
  settled: bigint
  late: bigint
  claimable: bigint
  quarantined: bigint
  counted: bigint
  aside: bigint
}

const toLine = (row: Row): Line => ({ ...row, turn: Number(row.turn) })

const figures = [
  'turn',
  'granted',
  'returned',
  'lapsed',
  'settled',
  'late',
  'claimable',
  'quarantined',
  'counted',
  'aside',
] as const

const columns = `node, boot, subject, ${figures.join(', ')}`

/** All of a node's reports, of whatever boot, take turns on this row. Returns the boot that holds the node's leases. */
export async function lockNode(tx: Tx, node: string, boot: string, nowMs: number): Promise<string> {
  const row = await tx.first<{ boot: string }>(
    `INSERT INTO usage_nodes (node, boot, since) VALUES ($1, $2, $3)
     ON CONFLICT (node) DO UPDATE SET node = excluded.node RETURNING boot`,
    [node, boot, nowMs],
  )
  if (!row) throw new Error('a node that was just written is not there')
  return row.boot
}

/** Hands a node's leases to a later boot. */
export function holdWith(tx: Tx, node: string, boot: string, nowMs: number): void {
  tx.send('UPDATE usage_nodes SET boot = $2, since = $3 WHERE node = $1', [node, boot, nowMs])
}

/**
 * A closed boot may spend what is set aside for it, and claim nothing more that has lapsed. The first closing stands.
 */
export function closeBoot(tx: Tx, node: string, boot: string, nowMs: number): void {
  tx.send('UPDATE usage_boots SET closed_at = COALESCE(closed_at, $3) WHERE node = $1 AND boot = $2', [
    node,
    boot,
    nowMs,
  ])
}

/** Of a node's boots before this one those stay open that go on beside it; all others that are known claim no more. */
export async function closeEarlier(
  tx: Tx,
  node: string,
  boot: string,
  beside: readonly string[],
  nowMs: number,
): Promise<void> {
  const others = beside.length === 0 ? '' : `AND boot NOT IN (${list(beside.length, 3)})`
  await tx.run(`UPDATE usage_boots SET closed_at = $3 WHERE node = $1 AND boot < $2 AND closed_at IS NULL ${others}`, [
    node,
    boot,
    nowMs,
    ...beside,
  ])
}

/** What is known of a boot before its report is taken in. */
export async function standingOf(tx: Tx, node: string, boot: string): Promise<'unknown' | 'open' | 'closed'> {
  const row = await tx.first<{ closed_at: bigint | null }>(
    'SELECT closed_at FROM usage_boots WHERE node = $1 AND boot = $2',
    [node, boot],
  )
  if (!row) return 'unknown'
  return row.closed_at === null ? 'open' : 'closed'
}

/** The lines of these subjects, locked until the transaction ends. The node's own row keeps new ones from appearing. */
export async function lockLines(
  tx: Tx,
  node: string,
  boot: string,
  subjects: readonly string[],
): Promise<Map<string, Line>> {
  const rows = await tx.all<Row>(
    `SELECT ${columns} FROM usage_leases
     WHERE node = $1 AND boot = $2 AND subject IN (${list(subjects.length, 2)}) ORDER BY subject FOR UPDATE`,
    [node, boot, ...subjects],
  )
  return new Map(rows.map((row) => [row.subject, toLine(row)]))
}

export function writeLines(tx: Tx, lines: readonly Line[], nowMs: number): void {
  sendRows(
    tx,
    `INSERT INTO usage_leases (${columns}, changed_at, checksum)`,
    lines.map((line) => {
      const written = [...figures.map((name) => line[name]), nowMs]
      return [line.node, line.boot, line.subject, ...written, checksumOf(written)]
    }),
    `ON CONFLICT (node, boot, subject) DO UPDATE SET turn = excluded.turn, granted = excluded.granted,
       returned = excluded.returned, lapsed = excluded.lapsed, settled = excluded.settled, late = excluded.late,
       claimable = excluded.claimable, quarantined = excluded.quarantined, counted = excluded.counted,
       aside = excluded.aside, changed_at = excluded.changed_at, checksum = excluded.checksum`,
  )
}

/** Boots that hold something and have been silent since `before`, or whose node has moved on. */
export async function silentBoots(
  reader: Reader,
  before: number,
  most: number,
): Promise<{ node: string; boot: string }[]> {
  return reader.all(
    `SELECT node, boot FROM usage_boots
     WHERE (last_at <= $1 OR closed_at IS NOT NULL) AND EXISTS
       (SELECT 1 FROM usage_leases
        WHERE usage_leases.node = usage_boots.node AND usage_leases.boot = usage_boots.boot AND aside > 0)
     ORDER BY node, boot LIMIT $2`,
    [before, most],
  )
}

/** Whether the boot is still as silent as it looked; a report may have come in between. */
export async function isSilent(tx: Tx, node: string, boot: string, before: number): Promise<boolean> {
  const row = await tx.first<{ last_at: bigint; closed_at: bigint | null }>(
    'SELECT last_at, closed_at FROM usage_boots WHERE node = $1 AND boot = $2 FOR UPDATE',
    [node, boot],
  )
  return row !== undefined && (row.closed_at !== null || row.last_at <= BigInt(before))
}

/** From now on no boot of a node claims anything more. */
export async function closeBoots(tx: Tx, node: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE usage_boots SET closed_at = COALESCE(closed_at, $2) WHERE node = $1', [node, nowMs])
}

/** Boots of a node that hold something. */
export async function openBoots(reader: Reader, node: string): Promise<{ node: string; boot: string }[]> {
  return reader.all('SELECT DISTINCT node, boot FROM usage_leases WHERE node = $1 AND aside > 0 ORDER BY boot', [node])
}

/** Subjects that a node has counted for, a page at a time, and what of it is not settled yet. */
export async function subjectsOf(
  reader: Reader,
  node: string,
  after: string,
  most: number,
): Promise<{ subject: string; unsettled: bigint }[]> {
  return reader.all(
    `SELECT subject, CAST(SUM(counted - settled - late - quarantined) AS BIGINT) AS unsettled FROM usage_leases
     WHERE node = $1 AND subject > $2 AND counted > quarantined GROUP BY subject ORDER BY subject LIMIT $3`,
    [node, after, most],
  )
}

/** Lines of a boot that hold something, a bounded number at a time. */
export async function openSubjects(tx: Tx, node: string, boot: string, most: number): Promise<string[]> {
  const rows = await tx.all<{ subject: string }>(
    'SELECT subject FROM usage_leases WHERE node = $1 AND boot = $2 AND aside > 0 ORDER BY subject LIMIT $3',
    [node, boot, most],
  )
  return rows.map((row) => row.subject)
}

/** What is carried but not settled, and what may still be carried, for each of these subjects over all nodes. */
export async function sumOpen(
  reader: Reader,
  subjects: readonly string[],
): Promise<Map<string, { unsettled: bigint; aside: bigint }>> {
  if (subjects.length === 0) return new Map()
  const rows = await reader.all<{ subject: string; unsettled: bigint; aside: bigint }>(
    `SELECT subject, CAST(SUM(counted - settled - late - quarantined) AS BIGINT) AS unsettled,
       CAST(SUM(aside) AS BIGINT) AS aside
     FROM usage_leases WHERE aside > 0 AND subject IN (${list(subjects.length)}) GROUP BY subject`,
    subjects,
  )
  return new Map(rows.map((row) => [row.subject, { unsettled: row.unsettled, aside: row.aside }]))
}

/** What other boots of a node hold of these subjects; those of which they hold nothing are left out. */
export async function heldByOtherBoots(
  tx: Tx,
  node: string,
  boot: string,
  subjects: readonly string[],
): Promise<Map<string, bigint>> {
  if (subjects.length === 0) return new Map()
  const rows = await tx.all<{ subject: string; held: bigint }>(
    `SELECT subject, CAST(SUM(aside) AS BIGINT) AS held FROM usage_leases
     WHERE aside > 0 AND node = $1 AND boot <> $2 AND subject IN (${list(subjects.length, 2)}) GROUP BY subject`,
    [node, boot, ...subjects],
  )
  return new Map(rows.map((row) => [row.subject, row.held]))
}

/** What each node holds in all. */
export async function sumHeld(reader: Reader): Promise<{ node: string; held: bigint }[]> {
  return reader.all(
    'SELECT node, CAST(SUM(aside) AS BIGINT) AS held FROM usage_leases WHERE aside > 0 GROUP BY node ORDER BY node',
  )
}

/** Of which subjects a node holds so much or more, most first. */
export async function largestHeld(
  reader: Reader,
  atLeast: bigint,
  limit: number,
): Promise<{ node: string; subject: string; held: bigint }[]> {
  return reader.all(
    `SELECT node, subject, CAST(SUM(aside) AS BIGINT) AS held FROM usage_leases WHERE aside > 0
     GROUP BY node, subject HAVING SUM(aside) >= $1 ORDER BY held DESC, node, subject LIMIT $2`,
    [atLeast, limit],
  )
}

export type Quarantined = { node: string; boot: string; subject: string; bytes: bigint; at: number }

/** Claims that no lease covers, latest first. */
export async function listQuarantined(reader: Reader, most: number): Promise<Quarantined[]> {
  const rows = await reader.all<{
    node: string
    boot: string
    subject: string
    quarantined: bigint
    changed_at: bigint
  }>(
    `SELECT node, boot, subject, quarantined, changed_at FROM usage_leases WHERE quarantined > 0
     ORDER BY changed_at DESC, node, boot, subject LIMIT $1`,
    [most],
  )
  return rows.map((row) => ({
    node: row.node,
    boot: row.boot,
    subject: row.subject,
    bytes: row.quarantined,
    at: Number(row.changed_at),
  }))
}

export type LineTotals = {
  granted: bigint
  returned: bigint
  lapsed: bigint
  settled: bigint
  late: bigint
  aside: bigint
  quarantined: bigint
  counted: bigint
}

/** All lines of a subject together, subject after subject, for `verify`. */
export async function totalsAfter(
  reader: Reader,
  after: string,
  most: number,
): Promise<(LineTotals & { subject: string })[]> {
  type Sums = WideSum<keyof LineTotals> & { readonly subject: string }
  const names = ['granted', 'returned', 'lapsed', 'settled', 'late', 'aside', 'quarantined', 'counted'] as const
  const rows = await reader.all<Sums>(
    `SELECT subject, ${names.map((name) => wideSum(name, name)).join(', ')}
     FROM usage_leases WHERE subject > $1 GROUP BY subject ORDER BY subject LIMIT $2`,
    [after, most],
  )
  return rows.map((row) => ({
    subject: row.subject,
    granted: readWide(row, 'granted'),
    returned: readWide(row, 'returned'),
    lapsed: readWide(row, 'lapsed'),
    settled: readWide(row, 'settled'),
    late: readWide(row, 'late'),
    aside: readWide(row, 'aside'),
    quarantined: readWide(row, 'quarantined'),
    counted: readWide(row, 'counted'),
  }))
}

/** What nodes counted for each of these subjects and was billed: all but what is in quarantine. */
export async function sumAccepted(reader: Reader, subjects: readonly string[]): Promise<Map<string, bigint>> {
  if (subjects.length === 0) return new Map()
  const rows = await reader.all<WideSum<'accepted'> & { subject: string }>(
    `SELECT subject, ${wideSum('counted - quarantined', 'accepted')} FROM usage_leases
     WHERE subject IN (${list(subjects.length)}) GROUP BY subject`,
    subjects,
  )
  return new Map(rows.map((row) => [row.subject, readWide(row, 'accepted')]))
}

/** Counts of bytes that no line of leases has taken in, and counts and lines of a boot that nobody has heard of. */
export async function strayCounts(reader: Reader, prefix: string, most: number): Promise<StrayCount[]> {
  return reader.all<StrayCount>(
    `SELECT node, boot, subject, 'no lease knows of it' AS problem FROM usage_counts AS counts
     WHERE subject >= $1 AND subject < $2 AND (received > 0 OR sent > 0) AND NOT EXISTS
       (SELECT 1 FROM usage_leases AS lines
        WHERE lines.node = counts.node AND lines.boot = counts.boot AND lines.subject = counts.subject)
     UNION ALL SELECT node, boot, subject, 'nobody has heard of the boot that counted it' FROM usage_counts AS counts
     WHERE NOT EXISTS (SELECT 1 FROM usage_boots AS boots WHERE boots.node = counts.node AND boots.boot = counts.boot)
     UNION ALL SELECT node, boot, subject, 'nobody has heard of the boot that holds it' FROM usage_leases AS lines
     WHERE NOT EXISTS (SELECT 1 FROM usage_boots AS boots WHERE boots.node = lines.node AND boots.boot = lines.boot)
     LIMIT $3`,
    [prefix, `${prefix}\u{ffff}`, most],
  )
}

type StrayCount = { readonly node: string; readonly boot: string; readonly subject: string; readonly problem: string }

/** Lines whose figures are not those that were written. */
export async function unsoundLines(reader: Reader, most: number): Promise<{ node: string; subject: string }[]> {
  return reader.all(
    `SELECT node, subject FROM usage_leases WHERE checksum <> ${checksumIn([...figures, 'changed_at'])}
     ORDER BY 1, 2 LIMIT $1`,
    [most],
  )
}

/** Lines whose count is not what their node has reported, or that were billed for more than is believed of it. */
export async function miscounted(
  reader: Reader,
  most: number,
): Promise<{ node: string; boot: string; subject: string }[]> {
  return reader.all(
    `SELECT lines.node, lines.boot, lines.subject FROM usage_leases AS lines
     LEFT JOIN usage_counts AS counts
       ON counts.node = lines.node AND counts.boot = lines.boot AND counts.subject = lines.subject
     WHERE lines.counted - COALESCE(counts.received, 0) <> COALESCE(counts.sent, 0)
       OR lines.counted - lines.quarantined - COALESCE(counts.believed_received, 0) > COALESCE(counts.believed_sent, 0)
     ORDER BY 1, 2, 3 LIMIT $1`,
    [most],
  )
}
