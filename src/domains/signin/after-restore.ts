import type { Tx } from '../../db/transaction.ts'
import { factorPeriodMs } from './ports.ts'
import * as store from './store.ts'

/**
 * Ends every session, one-time link and recovery code of a database that went back in time: it does not know which of
 * them were ended or used since. Owners sign in with their passwords and make new recovery codes. A code of the second
 * factor from before the restore is not accepted again; the next one is valid after at most 60 seconds.
 */
export async function endSignInsAfterRestore(tx: Tx, nowMs: number): Promise<void> {
  await store.endAllSessions(tx, nowMs)
  await store.voidAllLinks(tx, nowMs)
  // Codes of one period ahead are accepted, because clocks differ.
  await store.voidAllCodes(tx, Math.floor(nowMs / factorPeriodMs) + 1)
}
