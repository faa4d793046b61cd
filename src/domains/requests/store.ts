import type { CustomerId } from '../../core/ids.ts'
import { columnsOf, flag, idColumn, int, orNull, recordsOf, textColumn } from '../../db/columns.ts'
import { allOf, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { LoggedRequest, RequestKind, RequestPosition, ShownRequest } from './rules.ts'

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

/** Writes requests, without those of erased customers, which waited in memory during the erasure. */
export async function insertRequests(tx: Tx, requests: readonly LoggedRequest[]): Promise<void> {
  const customers = [...new Set(requests.map((each) => each.customer))]
  const rows = await allOf<{ customer_id: string }>(
    tx,
    customers,
    (among) => `SELECT customer_id FROM erasures WHERE customer_id IN (${among})`,
  )
  const erased = new Set(rows.map((row) => row.customer_id))
  const kept = requests.filter((each) => !erased.has(each.customer)).map(columns.values)
  sendRows(tx, `INSERT INTO request_log (${columns.names})`, kept, 'ON CONFLICT DO NOTHING')
}

/** A customer's requests before a position, newest first. */
export const listRequests = (reader: Reader, customer: CustomerId, before: RequestPosition, limit: number) =>
  shown.all(
    reader,
    `SELECT request_log.*, tokens.name AS token_name FROM request_log
     LEFT JOIN tokens ON tokens.id = request_log.token_id
     WHERE request_log.customer_id = $1 AND (at, request_id) < ($2, $3) ORDER BY at DESC, request_id DESC LIMIT $4`,
    [customer, before.at, before.id, limit],
  )

const ofKind: Record<RequestKind, string> = {
  changes: 'is_read = 0 AND status < 400',
  refusals: 'status >= 400',
  reads: 'is_read = 1',
}

/** Deletes all but the newest `kept` rows of a kind. */
export const trimRequests = (tx: Tx, customer: CustomerId, kind: RequestKind, kept: number): Promise<number> =>
  tx.run(
    `DELETE FROM request_log WHERE customer_id = $1 AND ${ofKind[kind]} AND (at, request_id) <=
       (SELECT at, request_id FROM request_log WHERE customer_id = $1 AND ${ofKind[kind]}
        ORDER BY at DESC, request_id DESC LIMIT 1 OFFSET $2)`,
    [customer, kept],
  )

export const deleteOld = (tx: Tx, before: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM request_log WHERE (customer_id, at, request_id) IN
       (SELECT customer_id, at, request_id FROM request_log WHERE at <= $1 ORDER BY at LIMIT $2)`,
    [before, limit],
  )
