import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { list, padded } from '../../../db/rows.ts'
import type { Reader } from '../../../db/transaction.ts'

/** A sub-user with what nobody else may see, as `verify` looks at it. */
export type SecretRow = {
  readonly id: SubuserId
  readonly customer_id: CustomerId
  readonly password: Uint8Array
  readonly digest: Uint8Array
  readonly created_at: bigint
  readonly heir_id: SubuserId | null
}

/** Every sub-user, deleted ones too, a page at a time. */
export function secretsAfter(reader: Reader, after: string, limit: number): Promise<SecretRow[]> {
  return reader.all<SecretRow>(
    'SELECT id, customer_id, password, digest, created_at, heir_id FROM subusers WHERE id > $1 ORDER BY id LIMIT $2',
    [after, limit],
  )
}

/** Whose these sub-users are. */
export async function ownersOf(reader: Reader, ids: readonly SubuserId[]): Promise<Map<SubuserId, CustomerId>> {
  if (ids.length === 0) return new Map()
  const asked = padded(ids)
  const rows = await reader.all<{ id: SubuserId; customer_id: CustomerId }>(
    `SELECT id, customer_id FROM subusers WHERE id IN (${list(asked.length)})`,
    asked,
  )
  return new Map(rows.map((row) => [row.id, row.customer_id]))
}
