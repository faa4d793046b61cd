import { chunked, list } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { UnderWay } from './rules.ts'

/**
 * What was begun to be added and is not in yet, by when it was begun: all ranges of one import have the same time.
 * While somebody is at it, one of its numbers changes every few seconds.
 */
export async function importsUnderWay(reader: Reader): Promise<UnderWay[]> {
  const begun = await reader.all<{ created_at: bigint; ranges: bigint; prefix: string }>(
    `SELECT created_at, COUNT(*) AS ranges, MIN(prefix) AS prefix FROM stock_ranges WHERE state = 'coming'
     GROUP BY created_at ORDER BY created_at`,
  )
  if (begun.length === 0) return []
  const filled = await reader.all<{ created_at: bigint; places: bigint }>(
    `SELECT stock_ranges.created_at, COUNT(*) AS places FROM stock_ranges
     JOIN stock ON stock.range_id = stock_ranges.id
     WHERE stock_ranges.state = 'coming' GROUP BY stock_ranges.created_at`,
  )
  const placesAt = new Map(filled.map((row) => [row.created_at, Number(row.places)]))
  return begun.map((row) => ({
    begunAt: Number(row.created_at),
    ranges: Number(row.ranges),
    places: placesAt.get(row.created_at) ?? 0,
    prefix: row.prefix,
  }))
}

/** Some of the ranges of an import that are not in yet. */
export async function comingOf(reader: Reader, begunAt: number, most: number): Promise<number[]> {
  const rows = await reader.all<{ id: bigint }>(
    `SELECT id FROM stock_ranges WHERE state = 'coming' AND created_at = $1 ORDER BY id LIMIT $2`,
    [begunAt, most],
  )
  return rows.map((row) => Number(row.id))
}

/** Of ranges that nobody fills any more: those that have places are in, and nodes are told; the others are gone. */
export function adoptComing(tx: Tx, ids: readonly number[], nowMs: number): void {
  for (const chunk of chunked(ids)) {
    tx.send(
      `UPDATE stock_ranges SET changed_at = $1, state = CASE
         WHEN EXISTS (SELECT 1 FROM stock WHERE stock.range_id = stock_ranges.id) THEN 'in' ELSE 'gone' END
       WHERE state = 'coming' AND id IN (${list(chunk.length, 1)})`,
      [nowMs, ...chunk],
    )
  }
}
