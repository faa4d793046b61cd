import { columnsOf, int, oneOf, textColumn } from '../../db/columns.ts'
import { changesOne } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { alertTypes, toEventData } from '../events/rules.ts'
import type { Alert, Condition } from './rules.ts'

const alerts = columnsOf<Omit<Alert, 'data'> & { readonly text: string }>({
  type: oneOf('type', alertTypes),
  subject: textColumn('subject'),
  text: textColumn('data'),
  raisedAt: int('raised_at'),
  seenAt: int('seen_at'),
})

/** Every raised alert, the oldest first. */
export async function listAlerts(reader: Reader): Promise<Alert[]> {
  const found = await alerts.all(reader, 'SELECT * FROM alerts ORDER BY raised_at, type, subject')
  return found.map(({ text, ...alert }) => ({ ...alert, data: toEventData(JSON.parse(text)) }))
}

/** Raises an alert; false if it was raised already. */
export const insertAlert = (tx: Tx, { type, subject, data }: Condition, nowMs: number): Promise<boolean> =>
  changesOne(
    tx,
    `INSERT INTO alerts (type, subject, data, raised_at, seen_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (type, subject) DO NOTHING`,
    [type, subject, JSON.stringify(data), nowMs],
  )

export const touchAlert = (tx: Tx, { type, subject }: Condition, nowMs: number): void =>
  tx.send('UPDATE alerts SET seen_at = $3 WHERE type = $1 AND subject = $2 AND seen_at < $3', [type, subject, nowMs])

/** Ends an alert; false if it ended before. */
export const deleteAlert = (tx: Tx, { type, subject }: Condition): Promise<boolean> =>
  changesOne(tx, 'DELETE FROM alerts WHERE type = $1 AND subject = $2', [type, subject])
