import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId } from '../../core/ids.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Event, EventData, EventType } from './rules.ts'

export type EventRow = {
  customer_id: string
  seq: bigint
  type: string
  at: bigint
  order_id: string | null
  subject: string | null
  data: string
  digest: Uint8Array
}

const toEvent = (row: EventRow): Event => ({
  customer: row.customer_id as CustomerId,
  seq: Number(row.seq),
  type: row.type as EventType,
  at: Number(row.at),
  order: row.order_id as OrderId | null,
  subject: row.subject,
  data: JSON.parse(row.data) as EventData,
})

/**
 * The next number of a customer's events, and its time, which is never before the last one's. Nobody else gets one for
 * this customer until the transaction has ended.
 */
export async function takeNumber(
  tx: Tx,
  customer: CustomerId,
  nowMs: number,
): Promise<{ readonly seq: number; readonly at: number }> {
  const row = await tx.first<{ last: bigint; last_at: bigint }>(
    `INSERT INTO event_numbers (customer_id, last, last_at) VALUES ($1, 1, $2)
     ON CONFLICT (customer_id) DO UPDATE SET last = event_numbers.last + 1,
       last_at = CASE WHEN event_numbers.last_at > $2 THEN event_numbers.last_at ELSE $2 END
     RETURNING last, last_at`,
    [customer, nowMs],
  )
  return { seq: Number(row?.last ?? 0n), at: Number(row?.last_at ?? 0n) }
}

export function insertEvent(tx: Tx, event: Event, sha256: Sha256): void {
  const data = JSON.stringify(event.data)
  const { customer, seq, type, at, order, subject } = event
  tx.send(
    `INSERT INTO events (customer_id, seq, type, at, order_id, subject, data, digest)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [customer, seq, type, at, order, subject, data, sha256(textOf([customer, seq, type, at, order, subject, data]))],
  )
}

/** Whether an event says what was told. */
export function isAsTold(row: EventRow, sha256: Sha256): boolean {
  const text = textOf([row.customer_id, row.seq, row.type, row.at, row.order_id, row.subject, row.data])
  return sameBytes(row.digest, sha256(text))
}

/** Only the last part may hold a space. */
const textOf = (parts: readonly (string | number | bigint | null)[]): string =>
  parts.map((part) => part ?? '-').join(' ')

/** A page of a customer's events, oldest first, from just past a number. */
export async function listEvents(
  reader: Reader,
  customer: CustomerId,
  filter: { readonly after: number; readonly type: string; readonly limit: number },
): Promise<Event[]> {
  const rows = await reader.all<EventRow>(
    `SELECT * FROM events WHERE customer_id = $1 AND seq > $2 AND ($3 = '' OR type = $3) ORDER BY seq LIMIT $4`,
    [customer, filter.after, filter.type, filter.limit],
  )
  return rows.map(toEvent)
}

/** Those that tell of an order, the oldest first. */
export async function listOfOrder(reader: Reader, customer: CustomerId, order: string): Promise<Event[]> {
  const rows = await reader.all<EventRow>(
    'SELECT * FROM events WHERE customer_id = $1 AND order_id = $2 ORDER BY seq LIMIT 1000',
    [customer, order],
  )
  return rows.map(toEvent)
}

/** Forgets the oldest, a bounded number at a time. */
export async function deleteEvents(tx: Tx, before: number, most: number): Promise<number> {
  return tx.run(
    `DELETE FROM events WHERE (customer_id, seq) IN
       (SELECT customer_id, seq FROM events WHERE at <= $1 ORDER BY at, customer_id, seq LIMIT $2)`,
    [before, most],
  )
}

/** Every event that is kept, customer after customer, for `verify`. */
export function eventsAfter(
  reader: Reader,
  after: { readonly customer: string; readonly seq: number },
  limit: number,
): Promise<EventRow[]> {
  return reader.all<EventRow>(
    'SELECT * FROM events WHERE (customer_id, seq) > ($1, $2) ORDER BY customer_id, seq LIMIT $3',
    [after.customer, after.seq, limit],
  )
}

/** Where each customer's numbers have come to, a page at a time. */
export function numbersAfter(
  reader: Reader,
  after: string,
  limit: number,
): Promise<{ customer_id: string; last: bigint; last_at: bigint }[]> {
  return reader.all(
    'SELECT customer_id, last, last_at FROM event_numbers WHERE customer_id > $1 ORDER BY customer_id LIMIT $2',
    [after, limit],
  )
}
