import { contains, readAddress, readPrefix } from '../../../core/address.ts'
import { bytes } from '../../../core/bytes.ts'
import { monthStart } from '../../../core/calendar.ts'
import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/time.ts'
import { createTokenBuckets } from '../../../core/token-buckets.ts'
import { createTtlCache } from '../../../core/ttl-cache.ts'
import type { Database, Tx } from '../../../db/transaction.ts'
import type { Customers } from '../../customers/index.ts'
import type { Forgotten } from '../../fleet/index.ts'
import { type ByteAccountKey, subjectOf } from '../../traffic/accounts/rules.ts'
import type { Traffic } from '../../traffic/index.ts'
import type { CarriedBytes, LeaseReport } from '../../traffic/leases/rules.ts'
import { listEntries, noteUse } from '../access/store.ts'
import { tooManyHosts } from '../errors.ts'
import type { PremiumTerms } from '../rules.ts'
import { isLimited, leftOfLimits } from '../subusers/rules.ts'
import { findAnySubuser, lockSubuser, touchSubuser } from '../subusers/store.ts'
import { dayStart, type HostRow, hostSubjectOf, hostSubjects, hourOf, isHost, restOf } from './rules.ts'
import * as store from './store.ts'

/** One message of a node. Everything in it is cumulative or numbered, so it may come twice, late or out of order. */
export type NodeReport = LeaseReport & {
  /** Where the bytes went, for the customer's eyes only; not billed by. */
  readonly hosts?: readonly (CarriedBytes & { readonly host: string })[]
  /** Whitelisted addresses that somebody came from. */
  readonly sources?: readonly { readonly subuser: SubuserId; readonly address: string }[]
}

/**
 * The count that the node must not pass, for each wish. `replaced` means that a later boot of the node holds its
 * leases.
 */
export type NodeAnswer = {
  readonly replaced: boolean
  readonly allowances: readonly (ByteAccountKey & { readonly upto: bigint })[]
}

const mostHosts = 1000
/** An honest gateway names 500 hosts of an account from its start to its end; it may start a few times a day. */
const newHostsPerDay = 2000
/** What the shop counts under "other" itself. No node names a boot so: its name would be too short. */
const otherBoot = 'other'
const accountsAtOnce = 200
const mostSources = 1000
const cacheTtlMs = 1000
const maxCached = 10_000
/** A use of a whitelisted address is written down once a minute. */
const noteUseEveryMs = 60_000

export type Intake = ReturnType<typeof createIntake>

