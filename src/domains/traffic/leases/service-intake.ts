import { bytes } from '../../../core/bytes.ts'
import type { Tx } from '../../../db/transaction.ts'
import { type AccountKey, type ByteAccount, readSubject, subjectOf } from '../accounts/rules.ts'
import { lockKnownAccount } from '../accounts/store.ts'
import type { Counts } from '../counts/service.ts'
import { repeatedWish, tooManyWishes } from '../errors.ts'
import {
  allowance,
  type Carried,
  count,
  type Effect,
  giveBack,
  grant,
  holdLimit,
  type LeaseReport,
  type LeaseTerms,
  type Line,
  leaseSize,
  least,
  most,
  newLine,
  remaining,
  type Wish,
} from './rules.ts'
import * as store from './store.ts'

const mostWishes = 1000
/** Each boot that is open may leave one lease unpaid, so there are not many. */
const mostBeside = 3

/** What an intake needs: a way to count, and a way to move the bytes that a step of a lease asks for. */
export type IntakeParts = {
  readonly counts: Counts
  readonly terms: LeaseTerms
  readonly nowMs: number
  readonly carryOut: (tx: Tx, account: ByteAccount, effect: Effect, line: Line) => Promise<ByteAccount>
}

export type Intake = Awaited<ReturnType<typeof openIntake>>

/**
 * Opens one report in the caller's transaction: its counts are noted and its lines are locked. One node's reports take
 * turns. A wish of a later boot makes it the one that holds the node's leases; one that was replaced gets nothing more.
 * What follows is `book`, then a `grant` or `giveBack` for each wish, in their order.
 */
export async function openIntake(tx: Tx, report: LeaseReport, parts: IntakeParts) {
  if (report.wishes.length > mostWishes) throw tooManyWishes(mostWishes)
  const wished = new Set(report.wishes.map(subjectOf))
  // A second request of the same report would be granted a second lease.
  if (wished.size < report.wishes.length) throw repeatedWish()
  const { added, replaced } = await takeCounts(tx, report, parts)
  const wishes = report.wishes.toSorted((a, b) => a.turn - b.turn)
  const lines = await lockLines(tx, report, [...added.map((each) => each.subject), ...wished])
  const elsewhere = await store.heldByOtherBoots(tx, report.node, report.boot, [...wished])
  const accounts = new Map<string, ByteAccount>()
  let inFlight = await findInFlight(tx, report, parts)

  /** The accounts that this report can touch, locked in sorted order before the first is moved. */
  async function lockAccounts(): Promise<void> {
    for (const [subject, line] of lines) {
      const key = wished.has(subject) || line.claimable > 0n ? readSubject(subject) : undefined
      const account = key && (await lockKnownAccount(tx, key))
      if (account) accounts.set(subject, account)
    }
  }

  /** Keeps what a step has made of a line, and moves the bytes that it asks for. */
  async function keep(subject: string, outcome: { line: Line; effect: Effect }): Promise<void> {
    const account = accounts.get(subject)
    if (account) accounts.set(subject, await parts.carryOut(tx, account, outcome.effect, outcome.line))
    lines.set(subject, outcome.line)
  }

  /** A wish about an account that nobody knows opens none. */
  async function grantOrReturn(
    wish: Wish,
    step: (line: Line, account: ByteAccount) => { line: Line; effect: Effect },
  ): Promise<void> {
    const subject = subjectOf(wish)
    const [line, account] = [lines.get(subject), accounts.get(subject)]
    if (!line || !account) return
    const outcome = step(line, account)
    await keep(subject, outcome)
    store.writeLines(tx, [outcome.line], parts.nowMs)
  }

  return {
    /** A later boot holds the node's leases. */
    replaced,
    wishes,

    /**
     * Locks the accounts and books what was counted. Only what a lapsed lease covers touches an account now; the rest
     * is settled with the next wish. Tells what was carried, without what goes to quarantine.
     */
    async book(): Promise<Carried[]> {
      await lockAccounts()
      const carried: Carried[] = []
      const changed: Line[] = []
      let refused = 0n
      for (const { subject, received, sent, claimed } of added) {
        const line = lines.get(subject)
        const key = readSubject(subject)
        if (!line || !key) continue
        const outcome = count(line, { claimed, believed: received + sent }, replaced)
        await keep(subject, outcome)
        changed.push(outcome.line)
        refused += outcome.quarantined
        const accepted = claimed - outcome.quarantined
        const toCustomer = received < accepted ? received : accepted
        if (accepted > 0n) carried.push({ ...key, received: toCustomer, sent: accepted - toCustomer })
      }
      store.writeLines(tx, changed, parts.nowMs)
      parts.counts.refuse(tx, report.node, refused)
      return carried
    },

    /**
     * Fills a line up to one lease, as far as the account, the `ceiling` and what one node may hold go; null is no
     * ceiling. What the node says is on its way counts as far as its line holds it and its link carries it.
     */
    grant: (wish: Wish, ceiling: bigint | null): Promise<void> =>
      grantOrReturn(wish, (line, account) => {
        const { balance } = account
        const free = replaced ? 0n : least(ceiling ?? balance, balance)
        const held = remaining(line) + (elsewhere.get(line.subject) ?? 0n)
        const room = most(holdLimit(parts.terms, account) - held, 0n)
        const moving = least(least(wish.moving ?? 0n, remaining(line)), inFlight)
        inFlight -= moving
        return grant(line, wish.turn, leaseSize(parts.terms, wish.pace ?? 0n, free), least(free, room), moving)
      }),

    giveBack: (wish: Wish): Promise<void> => grantOrReturn(wish, (line) => giveBack(line, wish.turn)),

    /** For each account that a wish was about, the count that the node must not pass. */
    allowances(): (AccountKey & { readonly upto: bigint })[] {
      const asked = new Map(report.wishes.map(({ subuser, pool }) => [subjectOf({ subuser, pool }), { subuser, pool }]))
      return [...asked].flatMap(([subject, key]) => {
        const line = lines.get(subject)
        return line ? [{ ...key, upto: allowance(line) }] : []
      })
    },
  }
}

