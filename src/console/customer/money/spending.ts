import type { Transaction } from '../../client/customer.ts'

/** The days of the spending chart. */
export const days = 30
const dayMs = 86_400_000

type Moved = Pick<Transaction, 'kind' | 'amount_rub' | 'created_at'>

/** Charges less refunds. */
export const spentIn = (movements: readonly Moved[]): number =>
  movements
    .filter((each) => each.kind === 'charge' || each.kind === 'refund')
    .reduce((sum, each) => sum - each.amount_rub, 0)

/** The spending of each day up to today, in the browser's time zone. */
export function spentByDay(movements: readonly Moved[], nowAt: number) {
  const today = new Date(nowAt).setHours(0, 0, 0, 0)
  const times = Array.from({ length: days }, (_, index) => today - (days - 1 - index) * dayMs)
  const values = times.map((at) =>
    Math.max(
      0,
      spentIn(
        movements.filter((each) => {
          const movedAt = Date.parse(each.created_at)
          return movedAt >= at && movedAt < at + dayMs
        }),
      ),
    ),
  )
  return { times, values }
}

type Ordered = Moved & Pick<Transaction, 'order_id'>
type Spent = { readonly product: string; readonly charged: number; readonly refunded: number; readonly net: number }

/** Sums in kopecks, so that many rows add up exactly. */
const sumOf = (movements: readonly Moved[]): number =>
  movements.reduce((sum, each) => sum + Math.round(each.amount_rub * 100), 0) / 100

/** Charges and refunds by the product of their order, and the total last; '' is a movement without an order. */
export function spentByProduct(movements: readonly Ordered[], products: ReadonlyMap<string, string>): Spent[] {
  const spending = movements.filter((each) => each.kind === 'charge' || each.kind === 'refund')
  const productOf = ({ order_id }: Ordered): string => products.get(order_id ?? '') ?? ''
  const toRow = (product: string, of: readonly Moved[]): Spent => {
    const charged = 0 - sumOf(of.filter((each) => each.kind === 'charge'))
    const refunded = sumOf(of.filter((each) => each.kind === 'refund'))
    return { product, charged, refunded, net: Math.round((charged - refunded) * 100) / 100 }
  }
  const names = [...new Set(spending.map(productOf))].toSorted()
  return [
    ...names.map((name) =>
      toRow(
        name,
        spending.filter((each) => productOf(each) === name),
      ),
    ),
    toRow('total', spending),
  ]
}

/** The first instants of this month and of the months before it, newest first, in the browser's time zone. */
export const monthsUntil = (nowAt: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, back) => {
    const now = new Date(nowAt)
    return new Date(now.getFullYear(), now.getMonth() - back, 1).getTime()
  })
