import { noteLife } from '../../db/counter.ts'
import type { Tx } from '../../db/transaction.ts'
import { endJoinKeysAfterRestore } from '../../domains/fleet/index.ts'
import { askAgainAfterRestore } from '../../domains/payments/index.ts'
import { endSignInsAfterRestore } from '../../domains/signin/index.ts'

/** Adapts a database that went back in time: ids skip, nodes read their whole state, providers are asked again. */
export async function adaptToRestore(tx: Tx, nowMs: number): Promise<void> {
  await noteLife(tx, nowMs)
  await askAgainAfterRestore(tx)
  await endSignInsAfterRestore(tx, nowMs)
  await endJoinKeysAfterRestore(tx, nowMs)
}
