import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Column, columnsOf, idColumn, int, money, orNull, type Row, textColumn } from '../../db/columns.ts'
import { allOf, changesOne, countBy, list, pastPrefix } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { withMetadata } from '../../db/with-metadata.ts'
import type { Metadata } from '../metadata/rules.ts'
import { type AnswerRow, type KeyForms, type Order, type Plain, readPlain } from './rules.ts'

const json = (name: string): Column<Plain> => ({
  name,
  read: (value) => readPlain(textColumn(name).read(value)),
  write: (value) => JSON.stringify(value),
})

export const orders = columnsOf<Order>({
  id: idColumn('id'),
  customer: idColumn('customer_id'),
  product: textColumn('product'),
  action: textColumn('action'),
  price: money('price'),
  chargeSeq: orNull(int('charge_seq')),
  token: orNull(idColumn('token_id')),
  input: json('input'),
  calculation: json('calculation'),
  createdAt: int('created_at'),
  requestId: orNull(textColumn('request_id')),
  key: orNull(textColumn('idempotency_key')),
})

export function insertOrder(tx: Tx, order: Order): void {
  tx.send(`INSERT INTO orders (${orders.names}) VALUES (${list(12)})`, orders.values(order))
}

/** Undefined for another customer's order. */
export const findOrder = (reader: Reader, customer: CustomerId, id: OrderId): Promise<Order | undefined> =>
  orders.first(reader, 'SELECT * FROM orders WHERE id = $1 AND customer_id = $2', [id, customer])

/** Any customer's order. */
export const findAnyOrder = (reader: Reader, id: OrderId): Promise<Order | undefined> =>
  orders.first(reader, 'SELECT * FROM orders WHERE id = $1', [id])

/** Orders of any customers whose id begins with the text, oldest first. */
export const findByPrefix = (reader: Reader, text: string, limit: number): Promise<Order[]> =>
  orders.all(reader, 'SELECT * FROM orders WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3', [
    text,
    pastPrefix(text),
    limit,
  ])

/** Orders of any customers, newest first, below an id. */
export const newest = (reader: Reader, below: string, limit: number): Promise<Order[]> =>
  orders.all(reader, 'SELECT * FROM orders WHERE id < $1 ORDER BY id DESC LIMIT $2', [below, limit])

/** The request id and idempotency key of an order, as far as they are known. */
export type OrderNames = { readonly requestId: string | undefined; readonly key: KeyForms | undefined }

/** Orders of any customers with this request id, then with this idempotency key. PostgreSQL scans the table for OR. */
export async function findByRequest(reader: Reader, key: KeyForms, limit: number): Promise<Order[]> {
  const findBy = (column: 'request_id' | 'idempotency_key') =>
    orders.all(reader, `SELECT * FROM orders WHERE ${column} IN ($1, $2) ORDER BY created_at DESC LIMIT $3`, [
      ...key,
      limit,
    ])
  return [...(await findBy('request_id')), ...(await findBy('idempotency_key'))]
}

/** A customer's orders with this request id, idempotency key or both, newest first, from just below `before`. */
export function listNamed(
  reader: Reader,
  customer: CustomerId,
  { requestId, key }: OrderNames,
  before: string,
  limit: number,
): Promise<Order[]> {
  const byRequest = requestId === undefined ? '' : 'AND request_id = $4'
  const byKey = key === undefined ? '' : `AND idempotency_key IN ($${requestId === undefined ? '4, $5' : '5, $6'})`
  return orders.all(
    reader,
    `SELECT * FROM orders WHERE customer_id = $1 AND id < $2 ${byRequest} ${byKey} ORDER BY id DESC LIMIT $3`,
    [customer, before, limit, ...(requestId === undefined ? [] : [requestId]), ...(key ?? [])],
  )
}

/** A customer's orders with all of these pairs, newest first, from just below `before`. */
export function listWithMetadata(
  reader: Reader,
  customer: CustomerId,
  pairs: Metadata,
  before: string,
  limit: number,
): Promise<Order[]> {
  const also = withMetadata('order', 'id', pairs, 3)
  return orders.all(
    reader,
    `SELECT * FROM orders WHERE customer_id = $1 AND id < $2 ${also.sql} ORDER BY id DESC LIMIT $3`,
    [customer, before, limit, ...also.values],
  )
}

export const findMany = async (reader: Reader, ids: readonly OrderId[]): Promise<Order[]> =>
  (await findRows(reader, ids)).map(orders.read)

const findRows = (reader: Reader, ids: readonly OrderId[]): Promise<Row[]> =>
  allOf<Row>(reader, ids, (among) => `SELECT * FROM orders WHERE id IN (${among})`)

export const countOf = (reader: Reader, product: string): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM orders WHERE product = $1', [product])

export const countOrders = (reader: Reader): Promise<number> => countBy(reader, 'SELECT COUNT(*) AS n FROM orders')

/** A text after every order's id. */
export const pastLastId = 'ore'

/** Orders without a charge, newest first, from just below `before`. */
export async function listFree(reader: Reader, customer: CustomerId, before: string, limit: number): Promise<Order[]> {
  return (await freeRows(reader, customer, before, limit)).map(orders.read)
}

const freeRows = (reader: Reader, customer: CustomerId, before: string, limit: number): Promise<Row[]> =>
  reader.all<Row>(
    'SELECT * FROM orders WHERE customer_id = $1 AND charge_seq IS NULL AND id < $2 ORDER BY id DESC LIMIT $3',
    [customer, before, limit],
  )

