import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { textColumn, valuesOf } from '../../../db/columns.ts'
import { list, padded, readWide, sendRows, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx, Value } from '../../../db/transaction.ts'
import type { NodeBoot, UnbilledClaim } from '../counts/rules.ts'
import { unbilledClaims } from '../counts/store.ts'
import type { LeaseLine } from './rules.ts'

const sums = ['granted', 'returned', 'lapsed', 'settled', 'late', 'claimable', 'quarantined', 'counted'] as const
const figures = ['turn', ...sums, 'aside'] as const
const columns = `node, boot, subject, ${figures.join(', ')}`

/** Locks a node, which serialises the reports of all its boots. Returns the boot that holds its leases, since when. */
export async function lockNode(tx: Tx, { node, boot }: NodeBoot, nowMs: number) {
  const row = await tx.first<{ boot: string; since: bigint }>(
    `INSERT INTO usage_nodes (node, boot, since) VALUES ($1, $2, $3)
     ON CONFLICT (node) DO UPDATE SET node = excluded.node RETURNING boot, since`,
    [node, boot, nowMs],
  )
  if (!row) throw new Error('a node that was just written is not there')
  return { boot: row.boot, sinceAt: Number(row.since) }
}

/** Hands a node's leases to a later boot. */
export const holdWith = (tx: Tx, { node, boot }: NodeBoot, nowMs: number): void =>
  tx.send('UPDATE usage_nodes SET boot = $2, since = $3 WHERE node = $1', [node, boot, nowMs])

/** A closed boot may spend what is set aside for it, and claims nothing late. The first closing counts. */
export function closeBoot(tx: Tx, { node, boot }: NodeBoot, nowMs: number): void {
  const sql = 'UPDATE usage_boots SET closed_at = COALESCE(closed_at, $3) WHERE node = $1 AND boot = $2'
  tx.send(sql, [node, boot, nowMs])
}

/** Closes the other boots of a node, so that they get no more leases. `beside` are its processes that still run. */
export async function closeOthers(
  tx: Tx,
  { node, boot }: NodeBoot,
  which: 'earlier' | 'all',
  beside: readonly string[],
  nowMs: number,
): Promise<void> {
  const others = beside.length === 0 ? '' : `AND boot NOT IN (${list(beside.length, 3)})`
  const sql = `UPDATE usage_boots SET closed_at = $3
     WHERE node = $1 AND boot ${which === 'all' ? '<>' : '<'} $2 AND closed_at IS NULL ${others}`
  await tx.run(sql, [node, boot, nowMs, ...beside])
}

export async function bootStatus(tx: Tx, { node, boot }: NodeBoot): Promise<'unknown' | 'open' | 'closed'> {
  const row = await tx.first<{ closed_at: bigint | null }>(
    'SELECT closed_at FROM usage_boots WHERE node = $1 AND boot = $2',
    [node, boot],
  )
  if (!row) return 'unknown'
  return row.closed_at === null ? 'open' : 'closed'
}

/** Locks the lines of these subjects. The node's lock keeps new ones from appearing. */
export async function lockLines(
  tx: Tx,
  { node, boot }: NodeBoot,
  subjects: readonly string[],
): Promise<Map<string, LeaseLine>> {
  if (subjects.length === 0) return new Map()
  const rows = await tx.all<Omit<LeaseLine, 'turn'> & { readonly turn: bigint }>(
    `SELECT ${columns} FROM usage_leases
     WHERE node = $1 AND boot = $2 AND subject IN (${list(subjects.length, 2)}) ORDER BY subject FOR UPDATE`,
    [node, boot, ...subjects],
  )
  return new Map(rows.map((row) => [row.subject, { ...row, turn: Number(row.turn) }]))
}

export const writeLines = (tx: Tx, lines: readonly LeaseLine[], nowMs: number): void =>
  sendRows(
    tx,
    `INSERT INTO usage_leases (${columns}, changed_at, checksum)`,
    lines.map((line) => {
      const written = [...figures.map((name) => line[name]), nowMs]
      return [line.node, line.boot, line.subject, ...written, checksumOf(written)]
    }),
    `ON CONFLICT (node, boot, subject) DO UPDATE SET
       ${[...figures, 'changed_at', 'checksum'].map((name) => `${name} = excluded.${name}`).join(', ')}`,
  )

/** Boots that hold something and are closed or have been silent since `before`. */
export const silentBoots = (reader: Reader, before: number, limit: number): Promise<NodeBoot[]> =>
  reader.all(
    `SELECT node, boot FROM usage_boots
     WHERE (last_at <= $1 OR closed_at IS NOT NULL) AND EXISTS
       (SELECT 1 FROM usage_leases
        WHERE usage_leases.node = usage_boots.node AND usage_leases.boot = usage_boots.boot AND aside > 0)
     ORDER BY node, boot LIMIT $2`,
    [before, limit],
  )

