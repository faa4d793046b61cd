import type { Verifier } from '../../core/finding.ts'
import { createWalkingVerifier } from '../../db/audit-walks.ts'
import { daySourceOf, type Period, splitPeriod, sumEndedDays, summedDaysWalk } from '../../db/summed-days.ts'
import type { Database, Reader } from '../../db/transaction.ts'
import { daysWalk as postingsWalk } from '../ledger/index.ts'
import type { OrdersDeps } from './sell.ts'
import * as store from './store-days.ts'

const source = daySourceOf<store.OrderSum>({
  name: 'orders',
  firstAt: store.firstOrderAt,
  count: (reader, period) => store.sumOrders(reader, period),
  kept: store.keptSums,
  replace: store.replaceSums,
  toText: ({ product, orders, price }) => `${product} ${orders}: ${price}`,
})

/** Sums ended days of orders; see `sumEndedDays`. */
export const sumDays = ({ db, clock }: OrdersDeps, limit: number): Promise<number> =>
  sumEndedDays({ db, clock }, source, limit)

/** Compares the sums of ended days with their postings and orders. */
export const createDaysVerifier = ({ db }: { readonly db: Database }): Verifier =>
  createWalkingVerifier(db, 'days', [postingsWalk, summedDaysWalk(source)])

async function sumByDay(reader: Reader, period: Period): Promise<store.OrderSum[]> {
  const { days, rest, bounds } = await splitPeriod(reader, source, period)
  const kept = days.size === 0 ? [] : await store.keptSums(reader, ...bounds)
  const sums = kept.filter((each) => days.has(each.day))
  for (const each of rest) sums.push(...(await store.sumOrders(reader, each)))
  return sums.toSorted((a, b) => a.day - b.day)
}

/** Orders and revenue of each day of a period, by product: ended days as kept, the rest from the orders. */
export const salesByDay = ({ db }: OrdersDeps, fromAt: number, toAt: number) => sumByDay(db, { fromAt, toAt })

/** Number and price of the orders from one instant until just before another. */
export async function sumBetween({ db }: OrdersDeps, fromAt: number, toAt: number) {
  const sums = await sumByDay(db, { fromAt, toAt })
  return {
    orders: sums.reduce((count, each) => count + each.orders, 0),
    sum: sums.reduce((sum, each) => sum + each.price, 0n),
  }
}