export type StoredAnswer = {
  request: Uint8Array
  body: string
  order_id: OrderId | null
  created_at: bigint
  api_version: string | null
}
export type FoundAnswer = StoredAnswer & { key: string; token_id: TokenId | null }

/** The answer under a key and the token that made it, which older versions wrote into the order only. */
export const findAnswer = (reader: Reader, customer: CustomerId, key: KeyForms, sinceAt: number) =>
  reader.first<FoundAnswer>(
    `SELECT key, request, body, order_id, created_at, api_version,
       COALESCE(token_id, (SELECT token_id FROM orders WHERE id = answers.order_id)) AS token_id
     FROM answers WHERE customer_id = $1 AND key IN ($2, $3) AND created_at > $4`,
    [customer, ...key, sinceAt],
  )

/** Stores the first answer under a key. An expired row is replaced; a live one makes the transaction fail. */
export function insertAnswer(
  tx: Tx,
  answer: AnswerRow & { readonly token: TokenId | null; readonly version: string | null },
  body: string,
  sinceAt: number,
): void {
  const { customer, key, request, order, at, token, version } = answer
  tx.send('DELETE FROM answers WHERE customer_id = $1 AND key = $2 AND created_at <= $3', [customer, key, sinceAt])
  tx.send(
    `INSERT INTO answers (customer_id, key, request, body, order_id, created_at, token_id, api_version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [customer, key, request, body, order, at, token, version],
  )
}

/** Deletes expired answers, a bounded number at a time. */
export async function deleteAnswers(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM answers WHERE (customer_id, key) IN
       (SELECT customer_id, key FROM answers WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`,
    [before, limit],
  )
}

/** An order for `verify`: input or calculation that is no JSON is null. */
function toAudited(row: Row): Order {
  const readable = (name: string): string =>
    isJson(textColumn(name).read(row[name])) ? textColumn(name).read(row[name]) : 'null'
  return orders.read({ ...row, input: readable('input'), calculation: readable('calculation') })
}

function isJson(value: string): boolean {
  try {
    return readPlain(value) !== null
  } catch {
    return false
  }
}

/** Orders of one product, or of all, in the order of their ids, a page at a time. */
export async function auditPage(reader: Reader, after: string, limit: number, product?: string): Promise<Order[]> {
  const rows = await reader.all<Row>(
    `SELECT * FROM orders WHERE id > $1 ${product === undefined ? '' : 'AND product = $3'} ORDER BY id LIMIT $2`,
    [after, limit, ...(product === undefined ? [] : [product])],
  )
  return rows.map(toAudited)
}

export async function findAudited(reader: Reader, ids: readonly OrderId[]): Promise<Order[]> {
  return (await findRows(reader, ids)).map(toAudited)
}

export async function auditFree(reader: Reader, customer: CustomerId, before: string, limit: number): Promise<Order[]> {
  return (await freeRows(reader, customer, before, limit)).map(toAudited)
}

/** Every stored answer, ordered by customer and key. */
export function answersAfter(
  reader: Reader,
  after: { readonly customer_id: string; readonly key: string },
  limit: number,
): Promise<(StoredAnswer & { customer_id: string; key: string })[]> {
  return reader.all(
    `SELECT customer_id, key, request, body, order_id, created_at FROM answers WHERE (customer_id, key) > ($1, $2)
     ORDER BY customer_id, key LIMIT $3`,
    [after.customer_id, after.key, limit],
  )
}

/** Inserts an operator's key, or returns the answer under it. A concurrent transaction with the key is waited for. */
export async function takeKey(tx: Tx, key: string, request: string, nowMs: number) {
  const sql = `INSERT INTO operator_answers (key, request, answer, at) VALUES ($1, $2, '', $3)
     ON CONFLICT (key) DO NOTHING`
  if (await changesOne(tx, sql, [key, request, nowMs])) return undefined
  return tx.first<{ request: string; answer: string }>('SELECT * FROM operator_answers WHERE key = $1', [key])
}

export function writeAnswer(tx: Tx, key: string, answer: string): void {
  tx.send('UPDATE operator_answers SET answer = $2 WHERE key = $1', [key, answer])
}

/** Takes an operator's key, or returns the answer under it. A concurrent transaction with the key is waited for. */
export async function takeCreation(
  tx: Tx,
  { customer, key, request, at }: AnswerRow,
  sinceAt: number,
): Promise<Pick<StoredAnswer, 'request' | 'body' | 'created_at'> | undefined> {
  // Not sent: a repeat, which changes no row, gets no entry in the audit log.
  await tx.run('DELETE FROM answers WHERE customer_id = $1 AND key = $2 AND created_at <= $3', [customer, key, sinceAt])
  const sql = `INSERT INTO answers (customer_id, key, request, body, created_at) VALUES ($1, $2, $3, '', $4)
     ON CONFLICT (customer_id, key) DO NOTHING`
  if (await changesOne(tx, sql, [customer, key, request, at])) return undefined
  return tx.first('SELECT request, body, created_at FROM answers WHERE customer_id = $1 AND key = $2', [customer, key])
}

/** An erasure deletes the answer if one of the ids is the customer's. */
export function writeCreation(tx: Tx, { customer, key }: AnswerRow, body: string, ids: readonly string[]): void {
  const sql = 'UPDATE answers SET body = $3, named_ids = $4 WHERE customer_id = $1 AND key = $2'
  tx.send(sql, [customer, key, body, ids.length === 0 ? null : ids.join(' ')])
}
