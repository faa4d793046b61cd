import type { Sha256 } from '../../../core/chain.ts'
import type { SubuserId } from '../../../core/ids.ts'
import { runningBefore, type Stalls } from '../../../core/stall-monitor.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import {
  type AccountKey,
  type ByteAccount,
  comeBack,
  readSubject,
  restore,
  setAside,
  spendAside,
  spendLate,
  subjectOf,
} from '../accounts/rules.ts'
import { createMovements } from '../accounts/service-movements.ts'
import { billedBy, listAccounts, lockKnownAccount, sumRestored } from '../accounts/store.ts'
import type { Counts } from '../counts/service.ts'
import { type Effect, holdLimit, type LeaseReport, type LeaseTerms, type Line, lapse, leastHoldLimit } from './rules.ts'
import { type Intake, openIntake } from './service-intake.ts'
import * as store from './store.ts'

/** How many silent boots are looked at in one go, and how many lines of one are taken back in one transaction. */
const bootsAtOnce = 100
const lapseAtOnce = 200
/** How many large holdings are compared with their limits. */
const mostCompared = 1000

/** What a node holds, and of how many accounts as much as one node may hold. */
export type Held = { readonly bytes: bigint; accountsAtLimit: number }

type Boot = { readonly node: string; readonly boot: string }

