import { noteRestored } from '../../db/counter.ts'
import type { Tx } from '../../db/transaction.ts'
import { askAgainAfterRestore } from '../../domains/payments/index.ts'

/** Adapts a database that went back in time: ids skip, nodes read their whole state, providers are asked again. */
export async function adaptToRestore(tx: Tx, nowMs: number): Promise<void> {
  await noteRestored(tx, nowMs)
  await askAgainAfterRestore(tx)
}
