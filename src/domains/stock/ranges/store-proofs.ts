import { sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'

/** What the shop saw: the address that a gateway called from, or null where it is met at the shop's own socket. */
export type Proof = { readonly from: string | null; readonly provenAt: number; readonly endsAt: number }

/** Writes a proof of a node for each of these ranges. What the node said of them stays as it is. */
export function writeProofs(tx: Tx, node: string, ranges: readonly number[], { from, provenAt, endsAt }: Proof): void {
  sendRows(
    tx,
    `INSERT INTO stock_trials
       (node_id, range_id, served, problems, seen_as, changed_at, proven_from, proven_at, proof_until)`,
    ranges.map((range) => [node, range, '[]', '[]', null, provenAt, from, provenAt, endsAt]),
    `ON CONFLICT (node_id, range_id) DO UPDATE SET proven_from = excluded.proven_from,
       proven_at = excluded.proven_at, proof_until = excluded.proof_until`,
  )
}

/** Who carries the places at an address that are leased, or were after a moment; none: no customer uses the address. */
export async function leasedCarriers(reader: Reader, address: string, afterMs: number): Promise<(string | null)[]> {
  const rows = await reader.all<{ carrier: string | null }>(
    `SELECT DISTINCT carrier FROM stock JOIN leases ON leases.place_id = stock.id
     WHERE address = $1 AND (ended_at IS NULL OR ended_at >= $2)`,
    [address, afterMs],
  )
  return rows.map((row) => row.carrier)
}

/** Nodes that the operator had named for a range count as proven until a moment, now that it names none. */
export function vouch(tx: Tx, range: number, endsAt: number): void {
  tx.send('UPDATE stock_trials SET proof_until = $2 WHERE range_id = $1 AND proof_until < $2', [range, endsAt])
}

/** How many ranges on no named gateway each node claims without a proof at a moment, or never having had one. */
export async function countUnproven(reader: Reader, atMs: number): Promise<Map<string, number>> {
  const rows = await reader.all<{ node_id: string; n: bigint }>(
    `SELECT node_id, COUNT(*) AS n FROM stock_trials JOIN stock_ranges ON stock_ranges.id = stock_trials.range_id
     WHERE (proof_until <= $1 OR proven_at IS NULL) AND served <> '[]' AND homes = '' AND state = 'in'
     GROUP BY node_id`,
    [atMs],
  )
  return new Map(rows.map((row) => [row.node_id, Number(row.n)]))
}
