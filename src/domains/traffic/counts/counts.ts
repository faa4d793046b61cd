import { type Bytes, bytes } from '../../../core/bytes.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { accountSubjects } from '../accounts/rules.ts'
import type { TrafficDeps } from '../deps.ts'
import { tooMany } from '../errors.ts'
import {
  believe,
  type CountReport,
  firstBudget,
  largerOf,
  least,
  maxBytes,
  maxInFlight,
  newIn,
  refill,
  settle,
  type UnbilledClaim,
} from './rules.ts'
import * as store from './store.ts'

const maxCounts = 1000

/** What a report added for one subject: the believed bytes of each direction, and the claimed bytes of both. */
export type CountIncrease = {
  readonly subject: string
  readonly received: Bytes
  readonly sent: Bytes
  readonly claimed: bigint
}

/** `rooms`: how many more bytes each subject may carry. */
type Bounds = { readonly purpose?: store.BudgetPurpose; readonly rooms?: ReadonlyMap<string, bigint> }

/**
 * Takes a report into the caller's transaction and returns what is new in it. Reports of one node are serialised by
 * the lock of its budget. Bytes that the node's link cannot have carried since are stored and not believed.
 */
export async function take(
  { clock, fleet }: TrafficDeps,
  tx: Tx,
  { node, boot, counts: reported }: CountReport,
  { purpose = 'carried', rooms }: Bounds = {},
): Promise<CountIncrease[]> {
  if (reported.length > maxCounts) throw tooMany('counts', maxCounts)
  const counts = settle(reported)
  if (counts.length === 0) return []
  const nowMs = clock()
  const link = await fleet.findLink(tx, node)
  const first = firstBudget(link.megabits, link.joinedAt ?? nowMs)
  const budget = refill(await store.lockBudget(tx, node, purpose, first), link.megabits, nowMs)
  await store.lockBoot(tx, node, boot, nowMs)
  const subjects = counts.map((each) => each.subject)
  const known = await store.lockCounts(tx, node, boot, subjects)
  let { rest } = budget
  const taken = counts.map((count) => {
    const before = known.get(count.subject)
    const fresh = newIn(count, before)
    const added = believe(fresh, least(rooms?.get(count.subject) ?? maxBytes, rest))
    rest -= added.received + added.sent
    const believed = {
      received: (before?.believed.received ?? 0n) + added.received,
      sent: (before?.believed.sent ?? 0n) + added.sent,
    }
    return { count: { ...largerOf(count, before), believed }, added, claimed: fresh.received + fresh.sent }
  })
  store.writeBudget(tx, node, purpose, { ...budget, rest })
  const raised = taken.map((each) => each.count)
  store.raiseCounts(tx, node, boot, raised, nowMs)
  return taken.flatMap(({ count, added, claimed }) =>
    claimed > 0n ? [{ subject: count.subject, ...added, claimed }] : [],
  )
}

/** Adds to counts that the shop keeps itself, of bytes that were believed already. */
export async function add({ clock }: TrafficDeps, tx: Tx, { node, boot, counts }: CountReport): Promise<void> {
  if (counts.length === 0) return
  await store.lockBoot(tx, node, boot, clock())
  const subjects = counts.map((each) => each.subject)
  const known = await store.lockCounts(tx, node, boot, subjects)
  const raised = counts.map(({ subject, ...count }) => {
    const before = known.get(subject)
    const received = bytes((before?.received ?? 0n) + count.received)
    const sent = bytes((before?.sent ?? 0n) + count.sent)
    return { subject, received, sent, believed: { received, sent } }
  })
  store.raiseCounts(tx, node, boot, raised, clock())
}

/** The subjects among these that a boot has counted for already. Their counts stay locked. */
export async function known(tx: Tx, node: string, boot: string, subjects: readonly string[]): Promise<Set<string>> {
  return new Set((await store.lockCounts(tx, node, boot, subjects.toSorted())).keys())
}

/** The most bytes that can be on their way through a node's link, over all its accounts. */
export async function inFlight({ fleet }: TrafficDeps, reader: Reader, node: string): Promise<bigint> {
  return maxInFlight((await fleet.findLink(reader, node)).megabits)
}

/** Notes for the operator what a node has claimed and was not billed for. */
export function refuse({ clock }: TrafficDeps, tx: Tx, node: string, bytesRefused: bigint): void {
  if (bytesRefused > 0n) store.noteRefused(tx, node, bytesRefused, maxBytes, clock())
}

/** Nodes that have claimed what they cannot have carried, since a moment or ever. */
export const refusals = ({ db }: TrafficDeps, sinceAt = -1): Promise<store.RefusedClaim[]> =>
  store.listRefused(db, sinceAt)

/** Claims for subjects without leases that are not believed, latest first. */
export const unbelieved = ({ db }: TrafficDeps, limit: number): Promise<UnbilledClaim[]> =>
  store.listUnbelieved(db, accountSubjects, limit)

/** The believed bytes of a node's boots that have reported since a moment. */
export const believedOf = (
  { db }: TrafficDeps,
  node: string,
  sinceAt: number,
): Promise<{ things: number; bytes: bigint }> => store.sumBelieved(db, node, sinceAt)

/**
 * Withdraws belief in the counts of a node's boots that have reported since a moment, at most `limit` counts at a time,
 * and returns them. A count does not say when it grew, so a boot is believed as a whole or not at all.
 */
export async function disbelieve(tx: Tx, node: string, sinceAt: number, limit: number): Promise<CountIncrease[]> {
  const found = await store.lockBelieved(tx, node, sinceAt, limit)
  for (const each of found) store.disbelieve(tx, node, each.boot, each.subject)
  return found.map(({ subject, received, sent }) => ({
    subject,
    received: bytes(received),
    sent: bytes(sent),
    claimed: received + sent,
  }))
}
