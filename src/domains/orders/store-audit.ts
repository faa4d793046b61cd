import type { CustomerId, OrderId } from '../../core/ids.ts'
import { list } from '../../db/rows.ts'
import type { Reader } from '../../db/transaction.ts'
import type { Order, Plain } from './rules.ts'
import { type OrderRow, toOrder } from './store.ts'

/** What an order remembers may be damaged; then it remembers nothing, and whoever looks at it says so. */
function toReadable(row: OrderRow): Order {
  const readable = (text: string): string => (isJson(text) ? text : 'null')
  return toOrder({ ...row, wish: readable(row.wish), calculation: readable(row.calculation) })
}

function isJson(text: string): boolean {
  try {
    return (JSON.parse(text) as Plain) !== null
  } catch {
    return false
  }
}

/** Every order there is, in the order of their ids, a page at a time. */
export async function allOrdersAfter(reader: Reader, after: string, limit: number): Promise<Order[]> {
  const rows = await reader.all<OrderRow>('SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2', [after, limit])
  return rows.map(toReadable)
}

/** Every order of a product, oldest first, a page at a time. */
export async function ordersAfter(reader: Reader, product: string, after: string, limit: number): Promise<Order[]> {
  const rows = await reader.all<OrderRow>('SELECT * FROM orders WHERE id > $1 AND product = $2 ORDER BY id LIMIT $3', [
    after,
    product,
    limit,
  ])
  return rows.map(toReadable)
}

export async function findAudited(reader: Reader, ids: readonly OrderId[]): Promise<Order[]> {
  if (ids.length === 0) return []
  const rows = await reader.all<OrderRow>(`SELECT * FROM orders WHERE id IN (${list(ids.length)})`, ids)
  return rows.map(toReadable)
}

/** Orders that cost nothing, newest first, from just below `before`. */
export async function freeBefore(
  reader: Reader,
  customer: CustomerId,
  before: string,
  limit: number,
): Promise<Order[]> {
  const rows = await reader.all<OrderRow>(
    'SELECT * FROM orders WHERE customer_id = $1 AND charge_seq IS NULL AND id < $2 ORDER BY id DESC LIMIT $3',
    [customer, before, limit],
  )
  return rows.map(toReadable)
}

export type AnswerRow = {
  customer_id: string
  key: string
  request: Uint8Array
  body: string
  order_id: string | null
  created_at: bigint
}

/** Every answer that is kept, customer after customer. */
export function answersAfter(
  reader: Reader,
  after: { readonly customer: string; readonly key: string },
  limit: number,
): Promise<AnswerRow[]> {
  return reader.all<AnswerRow>(
    `SELECT customer_id, key, request, body, order_id, created_at FROM answers WHERE (customer_id, key) > ($1, $2)
     ORDER BY customer_id, key LIMIT $3`,
    [after.customer, after.key, limit],
  )
}
