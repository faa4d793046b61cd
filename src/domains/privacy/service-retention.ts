import { monthStart } from '../../core/calendar.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import { monthStartsUntil, type Retention } from './rules.ts'
import * as store from './store-retention.ts'

const dayMs = 86_400_000

export type Retaining = ReturnType<typeof createRetaining>

/** Forgets what tells of customers' doings once it is old. What was carried and paid in all stays as it is. */
export function createRetaining(deps: { readonly db: Database; readonly clock: Clock; readonly retention: Retention }) {
  const { db, clock, retention } = deps
  return {
    retention,

    /** From where tokens, and when whitelisted addresses and devices were used; tells how many rows it took. */
    forgetSources: (limit: number): Promise<number> =>
      db.transact((tx) => store.forgetSources(tx, clock() - retention.sourceDays * dayMs, limit)),

    /**
     * Puts hours of whole months that are old enough together into the first hour of their month, account after
     * account; tells of how many. The sums by which customers are billed stay what they were.
     */
    async foldHours(limit: number): Promise<number> {
      const before = monthStart(clock() - retention.hourDays * dayMs)
      const accounts = await db.snapshot(async (reader) => {
        const first = await store.firstHour(reader)
        return first === undefined || first >= before
          ? []
          : store.accountsToFold(reader, before, monthStartsUntil(first, before), limit)
      })
      for (const account of accounts) {
        await db.transact(async (tx) => {
          const months = Map.groupBy(await store.lockHours(tx, account, before), (each) =>
            monthStart(Number(each.hour)),
          )
          for (const [month, hours] of months) await store.foldMonth(tx, account, month, hours)
        })
      }
      return accounts.length
    },
  }
}
