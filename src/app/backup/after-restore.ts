import { noteLife } from '../../db/counter.ts'
import type { Tx } from '../../db/transaction.ts'
import { endJoinKeysAfterRestore } from '../../domains/fleet/index.ts'
import { askAgainAfterRestore } from '../../domains/payments/index.ts'
import { endSignInsAfterRestore } from '../../domains/signin/index.ts'

/**
 * What a database that went back in time has forgotten: payments that were credited, sessions that were ended, links,
 * recovery codes and join keys that were used. Providers are asked again, and the rest ends.
 */
export async function repairLostTime(tx: Tx, nowMs: number): Promise<void> {
  await askAgainAfterRestore(tx)
  await endSignInsAfterRestore(tx, nowMs)
  await endJoinKeysAfterRestore(tx, nowMs)
}

/** Adapts a restored database: ids skip and nodes read their whole state, too. */
export async function adaptToRestore(tx: Tx, nowMs: number): Promise<void> {
  await noteLife(tx, nowMs)
  await repairLostTime(tx, nowMs)
}
