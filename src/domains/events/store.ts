import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import { sameBytes } from '../../core/token-text.ts'
import { allOf, list, sendRows } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import {
  type CustomerEvent,
  type EndingRow,
  type FeedPosition,
  type FeedType,
  feedTypes,
  type NumberedEvent,
  toEventData,
} from './rules.ts'

export type EventRow = {
  customer_id: CustomerId
  seq: bigint
  type: CustomerEvent['type']
  at: bigint
  order_id: OrderId | null
  subject: string | null
  data: string
  digest: Uint8Array
}

const toEvent = (row: EventRow): CustomerEvent => ({
  customer: row.customer_id,
  seq: Number(row.seq),
  type: row.type,
  at: Number(row.at),
  order: row.order_id,
  subject: row.subject,
  data: toEventData(JSON.parse(row.data)),
})

/** The next numbers and the time of a customer's events, locked until the transaction ends. Times never go back. */
export async function takeNumbers(tx: Tx, customer: CustomerId, count: number, nowMs: number) {
  const row = await tx.first<{ last: bigint; last_at: bigint }>(
    `INSERT INTO event_numbers (customer_id, last, last_at) VALUES ($1, $2, $3)
     ON CONFLICT (customer_id) DO UPDATE SET last = event_numbers.last + $2,
       last_at = CASE WHEN event_numbers.last_at > $3 THEN event_numbers.last_at ELSE $3 END
     RETURNING last, last_at`,
    [customer, count, nowMs],
  )
  return { first: Number(row?.last ?? 0n) - count + 1, at: Number(row?.last_at ?? 0n) }
}

export function insertEvents(tx: Tx, events: readonly NumberedEvent[], sha256: Sha256): void {
  const rows = events.map(({ customer, seq, type, at, order, subject, ...event }) => {
    const values = [customer, seq, type, at, order, subject, JSON.stringify(event.data)] as const
    return [...values, sha256(textOf(values))]
  })
  sendRows(tx, 'INSERT INTO events (customer_id, seq, type, at, order_id, subject, data, digest)', rows)
}

/** Whether an event has the content that was written. */
export function isUnchanged(row: EventRow, sha256: Sha256): boolean {
  const text = textOf([row.customer_id, row.seq, row.type, row.at, row.order_id, row.subject, row.data])
  return sameBytes(row.digest, sha256(text))
}

/** Only the last part may contain a space, so that no two events have one text. */
const textOf = (parts: readonly (string | number | bigint | null)[]): string =>
  parts.map((part) => part ?? '-').join(' ')

/** A page of a customer's events, oldest first, from just past a number. An empty type matches all. */
export async function listEvents(
  reader: Reader,
  customer: CustomerId,
  filter: { readonly after: number; readonly type: string; readonly limit: number },
): Promise<CustomerEvent[]> {
  const rows = await reader.all<EventRow>(
    `SELECT * FROM events WHERE customer_id = $1 AND seq > $2 AND ($3 = '' OR type = $3) ORDER BY seq LIMIT $4`,
    [customer, filter.after, filter.type, filter.limit],
  )
  return rows.map(toEvent)
}

export async function listOfOrder(reader: Reader, customer: CustomerId, order: string): Promise<CustomerEvent[]> {
  const rows = await reader.all<EventRow>(
    'SELECT * FROM events WHERE customer_id = $1 AND order_id = $2 ORDER BY seq LIMIT 1000',
    [customer, order],
  )
  return rows.map(toEvent)
}

/** SQLite uses a partial index only if the statement repeats its condition. */
const isInFeed = `type IN (${feedTypes.map((each) => `'${each}'`).join(', ')})`

/** Events of all customers and of the operators, of these types, newest first, below a position. */
export async function listFeed(
  reader: Reader,
  types: readonly FeedType[],
  { at, customer, seq }: FeedPosition,
  limit: number,
): Promise<NumberedEvent[]> {
  const rows = await reader.all<EventRow>(
    `SELECT * FROM events WHERE ${isInFeed} AND (at, customer_id, seq) < ($1, $2, $3)
       AND type IN (${list(types.length, 4)}) ORDER BY at DESC, customer_id DESC, seq DESC LIMIT $4`,
    [at, customer, seq, limit, ...types],
  )
  return rows.map(toEvent)
}

export async function deleteEvents(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM events WHERE (customer_id, seq) IN
       (SELECT customer_id, seq FROM events WHERE at <= $1 ORDER BY at, customer_id, seq LIMIT $2)`,
    [before, limit],
  )
}

export type EventPosition = { readonly customer_id: string; readonly seq: number | bigint }

/** All events, customer after customer, for `verify`. */
export const eventsAfter = (reader: Reader, after: EventPosition, limit: number): Promise<EventRow[]> =>
  reader.all<EventRow>('SELECT * FROM events WHERE (customer_id, seq) > ($1, $2) ORDER BY customer_id, seq LIMIT $3', [
    after.customer_id,
    after.seq,
    limit,
  ])

/** The last number of each customer, in pages. */
export const numbersAfter = (reader: Reader, after: string, limit: number) =>
  reader.all<{ customer_id: string; last: bigint; last_at: bigint }>(
    'SELECT customer_id, last, last_at FROM event_numbers WHERE customer_id > $1 ORDER BY customer_id LIMIT $2',
    [after, limit],
  )

/** The number of each customer's last event, and how often the customer's access was revoked. */
export const lastNumbers = (reader: Reader, customers: readonly CustomerId[]) =>
  allOf<{ customer_id: CustomerId; last: bigint | null; revocation_epoch: bigint }>(
    reader,
    customers,
    (among) => `SELECT accounts.customer_id, event_numbers.last, accounts.revocation_epoch FROM accounts
      LEFT JOIN event_numbers ON event_numbers.customer_id = accounts.customer_id
      WHERE accounts.customer_id IN (${among})`,
  )

/** The number of a customer's last event; 0 if there is none. */
export async function lastOf(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ last: bigint }>('SELECT last FROM event_numbers WHERE customer_id = $1', [customer])
  return Number(row?.last ?? 0n)
}

/** Locks where a job has arrived. A new job begins at `start`: earlier ends are not announced. */
export async function lockMark(tx: Tx, name: string, start: EndingRow): Promise<EndingRow> {
  tx.send(`INSERT INTO event_marks (name, at, after_id) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING`, [
    name,
    start.at,
    start.id,
  ])
  const row = await tx.first<{ at: bigint; after_id: string }>(
    'SELECT at, after_id FROM event_marks WHERE name = $1 FOR UPDATE',
    [name],
  )
  return row ? { at: Number(row.at), id: row.after_id } : start
}

export const writeMark = (tx: Tx, name: string, { at, id }: EndingRow): void =>
  tx.send('UPDATE event_marks SET at = $2, after_id = $3 WHERE name = $1', [name, at, id])
