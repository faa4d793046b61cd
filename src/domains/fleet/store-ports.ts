import { chunked, list, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

/**
 * The next `count` ports that nobody has had, from `first` on. Whoever takes some makes the others wait for his commit.
 */
export async function takeFresh(tx: Tx, first: number, count: number): Promise<number> {
  const row = await tx.first<{ next: bigint }>(
    `INSERT INTO gateway_port_next (one, next) VALUES (1, $1 + $2)
     ON CONFLICT (one) DO UPDATE SET
       next = (CASE WHEN gateway_port_next.next < $1 THEN $1 ELSE gateway_port_next.next END) + $2
     RETURNING next`,
    [first, count],
  )
  if (!row) throw new Error('no port was given out')
  return Number(row.next) - count
}

/** Ports that have rested since before a moment, the longest first, each taken by one sale only. */
export async function takeRested(
  tx: Tx,
  of: { first: number; last: number; restedBefore: number; most: number },
): Promise<number[]> {
  const rows = await tx.all<{ port: bigint }>(
    `SELECT port FROM gateway_ports_resting WHERE since <= $1 AND port BETWEEN $2 AND $3
     ORDER BY since, port LIMIT $4 FOR UPDATE SKIP LOCKED`,
    [of.restedBefore, of.first, of.last, of.most],
  )
  const ports = rows.map((row) => Number(row.port))
  for (const chunk of chunked(ports)) {
    tx.send(`DELETE FROM gateway_ports_resting WHERE port IN (${list(chunk.length)})`, chunk)
  }
  return ports
}

/** How many of the range stand for somebody: those given out so far, less those at rest. */
export async function countInUse(reader: Reader, first: number, last: number): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COALESCE((SELECT next FROM gateway_port_next), CAST($1 AS BIGINT)) - $1
       - (SELECT COUNT(*) FROM gateway_ports_resting WHERE port BETWEEN $1 AND $2) AS n`,
    [first, last],
  )
  return Number(row?.n ?? 0n)
}

export function rest(tx: Tx, ports: readonly number[], nowMs: number): void {
  sendRows(
    tx,
    'INSERT INTO gateway_ports_resting (port, since)',
    ports.map((port) => [port, nowMs]),
  )
}
