import { bytes } from '../../../core/bytes.ts'
import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { big, columnsOf, int, textColumn, valuesOf } from '../../../db/columns.ts'
import { allIn, list, readWide, sendRows, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { accountSubjects } from '../accounts/rules.ts'
import type { BelievedCount, ByteBudget, NodeBoot, SubjectCount, UnbilledClaim } from './rules.ts'

/** A node has a budget for billed bytes, and one for the destinations that it reports. */
export type BudgetPurpose = 'bytes' | 'hosts'

const budgetChecksum = (purpose: BudgetPurpose, { rest, at }: ByteBudget): bigint =>
  checksumOf([rest, at, purpose === 'hosts' ? 1 : 0])

/** Locks a node's budget, which serialises its reports. A new one begins as given. */
export async function lockBudget(tx: Tx, node: string, purpose: BudgetPurpose, first: ByteBudget): Promise<ByteBudget> {
  const row = await tx.first<{ rest: bigint; at: bigint }>(
    `INSERT INTO usage_budgets (node, purpose, rest, at, refused, checksum) VALUES ($1, $2, $3, $4, 0, $5)
     ON CONFLICT (node, purpose) DO UPDATE SET node = excluded.node RETURNING rest, at`,
    [node, purpose, first.rest, first.at, budgetChecksum(purpose, first)],
  )
  if (!row) throw new Error('a budget that was just written is not there')
  return { rest: row.rest, at: Number(row.at) }
}

export function writeBudget(tx: Tx, node: string, purpose: BudgetPurpose, budget: ByteBudget): void {
  const sql = 'UPDATE usage_budgets SET rest = $3, at = $4, checksum = $5 WHERE node = $1 AND purpose = $2'
  tx.send(sql, [node, purpose, budget.rest, budget.at, budgetChecksum(purpose, budget)])
}

/** Adds to a node's refused bytes. The sum stops at `max`, so that it cannot overflow. */
export const noteRefused = (tx: Tx, node: string, claimed: bigint, max: bigint, nowMs: number): void =>
  tx.send(
    `UPDATE usage_budgets SET refused = CASE WHEN refused + $2 > $3 THEN $3 ELSE refused + $2 END, refused_at = $4
     WHERE node = $1 AND purpose = 'bytes'`,
    [node, claimed < max ? claimed : max, max, nowMs],
  )

const refusedClaims = columnsOf({ node: textColumn('node'), bytes: big('refused'), at: int('refused_at') })

/** Nodes that have claimed bytes that they cannot have relayed, since a moment or ever. */
export const listRefused = (reader: Reader, sinceAt = -1) =>
  refusedClaims.all(
    reader,
    'SELECT node, refused, refused_at FROM usage_budgets WHERE refused > 0 AND refused_at > $1 ORDER BY node',
    [sinceAt],
  )

/** The counts of these subjects by this boot. Their rows stay locked until the transaction ends. */
export async function lockCounts(tx: Tx, { node, boot }: NodeBoot, subjects: readonly string[]) {
  const rows = await tx.all<SubjectCount & { believed_received: bigint; believed_sent: bigint }>(
    `SELECT subject, received, sent, believed_received, believed_sent FROM usage_counts
     WHERE node = $1 AND boot = $2 AND subject IN (${list(subjects.length, 2)}) ORDER BY subject FOR UPDATE`,
    [node, boot, ...subjects],
  )
  const counts = rows.map(({ believed_received, believed_sent, ...count }) => ({
    ...count,
    believed: { received: believed_received, sent: believed_sent },
  }))
  return new Map(counts.map((count) => [count.subject, count]))
}

const countFigures = ['received', 'sent', 'believed_received', 'believed_sent', 'updated_at']

/** A count only rises, in whatever order writers come. The believed part is written as given: the boot is locked. */
export const raiseCounts = (tx: Tx, { node, boot }: NodeBoot, counts: readonly BelievedCount[], nowMs: number): void =>
  sendRows(
    tx,
    `INSERT INTO usage_counts (node, boot, subject, ${countFigures.join(', ')}, checksum)`,
    counts.map(({ subject, received, sent, believed }) => {
      const figures = [received, sent, believed.received, believed.sent, nowMs]
      return [node, boot, subject, ...figures, checksumOf(figures)]
    }),
    `ON CONFLICT (node, boot, subject) DO UPDATE SET
       believed_received = excluded.believed_received, believed_sent = excluded.believed_sent,
       received = CASE WHEN excluded.received > usage_counts.received
         THEN excluded.received ELSE usage_counts.received END,
       sent = CASE WHEN excluded.sent > usage_counts.sent THEN excluded.sent ELSE usage_counts.sent END,
       updated_at = excluded.updated_at, checksum = excluded.checksum`,
  )

/** Locks a boot, which serialises its reports also for subjects without a row. Notes when it last reported. */
export async function lockBoot(tx: Tx, { node, boot }: NodeBoot, nowMs: number): Promise<void> {
  await tx.run(
    `INSERT INTO usage_boots (node, boot, last_at) VALUES ($1, $2, $3)
     ON CONFLICT (node, boot) DO UPDATE SET last_at = excluded.last_at`,
    [node, boot, nowMs],
  )
}

export const unbilledClaims = columnsOf<UnbilledClaim>({
  node: textColumn('node'),
  boot: textColumn('boot'),
  subject: textColumn('subject'),
  bytes: big('bytes'),
  at: int('at'),
})

/** Counts of subjects without leases that are not wholly believed, latest first. */
export const listUnbelieved = (reader: Reader, limit: number): Promise<UnbilledClaim[]> =>
  unbilledClaims.all(
    reader,
    `SELECT node, boot, subject, received - believed_received + sent - believed_sent AS bytes, updated_at AS at
     FROM usage_counts
     WHERE (received > believed_received OR sent > believed_sent) AND NOT (subject >= $1 AND subject < $2)
     ORDER BY updated_at DESC, node, boot, subject LIMIT $3`,
    [accountSubjects, `${accountSubjects}\u{ffff}`, limit],
  )

/** The believed subjects and bytes of a node's boots that have reported since a moment. */
export async function sumBelieved(reader: Reader, node: string, sinceAt: number) {
  const row = await reader.first<{ n: bigint; total: bigint | null }>(
    `SELECT COUNT(DISTINCT counts.subject) AS n,
       CAST(SUM(counts.believed_received + counts.believed_sent) AS BIGINT) AS total
     FROM usage_counts AS counts JOIN usage_boots AS boots ON boots.node = counts.node AND boots.boot = counts.boot
     WHERE counts.node = $1 AND boots.last_at >= $2 AND counts.believed_received + counts.believed_sent > 0`,
    [node, sinceAt],
  )
  return { things: Number(row?.n ?? 0n), bytes: row?.total ?? 0n }
}

/** Locks the believed counts of a node's boots that have reported since a moment, at most `limit` at a time. */
export const lockBelieved = (tx: Tx, node: string, sinceAt: number, limit: number) =>
  tx.all<SubjectCount & { readonly boot: string }>(
    `SELECT counts.boot, counts.subject, counts.believed_received AS received, counts.believed_sent AS sent
     FROM usage_counts AS counts JOIN usage_boots AS boots ON boots.node = counts.node AND boots.boot = counts.boot
     WHERE counts.node = $1 AND boots.last_at >= $2 AND counts.believed_received + counts.believed_sent > 0
     ORDER BY counts.boot, counts.subject LIMIT $3 FOR UPDATE OF counts`,
    [node, sinceAt, limit],
  )

export const disbelieve = (tx: Tx, node: string, boot: string, subject: string): void =>
  tx.send(
    `UPDATE usage_counts SET believed_received = 0, believed_sent = 0,
       checksum = ${checksumIn(['received', 'sent', '0', '0', 'updated_at'])}
     WHERE node = $1 AND boot = $2 AND subject = $3`,
    [node, boot, subject],
  )

/** Deletes counts of subjects with a prefix whose boot has not reported since `before`, and so cannot repeat them. */
export const forgetCounts = (tx: Tx, prefix: string, before: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM usage_counts WHERE (node, boot, subject) IN
       (SELECT counts.node, counts.boot, counts.subject FROM usage_counts AS counts
        JOIN usage_boots AS boots ON boots.node = counts.node AND boots.boot = counts.boot
        WHERE counts.subject >= $1 AND counts.subject < $2 AND boots.last_at <= $3 LIMIT $4)`,
    [prefix, `${prefix}\u{ffff}`, before, limit],
  )

/** The believed bytes of each of these subjects, over nodes and boots. */
export async function sumCounts(reader: Reader, subjects: readonly string[]): Promise<Map<string, SubjectCount>> {
  if (subjects.length === 0) return new Map()
  const rows = await reader.all<WideSum<'received' | 'sent'> & { subject: string }>(
    `SELECT subject, ${wideSum('believed_received', 'received')}, ${wideSum('believed_sent', 'sent')} FROM usage_counts
     WHERE subject IN (${list(subjects.length)}) GROUP BY subject`,
    subjects,
  )
  const counts = rows.map((row) => ({
    subject: row.subject,
    received: bytes(readWide(row, 'received')),
    sent: bytes(readWide(row, 'sent')),
  }))
  return new Map(counts.map((count) => [count.subject, count]))
}

/** The believed bytes of these subjects at these nodes, both directions together. */
export async function sumAtNodes(reader: Reader, nodes: readonly string[], subjects: readonly string[]) {
  if (nodes.length === 0) return []
  const rows = await allIn<WideSum<'total'> & { subject: string }>(
    reader,
    subjects,
    (among) =>
      `SELECT subject, ${wideSum('believed_received + believed_sent', 'total')} FROM usage_counts
       WHERE node IN (${list(nodes.length)}) AND subject IN (${among}) GROUP BY subject`,
    [...nodes],
  )
  return rows.map((row) => ({ subject: row.subject, bytes: readWide(row, 'total') }))
}

/** The believed bytes of subjects with a prefix, by node and by the part of the subject behind its id and a space. */
export async function sumByNode(reader: Reader, { prefix, idLength }: { prefix: string; idLength: number }) {
  const rows = await reader.all<WideSum<'received' | 'sent'> & { node: string; part: string; subjects: bigint }>(
    `SELECT node, SUBSTR(subject, CAST($3 AS INTEGER)) AS part, COUNT(DISTINCT subject) AS subjects,
       ${wideSum('believed_received', 'received')}, ${wideSum('believed_sent', 'sent')}
     FROM usage_counts WHERE subject >= $1 AND subject < $2 GROUP BY 1, 2 ORDER BY 1, 2`,
    [prefix, `${prefix}\u{ffff}`, idLength + 2],
  )
  return rows.map((row) => ({
    node: row.node,
    part: row.part,
    subjects: Number(row.subjects),
    received: readWide(row, 'received'),
    sent: readWide(row, 'sent'),
  }))
}

/** Counts whose checksum does not match. */
export const unsoundCounts = (reader: Reader, limit: number): Promise<{ node: string; subject: string }[]> =>
  reader.all(
    `SELECT node, subject FROM usage_counts WHERE checksum <> ${checksumIn(countFigures)} ORDER BY 1, 2 LIMIT $1`,
    [limit],
  )

export type StrayBudget = {
  readonly node: string
  readonly reason: 'checksum' | 'no_boot' | 'none_for_counts' | 'none_for_leases'
}

/** Budgets of nodes without a boot or with a wrong checksum, and nodes that have counted without a budget. */
export const strayBudgets = (reader: Reader, limit: number): Promise<StrayBudget[]> =>
  reader.all<StrayBudget>(
    `SELECT node, 'no_boot' AS reason FROM usage_budgets AS budgets
     WHERE NOT EXISTS (SELECT 1 FROM usage_boots AS boots WHERE boots.node = budgets.node)
     UNION ALL SELECT node, 'checksum' FROM usage_budgets
     WHERE checksum <> ${checksumIn(['rest', 'at', `CASE purpose WHEN 'hosts' THEN 1 ELSE 0 END`])}
     UNION ALL SELECT DISTINCT node, 'none_for_counts' FROM usage_counts AS counts
     WHERE NOT EXISTS (SELECT 1 FROM usage_budgets AS budgets WHERE budgets.node = counts.node)
     UNION ALL SELECT DISTINCT node, 'none_for_leases' FROM usage_leases AS lines
     WHERE counted > 0 AND NOT EXISTS
       (SELECT 1 FROM usage_budgets AS budgets WHERE budgets.node = lines.node AND budgets.purpose = 'bytes')
     LIMIT $1`,
    [limit],
  )

/** The subjects that begin with `prefix`, a page at a time. */
export const subjectsAfter = (reader: Reader, prefix: string, after: string, limit: number): Promise<string[]> =>
  valuesOf(textColumn('subject')).all(
    reader,
    `SELECT DISTINCT subject FROM usage_counts WHERE subject > $1 AND subject >= $2 AND subject < $3
     ORDER BY subject LIMIT $4`,
    [after, prefix, `${prefix}\u{ffff}`, limit],
  )
