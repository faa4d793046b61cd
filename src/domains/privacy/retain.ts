import { monthStart } from '../../core/calendar.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import { monthStartsUntil, type Retention } from './rules.ts'
import * as store from './store.ts'

const dayMs = 86_400_000

export type Retaining = ReturnType<typeof createRetaining>

/** Deletes old records of customers' activity. Totals of traffic and money stay. */
export function createRetaining(deps: { readonly db: Database; readonly clock: Clock; readonly retention: Retention }) {
  const { db, clock, retention } = deps
  return {
    retention,

    /** Blanks the last use of tokens, whitelist entries and devices; returns how many rows. */
    forgetSources: (limit: number): Promise<number> =>
      db.transact((tx) => store.forgetSources(tx, clock() - retention.sourceDays * dayMs, limit)),

    /** Joins the hours of old months into the first hour of each, by account; returns how many accounts. */
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
