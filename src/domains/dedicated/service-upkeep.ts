import type { Database, Reader } from '../../db/transaction.ts'
import { Refusal } from '../../kernel/refusal.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Stock } from '../stock/index.ts'
import {
  graceEnd,
  isHeld,
  type PortType,
  type Proxy,
  readUsername,
  renewAheadMs,
  renewRetryMs,
  restMs,
} from './rules.ts'
import type { Dedicated } from './service.ts'
import * as store from './store.ts'

export type DedicatedUpkeep = ReturnType<typeof createDedicatedUpkeep>

/** What a node must know of a proxy: no password, no price, no customer. */
export type DesiredProxy = {
  readonly id: number
  readonly username: string
  readonly passwordDigest: Uint8Array
  readonly portType: PortType
  readonly leaveFrom: string
  readonly expiresAt: number
  readonly held: boolean
  readonly changedAt: number
}

/** What happens to proxies with time, and what nodes are told of them. */
export function createDedicatedUpkeep(deps: {
  db: Database
  stock: Stock
  dedicated: Pick<Dedicated, 'prolong'>
  clock: Clock
}) {
  const { db, stock, clock } = deps

  const toDesired = (proxy: Proxy): DesiredProxy => ({
    id: proxy.id,
    username: proxy.username,
    passwordDigest: proxy.passwordDigest,
    portType: proxy.portType,
    leaveFrom: proxy.address,
    expiresAt: proxy.expiresAt,
    held: isHeld(proxy, clock()),
    changedAt: proxy.changedAt,
  })

  /** One proxy's renewal. The key names the term that ends, so however many processes try, one term is bought. */
  async function renewOne(proxy: Proxy, period: number): Promise<boolean> {
    await db.transact((tx) => store.setRenewTried(tx, proxy.id, clock()))
    const ticket = { key: `renewal ${proxy.id} ${proxy.expiresAt}`, request: new Uint8Array(), shape: () => '' }
    try {
      const placed = await deps.dedicated.prolong(
        { customer: proxy.customer, token: null },
        [proxy.id],
        period,
        ticket,
        'renew',
      )
      return !placed.replayed
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
        stock.release(
          tx,
          overdue.map((proxy) => ({ id: proxy.place, endedAt: graceEnd(proxy), restUntil: graceEnd(proxy) + restMs })),
        )
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

    /**
     * What nodes should carry that changed since a moment; from 0, all of it. The next page begins after the last one's
     * `changedAt` and `id`; the next round, a little before the last one's `changedAt`.
     */
    async desired(reader: Reader, since: number, after: number, limit: number): Promise<DesiredProxy[]> {
      return (await store.changedSince(reader, since, after, limit)).map(toDesired)
    },

    /** One credential that a node has not heard of yet. */
    async findCredential(username: string): Promise<DesiredProxy | undefined> {
      const id = readUsername(username)
      const proxy = id === undefined ? undefined : await store.findProxy(db, id)
      return proxy?.username === username ? toDesired(proxy) : undefined
    },
  }
}