/** Takes what nodes have carried for sub-users, and tells how far they may go on. */
export function createIntake(deps: {
  db: Database
  clock: Clock
  customers: Customers
  traffic: Pick<Traffic, 'counts' | 'leases'>
  terms: PremiumTerms
}) {
  const { db, clock, terms } = deps
  const { counts, leases } = deps.traffic
  const newHosts = createTokenBuckets({ perSecond: newHostsPerDay / 86_400, burst: newHostsPerDay }, clock)
  /** Whether a customer is blocked: asked outside of transactions and believed for a second. */
  const blocked = createTtlCache({
    load: async (customer: CustomerId) => (await deps.customers.load(customer)).blockedAt !== null,
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
  })

  /** Sub-users that may not carry anything now, whatever traffic they have. */
  async function findStopped(ids: Iterable<SubuserId>): Promise<Set<SubuserId>> {
    const stopped = new Set<SubuserId>()
    for (const id of new Set(ids)) {
      const subuser = await findAnySubuser(db, id)
      if (!subuser || (await blocked.get(subuser.customer))) stopped.add(id)
    }
    return stopped
  }

  /**
   * Limits are over all pools of a sub-user, so grants to it take turns on its row. Sorted, so that nobody deadlocks.
   */
  async function lockLimited(tx: Tx, ids: Iterable<SubuserId>): Promise<void> {
    for (const id of [...new Set(ids)].toSorted()) {
      const subuser = await findAnySubuser(tx, id)
      if (subuser && isLimited(subuser.limits)) await lockSubuser(tx, id)
    }
  }

  /** How much more may be set aside for a sub-user, whatever it has: null is all of it. */
  async function ceilingOf(tx: Tx, id: SubuserId): Promise<bigint | null> {
    const subuser = await findAnySubuser(tx, id)
    if (!subuser || subuser.blockedAt !== null || subuser.deletedAt !== null) return 0n
    if (!isLimited(subuser.limits)) return null
    const nowMs = clock()
    const carried = await store.carriedSince(tx, id, dayStart(nowMs), monthStart(nowMs))
    const total = subuser.limits.totalBytes === null ? 0n : await store.carriedInAll(tx, id)
    const promised = await leases.promised(tx, id)
    return leftOfLimits(subuser.limits, { ...carried, total, promised })
  }

  /**
   * Keeps where bytes went. `booked` is what the same report has added to accounts. Of an account for which a node
   * names too many hosts, the bytes to hosts that are not kept are one row.
   */
  async function takeHosts(
    tx: Tx,
    { node, boot, hosts = [] }: NodeReport,
    booked: readonly CarriedBytes[],
  ): Promise<void> {
    if (hosts.length === 0) return
    const keeping = new Map<SubuserId, boolean>()
    for (const id of new Set(hosts.map((each) => each.subuser))) {
      keeping.set(id, (await findAnySubuser(tx, id))?.keepHosts ?? false)
    }
    const named = hosts.filter((each) => keeping.get(each.subuser) === true && isHost(each.host))
    if (named.length === 0) return
    const bySubject = new Map(named.map((each) => [hostSubjectOf(each), each]))
    const known = await counts.known(tx, node, boot, [...bySubject.keys()])
    const crowded = new Map<string, ByteAccountKey>()
    for (const [subject, each] of bySubject) {
      const account = subjectOf(each)
      if (known.has(subject) || newHosts.take(`${node} ${account}`)) continue
      bySubject.delete(subject)
      crowded.set(account, each)
    }
    const noted = [...bySubject].map(([subject, each]) => ({
      subject,
      received: bytes(each.received),
      sent: bytes(each.sent),
    }))
    const added = await counts.take(tx, { node, boot, counts: noted }, { purpose: 'hosts' })
    const rows = added.flatMap((each) => {
      const of = bySubject.get(each.subject)
      return of ? [{ ...of, received: each.received, sent: each.sent }] : []
    })
    const rest = [...crowded.values()].map((account) => restOf(account, booked, rows))
    await counts.add(tx, { node, boot: otherBoot, counts: rest.map(toCount) })
    store.addHosts(tx, hourOf(clock()), merge([...rows, ...rest]))
  }

  async function restoreTo(tx: Tx, account: ByteAccountKey, node: string, sinceAt: number): Promise<bigint> {
    const restored = await leases.restore(tx, account, node, sinceAt)
    if (restored === 0n) return 0n
    let missing = restored
    for (const hour of await store.lockHours(tx, account)) {
      if (missing === 0n) break
      const received = hour.received < missing ? hour.received : missing
      const sent = hour.sent < missing - received ? hour.sent : missing - received
      store.reduceHour(tx, account, hour.hour, received, sent)
      missing -= received + sent
    }
    touchSubuser(tx, account.subuser, clock())
    return restored
  }

  async function takeSources(tx: Tx, { sources = [] }: NodeReport): Promise<void> {
    for (const { subuser, address: text } of sources.slice(0, mostSources)) {
      const address = readAddress(text)
      if (!address) continue
      for (const entry of await listEntries(tx, subuser)) {
        const prefix = readPrefix(entry.prefix)
        const isFresh = entry.lastUsedAt !== null && clock() - entry.lastUsedAt < noteUseEveryMs
        if (prefix && !isFresh && contains(prefix, address)) noteUse(tx, subuser, entry.prefix, clock())
      }
    }
  }

  return {
    /** Takes a node's message and tells how far it may go on, in one transaction. */
    async report(report: NodeReport): Promise<NodeAnswer> {
      if ((report.hosts?.length ?? 0) > mostHosts) throw tooManyHosts(mostHosts)
      const wanting = report.wishes.filter((wish) => wish.want === 'lease').map((wish) => wish.subuser)
      const stopped = await findStopped(wanting)
      return db.transact(async (tx) => {
        const intake = await leases.open(tx, report)
        await lockLimited(tx, wanting)
        const booked = await intake.book()
        store.addHours(tx, hourOf(clock()), booked)
        for (const wish of intake.requests) {
          if (wish.want === 'return') await intake.giveBack(wish)
          else await intake.grant(wish, stopped.has(wish.subuser) ? 0n : await ceilingOf(tx, wish.subuser))
        }
        await takeHosts(tx, report, booked)
        await takeSources(tx, report)
        return { replaced: intake.replaced, allowances: intake.allowances() }
      })
    },

    /**
     * Gives sub-users back what a node has billed them since a moment, and takes it off their hours, by which their
     * limits go. Each account is a transaction of its own.
     */
    async forgetUsage(node: string, sinceAt: number, dryRun: boolean): Promise<Forgotten> {
      if (!dryRun) await leases.shut(node)
      let [things, total] = [0, 0n]
      for (let after = ''; ; ) {
        const page = await leases.countedBy(node, after, accountsAtOnce)
        for (const { account, unsettled } of page) {
          const given = dryRun
            ? (await leases.billedBy(db, account, node, sinceAt)) + unsettled
            : await db.transact((tx) => restoreTo(tx, account, node, sinceAt))
          if (given > 0n) things += 1
          total += given
        }
        const last = page.at(-1)
        if (!last || page.length < accountsAtOnce) return { things, bytes: total }
        after = last.subject
      }
    },

    /** Forgets where bytes went, once that is older than it is kept. */
    async forgetHosts(most: number): Promise<number> {
      const before = hourOf(clock()) - terms.hostDays * 86_400_000
      await db.transact((tx) => counts.forget(tx, hostSubjects, before, most))
      return db.transact((tx) => store.forgetHosts(tx, before, most))
    },
  }
}

const toCount = (row: HostRow) => ({
  subject: hostSubjectOf(row),
  received: bytes(row.received),
  sent: bytes(row.sent),
})

/** One row for each host of an account, sorted. */
function merge(rows: readonly HostRow[]): HostRow[] {
  const merged = new Map<string, HostRow>()
  for (const row of rows) {
    const { received = 0n, sent = 0n } = merged.get(hostSubjectOf(row)) ?? {}
    merged.set(hostSubjectOf(row), { ...row, received: row.received + received, sent: row.sent + sent })
  }
  return [...merged].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