/** Whether the boot is closed or has been silent since `before`, read under its lock. */
export async function isSilent(tx: Tx, { node, boot }: NodeBoot, before: number): Promise<boolean> {
  const row = await tx.first<{ last_at: bigint; closed_at: bigint | null }>(
    'SELECT last_at, closed_at FROM usage_boots WHERE node = $1 AND boot = $2 FOR UPDATE',
    [node, boot],
  )
  return row !== undefined && (row.closed_at !== null || row.last_at <= BigInt(before))
}

export async function closeBoots(tx: Tx, node: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE usage_boots SET closed_at = COALESCE(closed_at, $2) WHERE node = $1', [node, nowMs])
}

/** Boots of a node that hold something. */
export const openBoots = (reader: Reader, node: string): Promise<NodeBoot[]> =>
  reader.all('SELECT DISTINCT node, boot FROM usage_leases WHERE node = $1 AND aside > 0 ORDER BY boot', [node])

/** Subjects that a node has counted for, with their unsettled bytes, a page at a time. */
export const subjectsOf = (reader: Reader, node: string, after: string, limit: number) =>
  reader.all<{ subject: string; unsettled: bigint }>(
    `SELECT subject, CAST(SUM(counted - settled - late - quarantined) AS BIGINT) AS unsettled FROM usage_leases
     WHERE node = $1 AND subject > $2 AND counted > quarantined GROUP BY subject ORDER BY subject LIMIT $3`,
    [node, after, limit],
  )

/** Subjects of which a boot holds something, at most `limit`. */
export const openSubjects = (tx: Tx, { node, boot }: NodeBoot, limit: number): Promise<string[]> =>
  valuesOf(textColumn('subject')).all(
    tx,
    'SELECT subject FROM usage_leases WHERE node = $1 AND boot = $2 AND aside > 0 ORDER BY subject LIMIT $3',
    [node, boot, limit],
  )

type OpenSum = { readonly subject: string; readonly unsettled: bigint; readonly aside: bigint }

/** The unsettled and set-aside bytes of each of these subjects, over all nodes. */
export async function sumOpen(reader: Reader, subjects: readonly string[]): Promise<Map<string, OpenSum>> {
  if (subjects.length === 0) return new Map()
  const rows = await reader.all<OpenSum>(
    `SELECT subject, CAST(SUM(counted - settled - late - quarantined) AS BIGINT) AS unsettled,
       CAST(SUM(aside) AS BIGINT) AS aside
     FROM usage_leases WHERE aside > 0 AND subject IN (${list(subjects.length)}) GROUP BY subject`,
    subjects,
  )
  return new Map(rows.map((row) => [row.subject, row]))
}

