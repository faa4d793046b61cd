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
