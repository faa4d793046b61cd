import type { Database, Tx } from '../../db/transaction.ts'
import { bytes } from '../../kernel/bytes.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { Refusal } from '../../kernel/refusal.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Customers } from '../customers/index.ts'
import { ownerName } from '../customers/rules.ts'
import type { Stock } from '../stock/index.ts'
import type { Traffic } from '../traffic/index.ts'
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

/** What a node must know of a proxy: no password, no price, no customer. `owner` tells whose limits it shares. */
export type DesiredProxy = {
  readonly id: number
  readonly username: string
  readonly passwordDigest: Uint8Array
  readonly portType: PortType
  readonly leaveFrom: string
  readonly expiresAt: number
  readonly state: 'active' | 'blocked' | 'gone'
  readonly owner: string
  readonly changedAt: number
}

/** Where a reader of changes is: the moment and the number of the last one it was given. */
type Position = { readonly changedAt: number; readonly id: number }

/** What a node has carried for a proxy since it booted. */
type ProxyCount = { readonly id: number; readonly received: bigint; readonly sent: bigint }

/** What counts of a proxy are kept under. */
const subjectOf = (id: number): string => `proxy:${id}`

/** What happens to proxies with time, and what nodes are told of them. */
export function createDedicatedUpkeep(deps: {
  db: Database
  customers: Pick<Customers, 'blockedAmong'>
  stock: Stock
  traffic: Pick<Traffic, 'counts'>
  sha256: (text: string) => Uint8Array
  dedicated: Pick<Dedicated, 'prolong'>
  clock: Clock
}) {
  const { db, stock, clock } = deps

  /** Customers are asked about after their proxies were read: whoever is blocked in between is told of too early, never too late. */
  async function toDesired(proxies: readonly Proxy[]): Promise<DesiredProxy[]> {
    const blocked = await deps.customers.blockedAmong(proxies.map((proxy) => proxy.customer))
    return proxies.map((proxy) => ({
      id: proxy.id,
      username: proxy.username,
      passwordDigest: proxy.passwordDigest,
      portType: proxy.portType,
      leaveFrom: proxy.address,
      expiresAt: proxy.expiresAt,
      state: !isHeld(proxy, clock()) ? 'gone' : blocked.has(proxy.customer) ? 'blocked' : 'active',
      owner: ownerName(proxy.customer, deps.sha256),
      changedAt: proxy.changedAt,
    }))
  }

  /** One proxy's renewal. The key names the term that ends, so however many processes try, one term is bought. */
  async function renewOne(proxy: Proxy, period: number): Promise<boolean> {
    await db.transact((tx) => store.setRenewTried(tx, proxy.id, clock()))
    const by = { customer: proxy.customer, token: null }
    const request = { by, key: `renewal ${proxy.id} ${proxy.expiresAt}`, toBody: () => '' }
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
     * What nodes should carry that changed at a moment or later, oldest change first, a page at a time. Times are given before a
     * commit, so a change may become visible a little after a later one: a reader asks again from before what it has seen.
     */
    async desired(
      since: number,
      after: Position | undefined,
      limit: number,
      heldOnly = false,
    ): Promise<DesiredProxy[]> {
      const position = after ?? { changedAt: since, id: -1 }
      return toDesired(await store.changedAfter(db, position, limit, heldOnly ? clock() : undefined))
    },

    /** Another text whenever something that nodes should hear of changed at a moment or later. */
    changeMark: (since: number): Promise<string> => store.changeMark(db, since),

    /** Makes nodes look again at all that a customer holds. */
    touch: (tx: Tx, customer: CustomerId): void => store.touchProxies(tx, customer, clock()),

    /** Takes a node's counts. They are cumulative since its boot, so a repeat adds nothing; one of an unknown proxy is ignored. */
    takeCounts: (node: string, boot: string, counts: readonly ProxyCount[]): Promise<void> =>
      db.transact(async (tx) => {
        const known = await store.knownAmong(tx, [...new Set(counts.map((each) => each.id))])
        await deps.traffic.counts.take(tx, {
          node,
          boot,
          counts: counts
            .filter((each) => known.has(each.id))
            .map((each) => ({ subject: subjectOf(each.id), received: bytes(each.received), sent: bytes(each.sent) })),
        })
      }),

    /** One credential that a node has not heard of yet. */
    async findCredential(username: string): Promise<DesiredProxy | undefined> {
      const id = readUsername(username)
      const proxy = id === undefined ? undefined : await store.findProxy(db, id)
      return proxy?.username === username ? (await toDesired([proxy]))[0] : undefined
    },
  }
}
