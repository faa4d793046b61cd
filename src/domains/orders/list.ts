import { type CustomerId, firstId, type OrderId, readId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { zero } from '../../core/money.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Metadata } from '../metadata/rules.ts'
import { noSuchOrder } from './errors.ts'
import type { ActionAnswer } from './refund.ts'
import { type AllOrdersFilter, keyForms, keyKeptMs, type Order, type OrderWithState, stateOf } from './rules.ts'
import type { OrdersDeps } from './sell.ts'
import * as store from './store.ts'
import * as storeAll from './store-all.ts'

const pageSize = 500

/** A keyset page of orders, newest first: charged ones in the order of their charges, free ones merged in by id. */
export async function list(
  { db, ledger }: OrdersDeps,
  customer: CustomerId,
  before: OrderId | undefined,
  limit: number,
): Promise<Order[]> {
  const last = before && (await store.findOrder(db, customer, before))
  const below =
    before === undefined
      ? Number.MAX_SAFE_INTEGER
      : (last?.chargeSeq ?? (await ledger.positionAmongCharges(customer, before)))
  const [ids, free] = await Promise.all([
    ledger.chargedOrders(customer, below, limit),
    store.listFree(db, customer, before ?? store.pastLastId, limit),
  ])
  return merge(await findInOrder(db, ids), free).slice(0, limit)
}

/** A keyset page of the orders with a request id or idempotency key, newest first. */
export function listNamed(
  { db, sha256 }: OrdersDeps,
  customer: CustomerId,
  { requestId, key }: { readonly requestId: string | undefined; readonly key: string | undefined },
  before: OrderId | undefined,
  limit: number,
): Promise<Order[]> {
  const names = { requestId, key: key === undefined ? undefined : keyForms(sha256, key) }
  return store.listNamed(db, customer, names, before ?? store.pastLastId, limit)
}

/** A keyset page of the orders with all of these pairs, newest first. */
export const listWithMetadata = (
  { db }: OrdersDeps,
  customer: CustomerId,
  pairs: Metadata,
  before: OrderId | undefined,
  limit: number,
): Promise<Order[]> => store.listWithMetadata(db, customer, pairs, before ?? store.pastLastId, limit)

type AllOrders = Omit<AllOrdersFilter, 'from' | 'below'> & {
  /** The time of the orders, from one instant until just before another. */
  readonly fromAt: number | undefined
  readonly toAt: number | undefined
}

/** A keyset page of the orders of all customers, with their refunds. */
export async function listAll({ db }: OrdersDeps, { fromAt, toAt, ...filter }: AllOrders): Promise<OrderWithState[]> {
  const from = fromAt === undefined ? '' : firstId('order', fromAt)
  const below = toAt === undefined ? store.pastLastId : firstId('order', toAt)
  const found = await storeAll.listAll(db, { ...filter, from, below })
  const ids = found.map((each) => each.id)
  const refunds = await storeAll.sumRefunds(db, ids)
  return found.map((order) => {
    const refunded = refunds.get(order.id) ?? zero
    return { order, refunded, state: stateOf(order.price, refunded) }
  })
}

/** Orders of any customers with this request id, then with this idempotency key. */
export const findByRequest = ({ db, sha256 }: OrdersDeps, text: string, limit: number): Promise<Order[]> =>
  store.findByRequest(db, keyForms(sha256, text), limit)

/** Orders in the order of these ids; unknown ids are left out. */
async function findInOrder(reader: Reader, ids: readonly OrderId[]): Promise<Order[]> {
  const found = new Map((await store.findMany(reader, ids)).map((order) => [order.id, order]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** Merges two lists, the larger id of the two heads next. */
function merge(charged: readonly Order[], free: readonly Order[]): Order[] {
  const merged: Order[] = []
  let freeAt = 0
  for (const next of charged) {
    for (let other = free[freeAt]; other && other.id >= next.id; other = free[freeAt]) {
      merged.push(other)
      freeAt += 1
    }
    merged.push(next)
  }
  return [...merged, ...free.slice(freeAt)]
}

export async function load({ db }: OrdersDeps, customer: CustomerId, id: OrderId): Promise<Order> {
  const order = await store.findOrder(db, customer, id)
  if (!order) throw noSuchOrder()
  return order
}

/** The id of an order that the customer has; others are refused. */
export async function findOwned(_: OrdersDeps, tx: Tx, customer: CustomerId, text: string): Promise<string> {
  const id = readId('order', text)
  if (id === undefined || !(await store.findOrder(tx, customer, id))) throw noSuchOrder()
  return id
}

/** Any customer's order, for the operator. */
export async function loadAny({ db }: Pick<OrdersDeps, 'db'>, id: OrderId): Promise<Order> {
  const order = await store.findAnyOrder(db, id)
  if (!order) throw noSuchOrder()
  return order
}

/** The order that a key has made, for as long as keys are kept. */
export const findByKey = async ({ db, clock, sha256 }: OrdersDeps, customer: CustomerId, key: string) =>
  (await store.findAnswer(db, customer, keyForms(sha256, key), clock() - keyKeptMs))?.order_id ?? undefined

/** A page of the orders of a product, in the order of their ids, for `verify`. */
export const pageAfter = store.auditPage

/** Every order of a product, in the order of their ids, for `verify`. */
function pagesOf(reader: Reader, product: string): AsyncGenerator<readonly Order[]> {
  const read = (after: string, limit: number) => store.auditPage(reader, after, limit, product)
  return keysetPages(read, { start: '', size: pageSize, keyOf: (order: Order): string => order.id })
}

/** Calls back with every order of a product, in the order of their ids, for `verify`. */
export async function walk(
  reader: Reader,
  product: string,
  onOrder: (order: Order) => Promise<void> | void,
): Promise<void> {
  for await (const page of pagesOf(reader, product)) for (const order of page) await onOrder(order)
}

/** A customer's charged orders since a moment, newest first. It reads all of them: for rare questions. */
export async function chargedSince(
  { ledger }: OrdersDeps,
  reader: Reader,
  customer: CustomerId,
  sinceAt: number,
): Promise<Order[]> {
  const orders: Order[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const ids = await ledger.chargedOrders(customer, before, pageSize, reader)
    const page = await findInOrder(reader, ids)
    orders.push(...page.filter((order) => order.createdAt >= sinceAt))
    const last = page.at(-1)
    if (ids.length < pageSize || !last || last.createdAt < sinceAt) return orders
    before = last.chargeSeq ?? 0
  }
}

/** The first `maxDelivered` services that an order has bought or prolonged, as they are now, and the number of all. */
export type Delivered = { readonly services: readonly ActionAnswer[]; readonly count: number }

export type Deliveries = ReturnType<typeof createDeliveries>

/** What an order has delivered, by its product. */
export const createDeliveries =
  (products: Readonly<Record<string, (order: Order) => Promise<Delivered>>>) =>
  async (order: Order): Promise<Delivered> =>
    (await products[order.product]?.(order)) ?? { services: [], count: 0 }

export type Stories = ReturnType<typeof createStories>

/** An order with its postings, its events, and what it has bought. */
export const createStories =
  (deps: {
    readonly db: Database
    readonly ledger: Pick<Ledger, 'ofOrder'>
    readonly events: Pick<Events, 'ofOrder'>
    readonly deliveredOf: Deliveries
  }) =>
  async (id: OrderId) => {
    const order = await loadAny(deps, id)
    const [postings, delivered, events] = await Promise.all([
      deps.ledger.ofOrder(order.customer, id),
      deps.deliveredOf(order),
      deps.events.ofOrder(order.customer, id),
    ])
    return { order, postings, delivered, events }
  }