/** Byte leases: what nodes may carry before they must ask again. */
export function createLeases(deps: {
  db: Database
  clock: Clock
  stalls: Stalls
  sha256: Sha256
  counts: Counts
  terms: LeaseTerms
}) {
  const { db, clock, terms } = deps
  const { apply } = createMovements(deps)

  /** Moves the bytes that a step of a lease asks for. */
  async function carryOut(
    tx: Tx,
    account: ByteAccount,
    effect: Effect,
    line: Line,
    kind: 'returned' | 'lapsed' = 'returned',
  ): Promise<ByteAccount> {
    const cause = { node: line.node, boot: line.boot }
    let current = account
    if (effect.settle > 0n) current = await apply(tx, current, [spendAside(effect.settle)], cause)
    if (effect.late > 0n) current = await apply(tx, current, [spendLate(current, effect.late)], cause)
    if (effect.giveBack > 0n) current = await apply(tx, current, comeBack(current, kind, effect.giveBack), cause)
    if (effect.grant > 0n) current = await apply(tx, current, [setAside(effect.grant)], cause)
    return current
  }

  /**
   * Takes back a bounded part of what a boot holds, if it is still as silent as it looked. Returns how many lines that
   * was.
   */
  async function takeBack(tx: Tx, { node, boot }: Boot): Promise<number> {
    await store.lockNode(tx, node, boot, clock())
    if (!(await store.isSilent(tx, node, boot, runningBefore(deps, terms.leaseLastsMs)))) return 0
    const closed = (await store.standingOf(tx, node, boot)) === 'closed'
    const subjects = await store.openSubjects(tx, node, boot, lapseAtOnce)
    if (subjects.length === 0) return 0
    const lines = await store.lockLines(tx, node, boot, subjects)
    const outcomes = [...lines.values()].map((line) => lapse(line, closed, terms.leaseBytes))
    const changed = outcomes.map((each) => each.line)
    store.writeLines(tx, changed, clock())
    for (const { line, effect } of outcomes) {
      const key = readSubject(line.subject)
      const account = key && (await lockKnownAccount(tx, key))
      if (account) await carryOut(tx, account, effect, line, 'lapsed')
    }
    return outcomes.length
  }

  return {
    /** Opens a node's report in the caller's transaction. */
    open: (tx: Tx, report: LeaseReport): Promise<Intake> =>
      openIntake(tx, report, { counts: deps.counts, terms, nowMs: clock(), carryOut }),

    /** What nodes may still carry for a sub-user on the leases they hold, over all its pools. */
    async promised(tx: Tx, subuser: SubuserId): Promise<bigint> {
      const accounts = await listAccounts(tx, [subuser])
      const open = await store.sumOpen(tx, accounts.map(subjectOf))
      return [...open.values()].reduce((sum, each) => sum + each.aside - each.unsettled, 0n)
    },

    /**
     * Takes back what nodes hold that were silent for longer than a lease lasts, or went on with a later boot. Returns
     * how many.
     */
    async lapse(): Promise<number> {
      const silent = await store.silentBoots(db, runningBefore(deps, terms.leaseLastsMs), bootsAtOnce)
      for (const boot of silent) {
        while ((await db.transact((tx) => takeBack(tx, boot))) > 0);
      }
      return silent.length
    },

    /** What nodes have billed each of these accounts and was not restored, by subject; for `verify`. */
    async billedOf(reader: Reader, accounts: readonly AccountKey[]): Promise<Map<string, bigint>> {
      const billed = await store.sumAccepted(reader, accounts.map(subjectOf))
      for (const { restored, ...account } of await sumRestored(reader, accounts)) {
        const subject = subjectOf(account)
        const accepted = billed.get(subject)
        if (accepted !== undefined) billed.set(subject, accepted - restored)
      }
      return billed
    },

    /**
     * Ends all that a node holds: its boots claim nothing more, what they counted is settled, and the rest goes back.
     */
    async shut(node: string): Promise<void> {
      await db.transact((tx) => store.closeBoots(tx, node, clock()))
      for (const boot of await store.openBoots(db, node)) {
        while ((await db.transact((tx) => takeBack(tx, boot))) > 0);
      }
    },

    /**
     * The accounts that a node has counted for, and what is counted and not settled, a page at a time after a subject.
     */
    async countedBy(node: string, after: string, most: number) {
      const found = await store.subjectsOf(db, node, after, most)
      return found.flatMap(({ subject, unsettled }) => {
        const account = readSubject(subject)
        return account ? [{ account, subject, unsettled }] : []
      })
    },

    /** What a node has billed an account since a moment, and was not restored yet. */
    async billedBy(reader: Reader, of: AccountKey, node: string, sinceAt: number): Promise<bigint> {
      const boots = await billedBy(reader, of, node, sinceAt)
      return boots.reduce((sum, each) => sum + (each.used > 0n ? each.used : 0n), 0n)
    },

    /**
     * Gives an account back what a node has billed it since a moment, once, and lets go what is owed because of that
     * node.
     */
    async restore(tx: Tx, of: AccountKey, node: string, sinceAt: number): Promise<bigint> {
      const found = await lockKnownAccount(tx, of)
      if (!found) return 0n
      let [account, restored] = [found, 0n]
      for (const { boot, used, owed } of await billedBy(tx, of, node, sinceAt)) {
        const outstanding = owed < account.owed ? owed : account.owed
        const due = (used > 0n ? used : 0n) + (outstanding > 0n ? outstanding : 0n)
        if (due <= 0n) continue
        account = await apply(tx, account, [restore(account, due)], { node, boot })
        restored += due
      }
      return restored
    },

    /** What each node holds in all, and of how many accounts it holds as much as one node may. */
    async held(): Promise<Map<string, Held>> {
      const held = new Map(
        (await store.sumHeld(db)).map((each) => [each.node, { bytes: each.held, accountsAtLimit: 0 }]),
      )
      const large = await store.largestHeld(db, leastHoldLimit(terms), mostCompared)
      const subusers = large.flatMap(({ subject }) => readSubject(subject)?.subuser ?? [])
      const accounts = new Map((await listAccounts(db, [...new Set(subusers)])).map((each) => [subjectOf(each), each]))
      for (const each of large) {
        const [account, node] = [accounts.get(each.subject), held.get(each.node)]
        if (account && node && each.held >= holdLimit(terms, account)) node.accountsAtLimit += 1
      }
      return held
    },

    /** Claims that no lease covers, latest first. */
    quarantined: (most: number): Promise<store.Quarantined[]> => store.listQuarantined(db, most),
  }
}
