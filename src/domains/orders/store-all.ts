import type { OrderId } from '../../core/ids.ts'
import { type Kopecks, kopecks, zero } from '../../core/money.ts'
import { allOf, countBy } from '../../db/rows.ts'
import type { Reader, Value } from '../../db/transaction.ts'
import type { AllOrdersFilter, Order, OrderState } from './rules.ts'
import { orders } from './store.ts'

/** Up to so many rows of a filter are read and sorted; of a wider one the index of the sort is read in its order. */
const usuallyFew = 5000

/** What leads: a column with an index, or the refunds. */
type Lead = 'id' | 'price' | 'customer_id' | 'product' | 'refunds'
type Condition = { readonly column: Exclude<Lead, 'refunds'>; readonly compare: string; readonly value: Value }

const refundOfOrder = 'SELECT SUM(amount) FROM postings WHERE refund_of IS NOT NULL AND order_id = orders.id'

/** A free order is found by its price. */
const stateConditions: Readonly<Record<Exclude<OrderState, 'free'>, string>> = {
  paid: `(orders.price + 0) > 0 AND (${refundOfOrder}) IS NULL`,
  partly_refunded: `(${refundOfOrder}) < orders.price`,
  refunded: `(${refundOfOrder}) >= orders.price`,
}

/** Hides a column from the indexes: SQLite has no statistics, so the statement says which filter leads. */
const hidden = (column: string): string => (column === 'price' ? '(orders.price + 0)' : `(orders.${column} || '')`)

/**
 * A page of the orders of all customers. The narrowest filter leads with its index; without a narrow one the sort does,
 * and the other filters are checked row by row.
 */
export async function listAll(reader: Reader, filter: AllOrdersFilter, few = usuallyFew): Promise<Order[]> {
  const { sort, state, after, limit } = filter
  const byPrice = sort === 'dearest' || sort === 'cheapest'
  const conditions = conditionsOf(filter)
  const lead = await leadOf(reader, filter, conditions, { byPrice, few })
  // The indexes on customer_id, product and id have the order of ids, the index on price that of price and id.
  const isSorted = byPrice ? lead === 'price' : lead !== 'price' && lead !== 'refunds'
  const isSeen = (column: string): boolean => column === lead || (column === 'id' && !byPrice && isSorted)
  const written = (column: string): string => (isSeen(column) ? `orders.${column}` : hidden(column))
  const values: Value[] = []
  const put = (value: Value): string => `$${values.push(value)}`
  const keys = (byPrice ? ['price', 'id'] : ['id']).map((key) => (isSorted ? `orders.${key}` : hidden(key)))
  const [compare, direction] = sort === 'newest' || sort === 'dearest' ? ['<', 'DESC'] : ['>', 'ASC']
  const where = conditions.map((each) => `${written(each.column)} ${each.compare} ${put(each.value)}`)
  if (state !== undefined && state !== 'free') where.push(stateConditions[state])
  if (lead === 'refunds') where.push('orders.id IN (SELECT order_id FROM postings WHERE refund_of IS NOT NULL)')
  if (after) {
    const position = (byPrice ? [after.price, after.id] : [after.id]).map(put)
    where.push(`(${keys.join(', ')}) ${compare} (${position.join(', ')})`)
  }
  const order = keys.map((key) => `${key} ${direction}`).join(', ')
  const sql = `SELECT orders.* FROM orders WHERE ${where.join(' AND ')} ORDER BY ${order} LIMIT ${put(limit)}`
  return orders.all(reader, sql, values)
}

function conditionsOf({ customer, product, from, below, minPrice, maxPrice, state }: AllOrdersFilter): Condition[] {
  const all: readonly (Omit<Condition, 'value'> & { readonly value: Value | undefined })[] = [
    { column: 'id', compare: '>=', value: from },
    { column: 'id', compare: '<', value: below },
    { column: 'customer_id', compare: '=', value: customer },
    { column: 'product', compare: '=', value: product },
    { column: 'price', compare: '>=', value: minPrice },
    { column: 'price', compare: '<=', value: maxPrice },
    { column: 'price', compare: '=', value: state === 'free' ? zero : undefined },
  ]
  return all.flatMap((each) => (each.value === undefined ? [] : [{ ...each, value: each.value }]))
}

/** The filter with the fewest rows if one has few; otherwise what the sort needs. */
async function leadOf(
  reader: Reader,
  { state }: AllOrdersFilter,
  conditions: readonly Condition[],
  { byPrice, few }: { readonly byPrice: boolean; readonly few: number },
): Promise<Lead> {
  const count = (from: string, values: readonly Value[]): Promise<number> =>
    countBy(reader, `SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM ${from} LIMIT ${few + 1}) AS counted`, values)
  const counted: { readonly lead: Lead; readonly rows: number }[] = []
  for (const [column, of] of Map.groupBy(conditions, (each) => each.column)) {
    const where = of.map((each, index) => `${each.column} ${each.compare} $${index + 1}`).join(' AND ')
    const values = of.map((each) => each.value)
    counted.push({ lead: column, rows: await count(`orders WHERE ${where}`, values) })
  }
  if (state === 'refunded' || state === 'partly_refunded') {
    counted.push({ lead: 'refunds', rows: await count('postings WHERE refund_of IS NOT NULL', []) })
  }
  const [narrowest] = counted.filter((each) => each.rows <= few).toSorted((a, b) => a.rows - b.rows)
  if (narrowest) return narrowest.lead
  if (byPrice) return 'price'
  return conditions.find((each) => each.column === 'customer_id' || each.column === 'product')?.column ?? 'id'
}

/** The refunds of each of these orders; an order without one is left out. */
export async function sumRefunds(reader: Reader, ids: readonly OrderId[]): Promise<Map<string, Kopecks>> {
  const rows = await allOf<{ order_id: string; sum: bigint }>(
    reader,
    ids,
    (among) => `SELECT order_id, CAST(SUM(amount) AS BIGINT) AS sum FROM postings
     WHERE refund_of IS NOT NULL AND order_id IN (${among}) GROUP BY order_id`,
  )
  return new Map(rows.map((row) => [row.order_id, kopecks(row.sum)]))
}
