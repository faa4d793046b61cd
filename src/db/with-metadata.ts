import type { Value } from './transaction.ts'

/**
 * A condition for the customer's things that have all of these pairs: `$1` is the customer, and its values follow
 * `after` others. Each pair is one range of the index `metadata_by_value`.
 */
export function withMetadata(
  kind: string,
  column: string,
  pairs: Readonly<Record<string, string>>,
  after: number,
): { readonly sql: string; readonly values: readonly Value[] } {
  const subject = kind === 'proxy' ? 'CAST(subject AS BIGINT)' : 'subject'
  const entries = Object.entries(pairs)
  const conditions = entries.map(
    (_, index) =>
      `AND ${column} IN (SELECT ${subject} FROM metadata WHERE customer_id = $1 AND kind = '${kind}'
         AND key = $${after + 2 * index + 1} AND value = $${after + 2 * index + 2})`,
  )
  return { sql: conditions.join(' '), values: entries.flat() }
}
