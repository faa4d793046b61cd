import { list } from '../../db/rows.ts'
import type { Reader } from '../../db/transaction.ts'
import type { ProviderRow } from './store-operator.ts'

type AuditedChange = {
  payment_id: string
  number: bigint
  kind: string
  state: string
  amount: bigint
  total: bigint | null
  posting: bigint | null
}

/** All steps of these payments, each payment's in their order. */
export function changesOf(reader: Reader, payments: readonly string[]): Promise<AuditedChange[]> {
  return reader.all<AuditedChange>(
    `SELECT payment_id, number, kind, state, amount, total, posting FROM payment_changes
     WHERE payment_id IN (${list(payments.length)}) ORDER BY payment_id, number`,
    payments,
  )
}

/** How many steps there are, and how many of them have moved money. */
export async function countChanges(reader: Reader): Promise<{ all: number; moved: number }> {
  const row = await reader.first<{ n: bigint; moved: bigint }>(
    'SELECT COUNT(*) AS n, COUNT(posting) AS moved FROM payment_changes',
  )
  return { all: Number(row?.n ?? 0n), moved: Number(row?.moved ?? 0n) }
}

export const providersSet = (reader: Reader): Promise<ProviderRow[]> =>
  reader.all<ProviderRow>('SELECT * FROM payment_providers ORDER BY name')
