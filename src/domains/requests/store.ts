import type { CustomerId } from '../../core/ids.ts'
import { columnsOf, flag, idColumn, int, orNull, recordsOf, textColumn } from '../../db/columns.ts'
import { sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { LoggedRequest, RequestPosition, ShownRequest } from './rules.ts'

const columns = columnsOf<LoggedRequest>({
  customer: idColumn('customer_id'),
  at: int('at'),
  id: textColumn('request_id'),
  operation: textColumn('operation'),
  status: int('status'),
  reason: orNull(textColumn('reason')),
  key: orNull(textColumn('idempotency_key')),
  token: orNull(idColumn('token_id')),
  isRead: flag('is_read'),
})

const shown = recordsOf(
  (row): ShownRequest => ({
    ...columns.read(row),
    tokenName: orNull(textColumn('token_name')).read(row['token_name']),
  }),
)

export const insertRequests = (tx: Tx, requests: readonly LoggedRequest[]): void =>
  sendRows(tx, `INSERT INTO request_log (${columns.names})`, requests.map(columns.values), 'ON CONFLICT DO NOTHING')

/** A customer's requests before a position, newest first. */
export const listRequests = (reader: Reader, customer: CustomerId, before: RequestPosition, limit: number) =>
  shown.all(
    reader,
    `SELECT request_log.*, tokens.name AS token_name FROM request_log
     LEFT JOIN tokens ON tokens.id = request_log.token_id
     WHERE request_log.customer_id = $1 AND (at, request_id) < ($2, $3) ORDER BY at DESC, request_id DESC LIMIT $4`,
    [customer, before.at, before.id, limit],
  )

/** Deletes all but the newest `kept` rows of a kind. */
export const trimRequests = (tx: Tx, customer: CustomerId, isRead: boolean, kept: number): Promise<number> =>
  tx.run(
    `DELETE FROM request_log WHERE customer_id = $1 AND is_read = $2 AND (at, request_id) <=
       (SELECT at, request_id FROM request_log WHERE customer_id = $1 AND is_read = $2
        ORDER BY at DESC, request_id DESC LIMIT 1 OFFSET $3)`,
    [customer, isRead ? 1 : 0, kept],
  )

export const deleteOld = (tx: Tx, before: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM request_log WHERE (customer_id, at, request_id) IN
       (SELECT customer_id, at, request_id FROM request_log WHERE at <= $1 ORDER BY at LIMIT $2)`,
    [before, limit],
  )
