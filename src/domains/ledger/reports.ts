import { dayMs, type Period } from '../../db/summed-days.ts'
import type { Database } from '../../db/transaction.ts'
import { sumBefore, sumByDay } from './days.ts'
import * as store from './store.ts'
import type { PostingSum } from './store-days.ts'

export type LedgerReports = ReturnType<typeof createLedgerReports>

const revenue = 'revenue:'

const beforeAll: store.PostingPosition = { at: 0, customer: '', seq: 0 }

const sumOfKind = (sums: readonly PostingSum[], kind: string) => ({
  count: sums.reduce((count, each) => count + (each.kind === kind ? each.count : 0), 0),
  amount: sums.reduce((sum, each) => sum + (each.kind === kind ? each.amount : 0n), 0n),
})

const periodOf = (fromDay: number, toDay: number): Period => ({ fromAt: fromDay * dayMs, toAt: toDay * dayMs })

export function createLedgerReports({ db }: { db: Database }) {
  return {
    /** The movements of each UTC day, and all customers' balances (`held`) at its end. The caller bounds the period. */
    days: (fromDay: number, toDay: number) =>
      db.snapshot(async (reader) => {
        const sums = Map.groupBy(await sumByDay(reader, periodOf(fromDay, toDay)), (each) => each.day)
        let held = await sumBefore(reader, fromDay * dayMs)
        return Array.from({ length: toDay - fromDay }, (_, index) => {
          const moved = sums.get(fromDay + index) ?? []
          const of = (kind: string) => sumOfKind(moved, kind).amount
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
        (await sumByDay(reader, periodOf(fromDay, toDay)))
          .filter((each) => each.house.startsWith(revenue))
          .map(({ day, house, kind, count, amount }) => ({
            day,
            kind,
            count,
            product: house.slice(revenue.length),
            amount: -amount,
          })),
      ),

    /** A page of the credits and debits of all customers, oldest first. */
    funding: (fromDay: number, toDay: number, after = beforeAll, limit = 1) =>
      store.listFunding(db, periodOf(fromDay, toDay), after, limit),

    /** Credits and debits that belong to no payment, by day. */
    adjustments: (fromDay: number, toDay: number) =>
      db.snapshot(async (reader) => {
        const byHand = await sumByDay(reader, periodOf(fromDay, toDay), 'byHand')
        return Map.groupBy(byHand, ({ day }) => day)
          .entries()
          .map(([day, group]) => {
            const { count, amount: credited } = sumOfKind(group, 'credit')
            return { day, credits: count, credited, debited: -sumOfKind(group, 'debit').amount }
          })
          .toArray()
      }),
  }
}
