import type { Database, Tx } from '../../../db/transaction.ts'
import { contains, readAddress, readPrefix } from '../../../kernel/address.ts'
import { bytes } from '../../../kernel/bytes.ts'
import type { CustomerId, SubuserId } from '../../../kernel/ids.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Customers } from '../../customers/index.ts'
import {
  allowance,
  type Effect,
  type Leases,
  type Line,
  leaseSteps,
  type Usage,
  type Wish,
} from '../../traffic/index.ts'
import { listEntries, noteUse } from '../access/store.ts'
import { tooManyHosts } from '../errors.ts'
import {
  dayStart,
  hostSubjectOf,
  hostSubjects,
  hourOf,
  isLimited,
  leftOfLimits,
  monthStart,
  type PremiumTerms,
  readSubject,
  type Subuser,
  subjectOf,
} from '../rules.ts'
import { findAnySubuser, lockSubuser } from '../subusers/store.ts'
import { comeBack, setAside, spendAside, spendLate, type TrafficAccount } from '../traffic/rules.ts'
import type { Traffic } from '../traffic/service.ts'
import { listAccounts, lockKnownAccount } from '../traffic/store.ts'
import * as store from './store.ts'

/** What a node says of one sub-user's traffic in one pool since it booted. */
type NodeCount = {
  readonly subuser: SubuserId
  readonly pool: string
  readonly received: bigint
  readonly sent: bigint
}

/** One message of a node. Everything in it is cumulative or numbered, so it may come twice, late or out of order. */
export type NodeReport = {
  readonly node: string
  readonly boot: string
  readonly counts: readonly NodeCount[]
  /** Numbered by the node, rising: to go on carrying, or to give back what it holds. */
  readonly wishes: readonly {
    readonly subuser: SubuserId
    readonly pool: string
    readonly turn: number
    readonly want: Wish['want']
    readonly moving?: bigint | undefined
  }[]
  /** Where the bytes went, for the customer's eyes only; not billed by. */
  readonly hosts?: readonly (NodeCount & { readonly host: string })[]
  /** Whitelisted addresses that somebody came from. */
  readonly sources?: readonly { readonly subuser: SubuserId; readonly address: string }[]
}

/** The count that the node must not pass, for each wish. `replaced` means that a later boot of the node holds its leases. */
export type NodeAnswer = {
  readonly replaced: boolean
  readonly allowances: readonly { readonly subuser: SubuserId; readonly pool: string; readonly upto: bigint }[]
}

const mostHosts = 1000
const mostSources = 1000
const rememberMs = 1000
const mostRemembered = 10_000
/** A use of a whitelisted address is written down once a minute. */
const noteUseEveryMs = 60_000
const bootsAtOnce = 100

type Intake = Awaited<ReturnType<Leases['take']>>

