import type { Tx } from '../../../db/transaction.ts'
import { judgeAlert } from './rules.ts'
import * as store from './store.ts'

/**
 * Finds which event is due for a subject with so much left, and notes that it is written. Returns the percentage used,
 * or undefined if another process was faster or more traffic was bought. The caller writes the event.
 */
export async function takeDueAlert(tx: Tx, subject: string, left: bigint): Promise<number | undefined> {
  const alert = await store.lockAlert(tx, subject)
  if (!alert || alert.dueLeft === null || left > alert.dueLeft) return undefined
  const { percent, dueLeft } = judgeAlert(alert, left)
  store.writeDue(tx, subject, dueLeft)
  return percent
}
