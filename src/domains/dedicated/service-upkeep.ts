import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Ports } from '../fleet/index.ts'
import type { Stock } from '../stock/index.ts'
import { graceEnd, type Proxy, renewAheadMs, renewRetryMs, restMs } from './rules.ts'
import type { Dedicated } from './service.ts'
import { closeEntrances } from './service-access.ts'
import * as store from './store.ts'

export type DedicatedUpkeep = ReturnType<typeof createDedicatedUpkeep>

/** What happens to proxies with time. */
export function createDedicatedUpkeep(deps: {
  db: Database
  stock: Stock
  ports: Ports
  customers: Pick<Customers, 'payerOf'>
  dedicated: Pick<Dedicated, 'prolong'>
  clock: Clock
}) {
  const { db, stock, clock } = deps

  /** One proxy's renewal. The key names the term that ends, so however many processes try, one term is bought. */
  async function renewOne(proxy: Proxy, period: number): Promise<boolean> {
    await db.transact((tx) => store.setRenewTried(tx, proxy.id, clock()))
    const by = await deps.customers.payerOf(proxy.customer, proxy.renewToken)
    const key = `renewal ${proxy.id} ${proxy.expiresAt}`
    const request = { by, key, automatic: true } as const
    try {
      const answer = await deps.dedicated.prolong(request, [proxy.id], period, 'renew')
      return !answer.replayed
    } catch (error) {
      // No money, no price any more, no wish any more, or another process is at it: the next hour may do better.
      if (error instanceof Refusal) return false
      throw error
    }
  }

  return {
    /**
     * Ends the leases of proxies whose grace is over, as of when it was over, however late this runs. Returns how many;
     * call again while it is as many as asked for.
     */
    release: (most: number): Promise<number> =>
      db.transact(async (tx) => {
        const nowMs = clock()
        const overdue = await store.lockOverdue(tx, nowMs, most)
        if (overdue.length === 0) return 0
        await stock.release(
          tx,
          overdue.map((proxy) => ({ id: proxy.place, endedAt: graceEnd(proxy), restUntil: graceEnd(proxy) + restMs })),
        )
        closeEntrances(tx, deps.ports, overdue, nowMs)
        store.setGone(
          tx,
          overdue.map((proxy) => proxy.id),
          nowMs,
        )
        return overdue.length
      }),

    /** Renews what wants to be renewed and ends within a day. Returns how many were renewed. */
    async renew(most: number): Promise<number> {
      const nowMs = clock()
      const due = await store.findToRenew(db, nowMs + renewAheadMs, nowMs - renewRetryMs, most)
      let renewed = 0
      for (const { proxy, period } of due) if (await renewOne(proxy, period)) renewed += 1
      return renewed
    },
  }
}
