import { list } from '../../db/rows.ts'
import type { Reader } from '../../db/transaction.ts'

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

/** How many steps there are. */
export async function countChanges(reader: Reader): Promise<number> {
  const row = await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM payment_changes')
  return Number(row?.n ?? 0n)
}
