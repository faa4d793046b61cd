import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

export type LedgerReports = ReturnType<typeof createLedgerReports>

const dayMs = 86_400_000

const revenue = 'revenue:'

const beforeAll: store.PostingPosition = { at: 0, customer: '', seq: 0 }

export function createLedgerReports({ db }: { db: Database }) {
  return {
    /** The movements of each UTC day, and all customers' balances (`held`) at its end. The caller bounds the period. */
    days: (fromDay: number, toDay: number) =>
      db.snapshot(async (reader) => {
        const sums = Map.groupBy(await store.sumByDay(reader, fromDay * dayMs, toDay * dayMs), (each) => each.day)
        let held = await store.sumBefore(reader, fromDay * dayMs)
        return Array.from({ length: toDay - fromDay }, (_, index) => {
          const moved = sums.get(fromDay + index) ?? []
          const of = (kind: string) =>
            moved.filter((each) => each.kind === kind).reduce((sum, one) => sum + one.amount, 0n)
          held += moved.reduce((sum, each) => sum + each.amount, 0n)
          return {
            day: fromDay + index,
            charged: -of('charge'),
            refunded: of('refund'),
            toppedUp: of('credit'),
            chargedBack: -of('debit'),
            held,
          }
        })
      }),

    /** Each product's revenue by day and kind of movement; refunds are negative. */
    products: (fromDay: number, toDay: number) =>
      db.snapshot(async (reader) =>
        (await store.sumByDay(reader, fromDay * dayMs, toDay * dayMs))
          .filter((each) => each.house.startsWith(revenue))
          .map(({ house, amount, ...rest }) => ({ ...rest, product: house.slice(revenue.length), amount: -amount })),
      ),

    /** A page of the credits and debits of all customers, oldest first. */
    funding: (fromDay: number, toDay: number, after = beforeAll, limit = 1) =>
      store.listFunding(db, { fromAt: fromDay * dayMs, toAt: toDay * dayMs }, after, limit),

    /** Credits and debits that belong to no payment, by day. */
    adjustments: (fromDay: number, toDay: number) =>
      db.snapshot(async (reader) => {
        const byHand = await store.sumByDay(reader, fromDay * dayMs, toDay * dayMs, store.isAdjustment)
        return Map.groupBy(byHand, ({ day }) => day)
          .entries()
          .map(([day, group]) => {
            const credits = group.filter((each) => each.kind === 'credit')
            const sumOf = (kind: string) =>
              group.filter((each) => each.kind === kind).reduce((sum, each) => sum + each.amount, 0n)
            return {
              day,
              credits: credits.reduce((sum, each) => sum + each.count, 0),
              credited: sumOf('credit'),
              debited: -sumOf('debit'),
            }
          })
          .toArray()
      }),
  }
}