export function createIntake(deps: {
  db: Database
  clock: Clock
  customers: Customers
  usage: Usage
  leases: Leases
  traffic: Traffic
  terms: PremiumTerms
}) {
  const { db, clock, leases, traffic, terms } = deps
  const blocked = new Map<CustomerId, { blocked: boolean; askedAt: number }>()

  /** Asked outside of transactions and believed for a second. */
  async function isBlocked(customer: CustomerId): Promise<boolean> {
    const known = blocked.get(customer)
    const nowMs = clock()
    if (known && Math.abs(nowMs - known.askedAt) < rememberMs) return known.blocked
    const found = await deps.customers.load(customer)
    if (blocked.size >= mostRemembered) blocked.clear()
    blocked.set(customer, { blocked: found.blockedAt !== null, askedAt: nowMs })
    return found.blockedAt !== null
  }

  /** Sub-users that may not carry anything now, whatever traffic they have. */
  async function findStopped(ids: Iterable<SubuserId>): Promise<Set<SubuserId>> {
    const stopped = new Set<SubuserId>()
    for (const id of new Set(ids)) {
      const subuser = await findAnySubuser(db, id)
      if (!subuser || (await isBlocked(subuser.customer))) stopped.add(id)
    }
    return stopped
  }

  /** How much more may be set aside: what is free, within the sub-user's limits. */
  async function available(tx: Tx, subuser: Subuser, account: TrafficAccount): Promise<bigint> {
    if (subuser.blockedAt !== null || subuser.deletedAt !== null) return 0n
    if (!isLimited(subuser.limits)) return account.balance
    const nowMs = clock()
    const carried = await store.carriedSince(tx, subuser.id, dayStart(nowMs), monthStart(nowMs))
    const total = subuser.limits.totalBytes === null ? 0n : await store.carriedInAll(tx, subuser.id)
    const pools = await listAccounts(tx, subuser.id)
    const open = await leases.open(
      tx,
      pools.map((each) => subjectOf(subuser.id, each.pool)),
    )
    const promised = [...open.values()].reduce((sum, each) => sum + each.aside - each.unsettled, 0n)
    const left = leftOfLimits(subuser.limits, { ...carried, total, promised })
    return left === null || left > account.balance ? account.balance : left
  }

  /** Moves the bytes that a step of a lease asks for. */
  async function carryOut(
    tx: Tx,
    account: TrafficAccount,
    effect: Effect,
    line: Line,
    kind: 'returned' | 'lapsed',
  ): Promise<TrafficAccount> {
    const cause = { node: line.node, boot: line.boot }
    let current = account
    if (effect.settle > 0n) current = await traffic.apply(tx, current, [spendAside(effect.settle)], cause)
    if (effect.late > 0n) current = await traffic.apply(tx, current, [spendLate(current, effect.late)], cause)
    if (effect.giveBack > 0n)
      current = await traffic.apply(tx, current, comeBack(current, kind, effect.giveBack), cause)
    if (effect.grant > 0n) current = await traffic.apply(tx, current, [setAside(effect.grant)], cause)
    return current
  }

  async function lockAccountOf(tx: Tx, subject: string): Promise<TrafficAccount | undefined> {
    const of = readSubject(subject)
    return of && lockKnownAccount(tx, of.subuser, of.pool)
  }

  /** The accounts that this message can touch, locked in sorted order before the first is moved. */
  async function lockAccounts(tx: Tx, intake: Intake): Promise<Map<string, TrafficAccount>> {
    const wished = new Set(intake.wishes.map((wish) => wish.subject))
    const accounts = new Map<string, TrafficAccount>()
    for (const [subject, line] of [...intake.lines].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const account = wished.has(subject) || line.claimable > 0n ? await lockAccountOf(tx, subject) : undefined
      if (account) accounts.set(subject, account)
    }
    return accounts
  }

  /** Counts what was carried. Only what a lapsed lease covers touches the account now; the rest is settled with the next wish. */
  async function takeCounts(tx: Tx, intake: Intake, accounts: Map<string, TrafficAccount>): Promise<void> {
    const carried: store.Carried[] = []
    const changed: Line[] = []
    for (const added of intake.added) {
      const line = intake.lines.get(added.subject)
      const of = readSubject(added.subject)
      if (!line || !of) continue
      const total = added.received + added.sent
      const outcome = leaseSteps.count(line, total, intake.closed)
      const account = accounts.get(added.subject)
      if (account) accounts.set(added.subject, await carryOut(tx, account, outcome.effect, line, 'returned'))
      intake.lines.set(added.subject, outcome.line)
      changed.push(outcome.line)
      const accepted = total - outcome.quarantined
      const received = added.received < accepted ? added.received : accepted
      if (accepted > 0n) carried.push({ ...of, received, sent: accepted - received })
    }
    leases.write(tx, changed)
    store.addHours(tx, hourOf(clock()), carried)
  }

  async function takeWish(
    tx: Tx,
    intake: Intake,
    accounts: Map<string, TrafficAccount>,
    wish: Wish,
    stopped: ReadonlySet<SubuserId>,
  ): Promise<void> {
    const line = intake.lines.get(wish.subject)
    const of = readSubject(wish.subject)
    if (!line || !of) return
    const account = accounts.get(wish.subject)
    if (!account) return
    let outcome: { line: Line; effect: Effect }
    if (wish.want === 'return') outcome = leaseSteps.giveBack(line, wish.turn)
    else {
      const subuser = stopped.has(of.subuser) || intake.closed ? undefined : await findAnySubuser(tx, of.subuser)
      const free = subuser ? await available(tx, subuser, account) : 0n
      outcome = leaseSteps.grant(line, wish.turn, terms.leaseBytes, free, wish.moving)
    }
    accounts.set(wish.subject, await carryOut(tx, account, outcome.effect, outcome.line, 'returned'))
    intake.lines.set(wish.subject, outcome.line)
    leases.write(tx, [outcome.line])
  }

  async function takeHosts(tx: Tx, report: NodeReport): Promise<void> {
    const hosts = report.hosts ?? []
    if (hosts.length === 0) return
    const keeping = new Map<SubuserId, boolean>()
    for (const id of new Set(hosts.map((each) => each.subuser))) {
      keeping.set(id, (await findAnySubuser(tx, id))?.keepHosts ?? false)
    }
    const kept = hosts.filter((each) => keeping.get(each.subuser) === true && isHost(each.host))
    const bySubject = new Map(kept.map((each) => [hostSubjectOf(each.subuser, each.pool, each.host), each]))
    const added = await deps.usage.take(tx, {
      node: report.node,
      boot: report.boot,
      counts: [...bySubject].map(([subject, each]) => ({
        subject,
        received: bytes(each.received),
        sent: bytes(each.sent),
      })),
    })
    const rows = added.flatMap((each) => {
      const of = bySubject.get(each.subject)
      return of ? [{ ...of, received: each.received, sent: each.sent }] : []
    })
    store.addHosts(tx, hourOf(clock()), rows)
  }

  async function takeSources(tx: Tx, report: NodeReport): Promise<void> {
    for (const { subuser, address: text } of (report.sources ?? []).slice(0, mostSources)) {
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
        const intake = await leases.take(tx, {
          node: report.node,
          boot: report.boot,
          counts: report.counts.map((each) => ({
            subject: subjectOf(each.subuser, each.pool),
            received: bytes(each.received),
            sent: bytes(each.sent),
          })),
          wishes: report.wishes.map(({ subuser, pool, ...wish }) => ({ ...wish, subject: subjectOf(subuser, pool) })),
        })
        // Limits are over all pools of a sub-user, so grants to it take turns; rows and accounts are locked in sorted order.
        for (const id of [...new Set(wanting)].toSorted()) {
          const subuser = await findAnySubuser(tx, id)
          if (subuser && isLimited(subuser.limits)) await lockSubuser(tx, id)
        }
        const accounts = await lockAccounts(tx, intake)
        await takeCounts(tx, intake, accounts)
        for (const wish of intake.wishes) await takeWish(tx, intake, accounts, wish, stopped)
        await takeHosts(tx, report)
        await takeSources(tx, report)
        const asked = new Map(report.wishes.map((wish) => [subjectOf(wish.subuser, wish.pool), wish]))
        const allowances = [...asked].flatMap(([subject, { subuser, pool }]) => {
          const line = intake.lines.get(subject)
          return line ? [{ subuser, pool, upto: allowance(line) }] : []
        })
        return { replaced: intake.closed, allowances }
      })
    },

    /** Takes back what silent nodes hold. Returns how many boots it looked at. */
    async lapse(): Promise<number> {
      const silent = await leases.silent(terms.leaseLastsMs, bootsAtOnce)
      for (const boot of silent) {
        for (;;) {
          const taken = await db.transact(async (tx) => {
            const outcomes = await leases.lapse(tx, boot, { lastsMs: terms.leaseLastsMs, leaseBytes: terms.leaseBytes })
            for (const { line, effect } of outcomes) {
              const account = await lockAccountOf(tx, line.subject)
              if (account) await carryOut(tx, account, effect, line, 'lapsed')
            }
            return outcomes.length
          })
          if (taken === 0) break
        }
      }
      return silent.length
    },

    /** Forgets where bytes went, once that is older than it is kept. */
    async forgetHosts(most: number): Promise<number> {
      const before = hourOf(clock()) - terms.hostDays * 86_400_000
      await db.transact((tx) => deps.usage.forget(tx, hostSubjects, before, most))
      return db.transact((tx) => store.forgetHosts(tx, before, most))
    },

    quarantined: leases.quarantined,
  }
}

/** A name or an address as a destination is written; anything else a node says is not worth keeping. */
const isHost = (text: string): boolean => /^[a-z0-9._:-]{1,253}$/.test(text)
