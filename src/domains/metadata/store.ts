import type { CustomerId } from '../../core/ids.ts'
import { allOf, sendIn, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Metadata, MetadataChange, MetadataKind } from './rules.ts'

/** Writes pairs on new things. */
export function attachMetadata(
  tx: Tx,
  customer: CustomerId,
  kind: MetadataKind,
  subjects: readonly (string | number)[],
  pairs: Metadata,
): void {
  const entries = Object.entries(pairs)
  const rows = subjects.flatMap((subject) => entries.map((pair) => [customer, kind, String(subject), ...pair]))
  if (rows.length > 0) sendRows(tx, 'INSERT INTO metadata (customer_id, kind, subject, key, value)', rows)
}

/** Sets and removes pairs of one thing. The caller has locked the account. */
export function writeChange(
  tx: Tx,
  customer: CustomerId,
  kind: MetadataKind,
  subject: string,
  change: MetadataChange,
): void {
  const entries = Object.entries(change)
  const removed = entries.filter(([, value]) => value === null).map(([key]) => key)
  sendIn(
    tx,
    removed,
    (among) => `DELETE FROM metadata WHERE customer_id = $1 AND kind = $2 AND subject = $3 AND key IN (${among})`,
    [customer, kind, subject],
  )
  const rows = entries.flatMap(([key, value]) => (value === null ? [] : [[customer, kind, subject, key, value]]))
  if (rows.length === 0) return
  sendRows(
    tx,
    'INSERT INTO metadata (customer_id, kind, subject, key, value)',
    rows,
    'ON CONFLICT (customer_id, kind, subject, key) DO UPDATE SET value = excluded.value',
  )
}

/** The pairs of a customer's things, by their ids; a thing without any is absent. */
export async function metadataOf(
  reader: Reader,
  customer: CustomerId,
  kind: MetadataKind,
  subjects: readonly (string | number)[],
): Promise<ReadonlyMap<string, Metadata>> {
  const rows = await allOf<{ subject: string; key: string; value: string }>(
    reader,
    subjects.map(String),
    (among) =>
      `SELECT subject, key, value FROM metadata
       WHERE customer_id = $1 AND kind = $2 AND subject IN (${among}) ORDER BY subject, key`,
    [customer, kind],
  )
  const bySubject = Map.groupBy(rows, (row) => row.subject)
  return new Map(
    [...bySubject].map(([subject, of]) => [subject, Object.fromEntries(of.map(({ key, value }) => [key, value]))]),
  )
}

/** Removes all pairs of a thing that is deleted. */
export const forgetMetadata = (tx: Tx, customer: CustomerId, kind: MetadataKind, subject: string): void =>
  tx.send('DELETE FROM metadata WHERE customer_id = $1 AND kind = $2 AND subject = $3', [customer, kind, subject])
