import { contains, readAddress, readPrefix } from '../../../core/address.ts'
import { bytes } from '../../../core/bytes.ts'
import { monthStart } from '../../../core/calendar.ts'
import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { refuseField } from '../../../core/refusal.ts'
import { createTokenBuckets } from '../../../core/token-buckets.ts'
import { createTtlCache, type TtlCache } from '../../../core/ttl-cache.ts'
import type { Tx } from '../../../db/transaction.ts'
import { type ByteAccountKey, subjectOf } from '../../traffic/accounts/rules.ts'
import type { RelayedBytes } from '../../traffic/leases/rules.ts'
import type { PremiumDeps } from '../deps.ts'
import { isLimited, leftOfLimits } from '../subusers/rules.ts'
import { findAnySubuser, listEntries, lockSubuser, noteUse, touchSubuser } from '../subusers/store.ts'
import type { HostBytes, NodeReport } from './rules.ts'
import { dayMs, dayStart, hostSubjectOf, hostSubjects, hourOf, isHost, restOf } from './rules.ts'
import * as store from './store.ts'

const maxHosts = 1000
/** An honest gateway names at most 500 hosts of an account per boot, and boots a few times a day. */
const newHostsPerDay = 2000
/** Boot of the counts that the shop itself keeps under "other". Nodes' boot names are longer. */
const otherBoot = 'other'
const accountsAtOnce = 200
const maxSources = 1000
/** The use of a whitelisted address is stored once a minute. */
const noteUseEveryMs = 60_000

export type MeteringDeps = PremiumDeps & {
  /** Whether a customer is blocked, at most one second old. */
  readonly blocked: TtlCache<CustomerId, boolean>
  readonly newHosts: ReturnType<typeof limitNewHosts>
}

export function cacheBlocked({ customers, clock }: PremiumDeps): MeteringDeps['blocked'] {
  const load = async (customer: CustomerId) => (await customers.load(customer)).blockedAt !== null
  return createTtlCache({ load, clock, ttlMs: 1000, maxEntries: 10_000 })
}

export const limitNewHosts = ({ clock }: PremiumDeps) =>
  createTokenBuckets({ perSecond: newHostsPerDay / 86_400, burst: newHostsPerDay }, clock)

/**
 * Takes a node's report in one transaction. Answers, for each request, the count that the node must not pass, and
 * whether a later boot has `replaced` this one.
 */
export async function takeReport(deps: MeteringDeps, report: NodeReport) {
  if ((report.hosts?.length ?? 0) > maxHosts) throw refuseField('hosts', 'max_items', { max: maxHosts })
  const wanting = report.leaseRequests.filter((each) => each.want === 'lease').map((each) => each.subuser)
  const stopped = await findStopped(deps, wanting)
  return deps.db.transact(async (tx) => {
    const opened = await deps.traffic.leases.open(tx, report)
    await lockLimited(tx, wanting)
    const booked = await opened.book()
    store.addHours(tx, hourOf(deps.clock()), booked)
    for (const request of opened.requests) {
      if (request.want === 'return') await opened.giveBack(request)
      else await opened.grant(request, stopped.has(request.subuser) ? 0n : await ceilingOf(deps, tx, request.subuser))
    }
    await takeHosts(deps, tx, report, booked)
    await takeSources(deps, tx, report)
    return { replaced: opened.replaced, allowances: opened.allowances() }
  })
}

/** Unknown sub-users and those of blocked customers. Read outside of the transaction. */
async function findStopped({ db, blocked }: MeteringDeps, ids: Iterable<SubuserId>): Promise<Set<SubuserId>> {
  const stopped = new Set<SubuserId>()
  for (const id of new Set(ids)) {
    const subuser = await findAnySubuser(db, id)
    if (!subuser || (await blocked.get(subuser.customer))) stopped.add(id)
  }
  return stopped
}

/** Limits hold over all pools of a sub-user, so grants to it are serialised. Sorted, to avoid deadlocks. */
async function lockLimited(tx: Tx, ids: Iterable<SubuserId>): Promise<void> {
  for (const id of [...new Set(ids)].toSorted()) {
    const subuser = await findAnySubuser(tx, id)
    if (subuser && isLimited(subuser.limits)) await lockSubuser(tx, id)
  }
}

/** How many more bytes may be set aside for a sub-user by its limits; null is no limit. */
async function ceilingOf({ clock, traffic }: PremiumDeps, tx: Tx, id: SubuserId): Promise<bigint | null> {
  const subuser = await findAnySubuser(tx, id)
  if (!subuser || subuser.blockedAt !== null || subuser.deletedAt !== null) return 0n
  if (!isLimited(subuser.limits)) return null
  const nowMs = clock()
  const used = await store.usedSince(tx, id, dayStart(nowMs), monthStart(nowMs))
  const total = subuser.limits.totalBytes === null ? 0n : await store.totalUsed(tx, id)
  const promised = await traffic.leases.promised(tx, id)
  return leftOfLimits(subuser.limits, { ...used, total, promised })
}

