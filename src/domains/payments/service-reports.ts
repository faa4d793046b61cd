import { type Kopecks, kopecks, zero } from '../../core/money.ts'
import type { Database } from '../../db/transaction.ts'
import * as store from './store.ts'

export type PaymentReports = ReturnType<typeof createPaymentReports>

const dayMs = 86_400_000

/** What came in and went back by one way to pay on one day. */
export type MethodDay = {
  readonly day: number
  readonly method: string
  readonly payments: number
  readonly credited: Kopecks
  readonly fees: Kopecks
  readonly takenBack: Kopecks
  readonly bonuses: Kopecks
}

/** What operators ask about payments. */
export function createPaymentReports({ db }: { db: Database }) {
  return {
    /** Top-ups, fees, refunds and bonuses, by day and method. */
    async methods(fromDay: number, toDay: number): Promise<readonly MethodDay[]> {
      const days = new Map<string, MethodDay>()
      for (const row of await store.sumByDay(db, fromDay * dayMs, toDay * dayMs)) {
        const { day, method, kind } = row
        const name = `${day} ${method}`
        const nothing = { day, method, payments: 0, credited: zero, fees: zero, takenBack: zero, bonuses: zero }
        const before = days.get(name) ?? nothing
        days.set(name, {
          ...before,
          payments: before.payments + (kind === 'credited' ? row.count : 0),
          credited: kopecks(before.credited + (kind === 'credited' ? row.amount : 0n)),
          fees: kopecks(before.fees + row.fee),
          takenBack: kopecks(before.takenBack - (kind === 'debited' ? row.amount : 0n)),
          bonuses: kopecks(before.bonuses + (/^(bonus|share)/.test(kind) ? row.amount : 0n)),
        })
      }
      return [...days.values()]
    },
  }
}