/** The bytes that other boots of a node hold of these subjects. Subjects without any are left out. */
export async function heldByOtherBoots(
  tx: Tx,
  { node, boot }: NodeBoot,
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

/** The bytes that each node holds. */
export const sumHeld = (reader: Reader): Promise<{ node: string; held: bigint }[]> =>
  reader.all(
    'SELECT node, CAST(SUM(aside) AS BIGINT) AS held FROM usage_leases WHERE aside > 0 GROUP BY node ORDER BY node',
  )

/** Subjects of which a node holds at least so much, largest first. */
export const largestHeld = (reader: Reader, atLeast: bigint, limit: number) =>
  reader.all<{ node: string; subject: string; held: bigint }>(
    `SELECT node, subject, CAST(SUM(aside) AS BIGINT) AS held FROM usage_leases WHERE aside > 0
     GROUP BY node, subject HAVING SUM(aside) >= $1 ORDER BY held DESC, node, subject LIMIT $2`,
    [atLeast, limit],
  )

/** Claims that no lease covers, latest first. */
export const listQuarantined = (reader: Reader, limit: number): Promise<UnbilledClaim[]> =>
  unbilledClaims.all(
    reader,
    `SELECT node, boot, subject, quarantined AS bytes, changed_at AS at FROM usage_leases WHERE quarantined > 0
     ORDER BY changed_at DESC, node, boot, subject LIMIT $1`,
    [limit],
  )

/** What lines or movements say of the leases of one subject, over all nodes. */
export type LeaseTotals = Readonly<Record<'leased' | 'back' | 'settled' | 'late' | 'aside', bigint>>

type SubjectTotals = LeaseTotals & { readonly subject: string; readonly quarantined: bigint }

async function readTotals(reader: Reader, condition: string, values: readonly Value[]): Promise<SubjectTotals[]> {
  type Sums = WideSum<keyof LeaseTotals | 'quarantined'> & { readonly subject: string }
  const rows = await reader.all<Sums>(
    `SELECT subject, ${wideSum('granted', 'leased')}, ${wideSum('returned + lapsed', 'back')},
       ${wideSum('settled', 'settled')}, ${wideSum('late', 'late')}, ${wideSum('aside', 'aside')},
       ${wideSum('quarantined', 'quarantined')}
     FROM usage_leases WHERE ${condition}`,
    values,
  )
  return rows.map((row) => ({
    subject: row.subject,
    leased: readWide(row, 'leased'),
    back: readWide(row, 'back'),
    settled: readWide(row, 'settled'),
    late: readWide(row, 'late'),
    aside: readWide(row, 'aside'),
    quarantined: readWide(row, 'quarantined'),
  }))
}

/** The totals of all lines, subject after subject, for `verify`. */
export const totalsAfter = (reader: Reader, after: string, limit: number): Promise<SubjectTotals[]> =>
  readTotals(reader, 'subject > $1 GROUP BY subject ORDER BY subject LIMIT $2', [after, limit])

/** The totals of the lines of these subjects; of a subject without lines, none. */
export async function totalsOf(reader: Reader, subjects: readonly string[]): Promise<Map<string, SubjectTotals>> {
  if (subjects.length === 0) return new Map()
  const some = padded(subjects)
  const found = await readTotals(reader, `subject IN (${list(some.length)}) GROUP BY subject`, some)
  return new Map(found.map((each) => [each.subject, each]))
}

/** The counted bytes of each of these subjects without those in quarantine. */
export async function sumAccepted(reader: Reader, subjects: readonly string[]): Promise<Map<string, bigint>> {
  if (subjects.length === 0) return new Map()
  const rows = await reader.all<WideSum<'accepted'> & { subject: string }>(
    `SELECT subject, ${wideSum('counted - quarantined', 'accepted')} FROM usage_leases
     WHERE subject IN (${list(subjects.length)}) GROUP BY subject`,
    subjects,
  )
  return new Map(rows.map((row) => [row.subject, readWide(row, 'accepted')]))
}

export type StrayCount = {
  readonly node: string
  readonly subject: string
  readonly reason: 'no_lease' | 'no_boot_of_count' | 'no_boot_of_lease'
}

/** Counts without a line, and counts and lines without a boot. */
export const strayCounts = (reader: Reader, prefix: string, limit: number): Promise<StrayCount[]> =>
  reader.all<StrayCount>(
    `SELECT node, boot, subject, 'no_lease' AS reason FROM usage_counts AS counts
     WHERE subject >= $1 AND subject < $2 AND (received > 0 OR sent > 0) AND NOT EXISTS
       (SELECT 1 FROM usage_leases AS lines
        WHERE lines.node = counts.node AND lines.boot = counts.boot AND lines.subject = counts.subject)
     UNION ALL SELECT node, boot, subject, 'no_boot_of_count' FROM usage_counts AS counts
     WHERE NOT EXISTS (SELECT 1 FROM usage_boots AS boots WHERE boots.node = counts.node AND boots.boot = counts.boot)
     UNION ALL SELECT node, boot, subject, 'no_boot_of_lease' FROM usage_leases AS lines
     WHERE NOT EXISTS (SELECT 1 FROM usage_boots AS boots WHERE boots.node = lines.node AND boots.boot = lines.boot)
     LIMIT $3`,
    [prefix, `${prefix}\u{ffff}`, limit],
  )

/** Lines whose checksum does not match. */
export const unsoundLines = (reader: Reader, limit: number): Promise<{ node: string; subject: string }[]> =>
  reader.all(
    `SELECT node, subject FROM usage_leases WHERE checksum <> ${checksumIn([...figures, 'changed_at'])}
     ORDER BY 1, 2 LIMIT $1`,
    [limit],
  )

/** Lines whose count is not the node's, or that were billed for more than is believed. */
export const miscounted = (reader: Reader, limit: number): Promise<{ node: string; subject: string }[]> =>
  reader.all(
    `SELECT lines.node, lines.subject FROM usage_leases AS lines
     LEFT JOIN usage_counts AS counts
       ON counts.node = lines.node AND counts.boot = lines.boot AND counts.subject = lines.subject
     WHERE lines.counted - COALESCE(counts.received, 0) <> COALESCE(counts.sent, 0)
       OR lines.counted - lines.quarantined - COALESCE(counts.believed_received, 0) > COALESCE(counts.believed_sent, 0)
     ORDER BY lines.node, lines.boot, lines.subject LIMIT $1`,
    [limit],
  )