/** What can be on its way through the node's link; not looked up for a report that says that nothing is. */
async function findInFlight(tx: Tx, { node, wishes }: LeaseReport, { counts }: IntakeParts): Promise<bigint> {
  return wishes.some((wish) => (wish.moving ?? 0n) > 0n) ? counts.inFlight(tx, node) : 0n
}

/** Notes the report's counts, and which boot of the node holds its leases now. */
async function takeCounts(tx: Tx, report: LeaseReport, { counts, nowMs }: IntakeParts) {
  const { node, boot } = report
  const holder = await store.lockNode(tx, node, boot, nowMs)
  const standing = await store.standingOf(tx, node, boot)
  const noted = report.counts.map((each) => ({
    subject: subjectOf(each),
    received: bytes(each.received),
    sent: bytes(each.sent),
  }))
  const added = await counts.take(tx, { node, boot, counts: noted })
  if (noted.length === 0) await counts.heard(tx, node, boot)
  // Boots are named so that a later one sorts later: an old one's message that comes late must not displace the new
  // one. Of the earlier ones those are open that the later one has named as going on beside it; all that were known
  // then are closed, and one that nobody had heard of by then comes too late.
  const replaced = standing === 'closed' || (boot < holder && standing === 'unknown')
  if (replaced) store.closeBoot(tx, node, boot, nowMs)
  else if (holder < boot && report.wishes.some((wish) => wish.want === 'lease')) {
    store.holdWith(tx, node, boot, nowMs)
    await store.closeEarlier(tx, node, boot, (report.beside ?? []).slice(0, mostBeside), nowMs)
  }
  return { added, replaced }
}

/** The report's lines by subject, in sorted order, locked; one that is not there yet is a new one. */
async function lockLines(tx: Tx, { node, boot }: LeaseReport, subjects: readonly string[]): Promise<Map<string, Line>> {
  const sorted = [...new Set(subjects)].toSorted()
  const known = sorted.length === 0 ? new Map<string, Line>() : await store.lockLines(tx, node, boot, sorted)
  return new Map(sorted.map((subject) => [subject, known.get(subject) ?? newLine(node, boot, subject)]))
}
