import { bytes } from '../../../core/bytes.ts'
import { refuseField } from '../../../core/refusal.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { TrafficDeps } from '../deps.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'

const maxCounts = 1000

/** What a report added for one subject: the believed bytes of each direction, and the claimed bytes of both. */
type CountIncrease = rules.SubjectCount & { readonly claimed: bigint }

/** `rooms`: how many more bytes each subject may relay. */
type Bounds = { readonly purpose?: store.BudgetPurpose; readonly rooms?: ReadonlyMap<string, bigint> }

/**
 * Takes a report into the caller's transaction and returns what is new in it. Reports of one node are serialised by
 * the lock of its budget. Bytes that the node's link cannot have relayed since are stored and not believed.
 */
export async function take(
  { clock, fleet }: TrafficDeps,
  tx: Tx,
  { node, boot, counts: reported }: rules.CountReport,
  { purpose = 'bytes', rooms }: Bounds = {},
): Promise<CountIncrease[]> {
  if (reported.length > maxCounts) throw refuseField('counts', 'max_items', { max: maxCounts })
  const counts = rules.settle(reported)
  if (counts.length === 0) return []
  const nowMs = clock()
  const link = await fleet.findLink(tx, node)
  const first = rules.firstBudget(link.megabits, link.joinedAt ?? nowMs)
  const budget = rules.refill(await store.lockBudget(tx, node, purpose, first), link.megabits, nowMs)
  await store.lockBoot(tx, { node, boot }, nowMs)
  const subjects = counts.map((each) => each.subject)
  const countsBefore = await store.lockCounts(tx, { node, boot }, subjects)
  let { rest } = budget
  const taken = counts.map((count) => {
    const before = countsBefore.get(count.subject)
    const fresh = rules.newIn(count, before)
    const added = rules.believe(fresh, rules.least(rooms?.get(count.subject) ?? rules.maxBytes, rest))
    rest -= added.received + added.sent
    const believed = {
      received: (before?.believed.received ?? 0n) + added.received,
      sent: (before?.believed.sent ?? 0n) + added.sent,
    }
    return { count: { ...rules.largerOf(count, before), believed }, added, claimed: fresh.received + fresh.sent }
  })
  store.writeBudget(tx, node, purpose, { ...budget, rest })
  const raised = taken.map((each) => each.count)
  store.raiseCounts(tx, { node, boot }, raised, nowMs)
  return taken.flatMap(({ count, added, claimed }) =>
    claimed > 0n ? [{ subject: count.subject, ...added, claimed }] : [],
  )
}

/** Adds to counts that the shop keeps itself, of bytes that were believed already. */
export async function add({ clock }: TrafficDeps, tx: Tx, { counts, ...boot }: rules.CountReport): Promise<void> {
  if (counts.length === 0) return
  await store.lockBoot(tx, boot, clock())
  const subjects = counts.map((each) => each.subject)
  const countsBefore = await store.lockCounts(tx, boot, subjects)
  const raised = counts.map(({ subject, ...count }) => {
    const before = countsBefore.get(subject)
    const received = bytes((before?.received ?? 0n) + count.received)
    const sent = bytes((before?.sent ?? 0n) + count.sent)
    return { subject, received, sent, believed: { received, sent } }
  })
  store.raiseCounts(tx, boot, raised, clock())
}

/** The subjects among these that a boot has counted for already. Their counts stay locked. */
export async function known(tx: Tx, boot: rules.NodeBoot, subjects: readonly string[]): Promise<Set<string>> {
  return new Set((await store.lockCounts(tx, boot, subjects.toSorted())).keys())
}

/** The most bytes that can be on their way through a node's link, over all its accounts. */
export async function inFlight({ fleet }: TrafficDeps, reader: Reader, node: string): Promise<bigint> {
  return rules.maxInFlight((await fleet.findLink(reader, node)).megabits)
}

/** Notes for the operator what a node has claimed and was not billed for. */
export function refuse({ clock }: TrafficDeps, tx: Tx, node: string, bytesRefused: bigint): void {
  if (bytesRefused > 0n) store.noteRefused(tx, node, bytesRefused, rules.maxBytes, clock())
}

/** Disbelieves all counts of a node's boots that reported since a moment: a count does not say when it grew. */
export async function disbelieve(tx: Tx, node: string, sinceAt: number, limit: number): Promise<CountIncrease[]> {
  const found = await store.lockBelieved(tx, node, sinceAt, limit)
  for (const each of found) store.disbelieve(tx, node, each.boot, each.subject)
  return found.map(({ subject, received, sent }) => ({ subject, received, sent, claimed: received + sent }))
}
