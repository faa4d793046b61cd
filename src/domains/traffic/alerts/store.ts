import type { SubuserId } from '../../../core/ids.ts'
import { big, columnsOf, idColumn, orNull, textColumn } from '../../../db/columns.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { ByteAccountKey } from '../accounts/rules.ts'
import { startAlert, type TrafficAlert } from './rules.ts'

const alerts = columnsOf<TrafficAlert>({
  subject: textColumn('subject'),
  whole: big('whole'),
  dueLeft: orNull(big('due_left')),
})

/** Begins the alerts of a subject again: bytes have arrived. */
export function restartAlert(tx: Tx, subject: string, whole: bigint): void {
  tx.send(
    `INSERT INTO traffic_alerts (${alerts.names}) VALUES ($1, $2, $3)
     ON CONFLICT (subject) DO UPDATE SET whole = excluded.whole, due_left = excluded.due_left`,
    alerts.values(startAlert(subject, whole)),
  )
}

/** Locks an alert, so that one process writes its event. */
export const lockAlert = (tx: Tx, subject: string): Promise<TrafficAlert | undefined> =>
  alerts.first(tx, 'SELECT * FROM traffic_alerts WHERE subject = $1 FOR UPDATE', [subject])

export const writeDue = (tx: Tx, subject: string, dueLeft: bigint | null): void =>
  tx.send('UPDATE traffic_alerts SET due_left = $2 WHERE subject = $1', [subject, dueLeft])

const keys = columnsOf<ByteAccountKey>({ subuser: idColumn<SubuserId>('subuser_id'), pool: textColumn('pool') })

/** Byte accounts of which so little is left that an event is due. */
export const dueAccounts = (reader: Reader, limit: number): Promise<ByteAccountKey[]> =>
  keys.all(
    reader,
    `SELECT accounts.subuser_id, accounts.pool FROM traffic_accounts AS accounts
     JOIN traffic_alerts ON traffic_alerts.subject = 'premium:' || accounts.subuser_id || ':' || accounts.pool
     WHERE accounts.balance + accounts.aside <= traffic_alerts.due_left
     ORDER BY accounts.subuser_id, accounts.pool LIMIT $1`,
    [limit],
  )
