import { list, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { bytes } from '../../../kernel/bytes.ts'
import type { Count } from './rules.ts'

type Row = { subject: string; received: bigint; sent: bigint }

/** What is known of these subjects from this boot of this node; their rows stay locked until the transaction ends. */
export async function lockCounts(
  tx: Tx,
  node: string,
  boot: string,
  subjects: readonly string[],
): Promise<Map<string, Count>> {
  const rows = await tx.all<Row>(
    `SELECT subject, received, sent FROM usage_counts
     WHERE node = $1 AND boot = $2 AND subject IN (${list(subjects.length, 2)}) ORDER BY subject FOR UPDATE`,
    [node, boot, ...subjects],
  )
  return new Map(
    rows.map((row) => [row.subject, { subject: row.subject, received: bytes(row.received), sent: bytes(row.sent) }]),
  )
}

/** A count only ever rises, whoever writes last. */
export function raiseCounts(tx: Tx, node: string, boot: string, counts: readonly Count[], nowMs: number): void {
  sendRows(
    tx,
    'INSERT INTO usage_counts (node, boot, subject, received, sent, updated_at)',
    counts.map((count) => [node, boot, count.subject, count.received, count.sent, nowMs]),
    `ON CONFLICT (node, boot, subject) DO UPDATE SET
       received = CASE WHEN excluded.received > usage_counts.received
         THEN excluded.received ELSE usage_counts.received END,
       sent = CASE WHEN excluded.sent > usage_counts.sent THEN excluded.sent ELSE usage_counts.sent END,
       updated_at = excluded.updated_at`,
  )
}

/** Reports of one boot of one node take turns, also for subjects that have no row to lock yet. */
export async function lockBoot(tx: Tx, node: string, boot: string, nowMs: number): Promise<void> {
  await tx.run(
    `INSERT INTO usage_boots (node, boot, last_at) VALUES ($1, $2, $3)
     ON CONFLICT (node, boot) DO UPDATE SET last_at = excluded.last_at`,
    [node, boot, nowMs],
  )
}

/** A boot that has been silent for so long reports no more, so its counts cannot be repeated either. */
export async function forgetCounts(tx: Tx, prefix: string, before: number, most: number): Promise<number> {
  return tx.run(
    `DELETE FROM usage_counts WHERE (node, boot, subject) IN
       (SELECT counts.node, counts.boot, counts.subject FROM usage_counts AS counts
        JOIN usage_boots AS boots ON boots.node = counts.node AND boots.boot = counts.boot
        WHERE counts.subject >= $1 AND counts.subject < $2 AND boots.last_at <= $3 LIMIT $4)`,
    [prefix, `${prefix}\u{ffff}`, before, most],
  )
}

/** PostgreSQL sums whole numbers into NUMERIC, which would come back as a text. */
export async function sumCounts(reader: Reader, subjects: readonly string[]): Promise<Map<string, Count>> {
  if (subjects.length === 0) return new Map()
  const rows = await reader.all<Row>(
    `SELECT subject, CAST(SUM(received) AS BIGINT) AS received, CAST(SUM(sent) AS BIGINT) AS sent FROM usage_counts
     WHERE subject IN (${list(subjects.length)}) GROUP BY subject`,
    subjects,
  )
  return new Map(
    rows.map((row) => [row.subject, { subject: row.subject, received: bytes(row.received), sent: bytes(row.sent) }]),
  )
}
