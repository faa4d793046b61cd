import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { list, numberOrNull, readWide, type WideSum, wideSum } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Order, Plain } from './rules.ts'

export type OrderRow = {
  id: string
  customer_id: string
  product: string
  action: string
  price: bigint
  charge_seq: bigint | null
  token_id: string | null
  wish: string
  calculation: string
  created_at: bigint
}

export const toOrder = (row: OrderRow): Order => ({
  id: row.id as OrderId,
  customer: row.customer_id as CustomerId,
  product: row.product,
  action: row.action,
  price: kopecks(row.price),
  chargeSeq: numberOrNull(row.charge_seq),
  token: row.token_id as TokenId | null,
  wish: JSON.parse(row.wish) as Plain,
  calculation: JSON.parse(row.calculation) as Plain,
  createdAt: Number(row.created_at),
})

export function insertOrder(tx: Tx, order: Order): void {
  tx.send(
    `INSERT INTO orders (id, customer_id, product, action, price, charge_seq, token_id, wish, calculation, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      order.id,
      order.customer,
      order.product,
      order.action,
      order.price,
      order.chargeSeq,
      order.token,
      JSON.stringify(order.wish),
      JSON.stringify(order.calculation),
      order.createdAt,
    ],
  )
}

/** Another customer's order is as good as none. */
export async function findOrder(reader: Reader, customer: CustomerId, id: OrderId): Promise<Order | undefined> {
  const row = await reader.first<OrderRow>('SELECT * FROM orders WHERE id = $1 AND customer_id = $2', [id, customer])
  return row && toOrder(row)
}

/** For the operator, who may see every customer's orders. */
export async function findAnyOrder(reader: Reader, id: OrderId): Promise<Order | undefined> {
  const row = await reader.first<OrderRow>('SELECT * FROM orders WHERE id = $1', [id])
  return row && toOrder(row)
}

export async function findMany(reader: Reader, ids: readonly OrderId[]): Promise<Order[]> {
  if (ids.length === 0) return []
  const rows = await reader.all<OrderRow>(`SELECT * FROM orders WHERE id IN (${list(ids.length)})`, ids)
  return rows.map(toOrder)
}

export async function countOf(reader: Reader, product: string): Promise<number> {
  const row = await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM orders WHERE product = $1', [product])
  return Number(row?.n ?? 0n)
}

export async function countOrders(reader: Reader): Promise<number> {
  return Number((await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM orders'))?.n ?? 0n)
}

/** A text that every order's id is below. */
export const pastLastId = 'ore'

/** Orders that cost nothing, newest first, from just below `before`. */
export async function listFree(reader: Reader, customer: CustomerId, before: string, limit: number): Promise<Order[]> {
  const rows = await reader.all<OrderRow>(
    'SELECT * FROM orders WHERE customer_id = $1 AND charge_seq IS NULL AND id < $2 ORDER BY id DESC LIMIT $3',
    [customer, before, limit],
  )
  return rows.map(toOrder)
}

export type StoredAnswer = { request: Uint8Array; body: string; order_id: string | null; created_at: bigint }

export async function findAnswer(
  reader: Reader,
  customer: CustomerId,
  key: string,
  sinceAt: number,
): Promise<StoredAnswer | undefined> {
  return reader.first<StoredAnswer>(
    `SELECT request, body, order_id, created_at FROM answers
     WHERE customer_id = $1 AND key = $2 AND created_at > $3`,
    [customer, key, sinceAt],
  )
}

/** The key's first effect. A record past its time gives way; one that is still kept makes the transaction fail. */
export function insertAnswer(
  tx: Tx,
  answer: {
    customer: CustomerId
    key: string
    request: Uint8Array
    body: string
    order: OrderId
    at: number
    sinceAt: number
  },
): void {
  tx.send('DELETE FROM answers WHERE customer_id = $1 AND key = $2 AND created_at <= $3', [
    answer.customer,
    answer.key,
    answer.sinceAt,
  ])
  tx.send(
    'INSERT INTO answers (customer_id, key, request, body, order_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)',
    [answer.customer, answer.key, answer.request, answer.body, answer.order, answer.at],
  )
}

/** Forgets old answers, a bounded number at a time. */
export async function deleteAnswers(tx: Tx, before: number, most: number): Promise<number> {
  return tx.run(
    `DELETE FROM answers WHERE (customer_id, key) IN
       (SELECT customer_id, key FROM answers WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`,
    [before, most],
  )
}

/** What was sold on each day from a moment on, by product. Ids grow with time, so only those days are read. */
export async function salesByDay(
  reader: Reader,
  firstId: string,
): Promise<{ day: number; product: string; orders: number; sum: Kopecks }[]> {
  const rows = await reader.all<{ day: bigint; product: string; n: bigint } & WideSum<'sum'>>(
    `SELECT created_at / 86400000 AS day, product, COUNT(*) AS n, ${wideSum('price', 'sum')} FROM orders
     WHERE id >= $1 GROUP BY created_at / 86400000, product ORDER BY 1, 2`,
    [firstId],
  )
  return rows.map((row) => ({
    day: Number(row.day) * 86_400_000,
    product: row.product,
    orders: Number(row.n),
    sum: kopecks(readWide(row, 'sum')),
  }))
}