/**
 * Stores the destinations of bytes. `booked` are the bytes that the report added to accounts. If a node names too many
 * hosts of an account, the bytes to the others become one row.
 */
async function takeHosts(
  { clock, newHosts, traffic: { counts } }: MeteringDeps,
  tx: Tx,
  { node, boot, hosts = [] }: NodeReport,
  booked: readonly RelayedBytes[],
): Promise<void> {
  const keeping = new Map<SubuserId, boolean>()
  for (const id of new Set(hosts.map((each) => each.subuser))) {
    keeping.set(id, (await findAnySubuser(tx, id))?.keepHosts ?? false)
  }
  const named = hosts.filter((each) => keeping.get(each.subuser) === true && isHost(each.host))
  if (named.length === 0) return
  const bySubject = new Map(named.map((each) => [hostSubjectOf(each), each]))
  const known = await counts.known(tx, { node, boot }, [...bySubject.keys()])
  const crowded = new Map<string, ByteAccountKey>()
  for (const [subject, each] of bySubject) {
    const account = subjectOf(each)
    if (known.has(subject) || newHosts.take(`${node} ${account}`)) continue
    bySubject.delete(subject)
    crowded.set(account, each)
  }
  const taken = { node, boot, counts: [...bySubject.values()].map(toCount) }
  const added = await counts.take(tx, taken, { purpose: 'hosts' })
  const rows = added.flatMap((each) => {
    const of = bySubject.get(each.subject)
    return of ? [{ ...of, received: each.received, sent: each.sent }] : []
  })
  const rest = [...crowded.values()].map((account) => restOf(account, booked, rows))
  await counts.add(tx, { node, boot: otherBoot, counts: rest.map(toCount) })
  store.addHosts(tx, hourOf(clock()), merge([...rows, ...rest]))
}

const toCount = (row: HostBytes) => ({
  subject: hostSubjectOf(row),
  received: bytes(row.received),
  sent: bytes(row.sent),
})

/** One row for each host of an account, sorted. */
function merge(rows: readonly HostBytes[]): HostBytes[] {
  const merged = new Map<string, HostBytes>()
  for (const row of rows) {
    const { received = 0n, sent = 0n } = merged.get(hostSubjectOf(row)) ?? {}
    merged.set(hostSubjectOf(row), { ...row, received: row.received + received, sent: row.sent + sent })
  }
  return [...merged].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

async function takeSources({ clock }: PremiumDeps, tx: Tx, { sources = [] }: NodeReport): Promise<void> {
  for (const { subuser, address: text } of sources.slice(0, maxSources)) {
    const address = readAddress(text)
    if (!address) continue
    for (const entry of await listEntries(tx, subuser)) {
      const prefix = readPrefix(entry.prefix)
      const isFresh = entry.lastUsedAt !== null && clock() - entry.lastUsedAt < noteUseEveryMs
      if (prefix && !isFresh && contains(prefix, address)) noteUse(tx, subuser, entry.prefix, clock())
    }
  }
}

/** Gives sub-users back the bytes that a node billed them since a moment, one account per transaction. */
export async function forgetUsage(deps: MeteringDeps, node: string, sinceAt: number, dryRun: boolean) {
  const { db, traffic } = deps
  if (!dryRun) await traffic.leases.closeNode(node)
  let [things, total] = [0, 0n]
  for (let after: string | undefined = ''; after !== undefined; ) {
    const { items, next } = await traffic.leases.countedBy(node, after, accountsAtOnce)
    after = next
    for (const { account, unsettled } of items) {
      const given = dryRun
        ? (await traffic.leases.billedBy(db, account, node, sinceAt)) + unsettled
        : await db.transact((tx) => restoreTo(deps, tx, account, node, sinceAt))
      if (given > 0n) things += 1
      total += given
    }
  }
  return { things, bytes: total }
}

/** Restores an account, and takes the bytes off its latest hours, from which limits are computed. */
async function restoreTo(deps: PremiumDeps, tx: Tx, account: ByteAccountKey, node: string, sinceAt: number) {
  const { clock, traffic } = deps
  const restored = await traffic.leases.restore(tx, account, node, sinceAt)
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

/** Deletes destinations that are older than they are kept. Returns how many; call again while that is `limit`. */
export async function forgetHosts({ db, clock, terms, traffic }: MeteringDeps, limit: number): Promise<number> {
  const before = hourOf(clock()) - terms.hostDays * dayMs
  await db.transact((tx) => traffic.counts.forget(tx, hostSubjects, before, limit))
  return db.transact((tx) => store.forgetHosts(tx, before, limit))
}
