import type { OrderId } from '../../core/ids.ts'
import { firstId, timeOfId } from '../../core/ids.ts'
import { idColumn, valuesOf } from '../../db/columns.ts'
import { readWide, sendRows, type WideSum, wideSum } from '../../db/rows.ts'
import { dayMs, type Period } from '../../db/summed-days.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

/** Orders of one UTC day since 1970. */
export type OrderSum = {
  readonly day: number
  readonly product: string
  readonly orders: number
  readonly price: bigint
}

/** Sums of the orders of a period, by day and product. Ids grow with time, so only orders of the period are read. */
export async function sumOrders(reader: Reader, { fromAt, toAt }: Period): Promise<OrderSum[]> {
  const rows = await reader.all<{ day: bigint; product: string; n: bigint } & WideSum<'price'>>(
    `SELECT created_at / ${dayMs} AS day, product, COUNT(*) AS n, ${wideSum('price', 'price')} FROM orders
     WHERE id >= $1 AND id < $2 GROUP BY created_at / ${dayMs}, product ORDER BY 1, 2`,
    [firstId('order', fromAt), firstId('order', toAt)],
  )
  return rows.map((row) => ({
    day: Number(row.day),
    product: row.product,
    orders: Number(row.n),
    price: readWide(row, 'price'),
  }))
}

/** The kept sums of days, also of days that are not summed: the caller drops those. */
export async function keptSums(reader: Reader, fromDay: number, toDay: number): Promise<OrderSum[]> {
  const rows = await reader.all<Readonly<Record<'day' | 'orders' | 'price', bigint>> & { product: string }>(
    'SELECT * FROM order_sums WHERE day >= $1 AND day < $2 ORDER BY day, product',
    [fromDay, toDay],
  )
  return rows.map(({ day, product, orders, price }) => ({
    day: Number(day),
    product,
    orders: Number(orders),
    price,
  }))
}

export function replaceSums(tx: Tx, day: number, sums: readonly OrderSum[]): void {
  tx.send('DELETE FROM order_sums WHERE day = $1', [day])
  const rows = sums.map((each) => [day, each.product, each.orders, each.price])
  sendRows(tx, 'INSERT INTO order_sums (day, product, orders, price)', rows)
}

export async function firstOrderAt(reader: Reader): Promise<number | undefined> {
  const id = await valuesOf(idColumn<OrderId>('id')).first(reader, 'SELECT id FROM orders ORDER BY id LIMIT 1')
  return id === undefined ? undefined : timeOfId(id)
}
