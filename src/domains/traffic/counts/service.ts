import { type Bytes, bytes } from '../../../core/bytes.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Fleet } from '../../fleet/index.ts'
import { subjects } from '../accounts/rules.ts'
import { tooManyCounts } from '../errors.ts'
import {
  believe,
  type Count,
  firstBudget,
  inFlight,
  largerOf,
  mostBytes,
  newIn,
  type Report,
  refill,
  settle,
} from './rules.ts'
import * as store from './store.ts'

const mostCounts = 1000

export type Counts = ReturnType<typeof createCounts>

/** What a report added for one subject: what is believed, and what was claimed of both directions together. */
export type Added = {
  readonly subject: string
  readonly received: Bytes
  readonly sent: Bytes
  readonly claimed: bigint
}

/** How far a report can be true. `rooms` are what subjects may carry at most besides what they have. */
type Bounds = { readonly purpose?: store.Purpose; readonly rooms?: ReadonlyMap<string, bigint> }

/** What nodes have counted, each count taken once, and as far as it can be true. */
export function createCounts(deps: { db: Database; clock: Clock; fleet: Pick<Fleet, 'findLink'> }) {
  const { db, clock } = deps

  /** What a node can have carried by now besides what it has claimed. Its row is locked. */
  async function openBudget(tx: Tx, node: string, purpose: store.Purpose) {
    const nowMs = clock()
    const link = await deps.fleet.findLink(tx, node)
    const first = firstBudget(link.megabits, link.joinedAt ?? nowMs)
    return refill(await store.lockBudget(tx, node, purpose, first), link.megabits, nowMs)
  }

  return {
    /** What was believed for each of these subjects in all, over nodes and boots. */
    totals: (reader: Reader, named: readonly string[]): Promise<Map<string, Count>> => store.sumCounts(reader, named),

    /** The subjects of a kind, in their order, a page at a time, for `verify`. */
    subjects: (reader: Reader, prefix: string, after: string, limit: number): Promise<string[]> =>
      store.subjectsAfter(reader, prefix, after, limit),

    /**
     * Takes a report into the caller's transaction and tells what is new in it. One node's reports take turns on rows
     * of that node, so that the first report of a subject is not taken twice. What the node's link cannot have carried
     * in the time since is noted and not believed.
     */
    async take(tx: Tx, report: Report, { purpose = 'carried', rooms }: Bounds = {}): Promise<Added[]> {
      if (report.counts.length > mostCounts) throw tooManyCounts(mostCounts)
      const counts = settle(report.counts)
      if (counts.length === 0) return []
      const { node, boot } = report
      const budget = await openBudget(tx, node, purpose)
      await store.lockBoot(tx, node, boot, clock())
      const named = counts.map((each) => each.subject)
      const known = await store.lockCounts(tx, node, boot, named)
      let rest = budget.rest
      const taken = counts.map((count) => {
        const before = known.get(count.subject)
        const fresh = newIn(count, before)
        const room = rooms?.get(count.subject) ?? mostBytes
        const added = believe(fresh, room < rest ? room : rest)
        rest -= added.received + added.sent
        const believed = {
          received: (before?.believed.received ?? 0n) + added.received,
          sent: (before?.believed.sent ?? 0n) + added.sent,
        }
        return { count: { ...largerOf(count, before), believed }, added, claimed: fresh.received + fresh.sent }
      })
      store.writeBudget(tx, node, purpose, { ...budget, rest })
      store.raiseCounts(
        tx,
        node,
        boot,
        taken.map((each) => each.count),
        clock(),
      )
      return taken.flatMap(({ count, added, claimed }) =>
        claimed > 0n ? [{ subject: count.subject, ...added, claimed }] : [],
      )
    },

    /** Which of these subjects a boot of a node has counted for already. */
    known: async (tx: Tx, { node, boot }: Omit<Report, 'counts'>, named: readonly string[]): Promise<Set<string>> =>
      new Set((await store.lockCounts(tx, node, boot, named.toSorted())).keys()),

    /** Adds to counts that the shop keeps itself, of bytes that were believed already. */
    async add(tx: Tx, { node, boot, counts }: Report): Promise<void> {
      if (counts.length === 0) return
      await store.lockBoot(tx, node, boot, clock())
      const named = counts.map((each) => each.subject)
      const known = await store.lockCounts(tx, node, boot, named)
      const raised = counts.map((each) => {
        const before = known.get(each.subject)
        const received = bytes((before?.received ?? 0n) + each.received)
        const sent = bytes((before?.sent ?? 0n) + each.sent)
        return { subject: each.subject, received, sent, believed: { received, sent } }
      })
      store.raiseCounts(tx, node, boot, raised, clock())
    },

    /** How many bytes can be on their way through a node's link, over all its accounts. */
    inFlight: async (reader: Reader, node: string): Promise<bigint> =>
      inFlight((await deps.fleet.findLink(reader, node)).megabits),

    /** Notes what a node has claimed and was not billed for, for the operator's eyes. */
    refuse(tx: Tx, node: string, bytesRefused: bigint): void {
      if (bytesRefused > 0n) store.noteRefused(tx, node, bytesRefused, mostBytes, clock())
    },

    /** Nodes that have claimed what they cannot have carried, since a moment or ever. */
    refusals: (sinceAt = -1): Promise<store.Refused[]> => store.listRefused(db, sinceAt),

    /** Claims for subjects without leases that were not believed, or were forgotten, latest first. */
    unbelieved: (most: number): Promise<store.Unbelieved[]> => store.listUnbelieved(db, subjects, most),

    /** What is believed of boots of a node that were heard of since a moment. */
    believedOf: (node: string, sinceAt: number): Promise<{ things: number; bytes: bigint }> =>
      store.sumBelieved(db, node, sinceAt),

    /**
     * Believes nothing any more of what boots of a node have counted that were heard of since a moment, a bounded
     * number of counts at a time, and tells what that was. A count says nothing of when it grew, so a boot is believed
     * as a whole or not at all.
     */
    async disbelieve(tx: Tx, node: string, sinceAt: number, most: number): Promise<Added[]> {
      const found = await store.lockBelieved(tx, node, sinceAt, most)
      for (const each of found) store.disbelieve(tx, node, each.boot, each.subject)
      return found.map(({ subject, received, sent }) => ({
        subject,
        received: bytes(received),
        sent: bytes(sent),
        claimed: received + sent,
      }))
    },

    /** Notes that a boot of a node is alive, whether or not it had anything to count. */
    heard: (tx: Tx, node: string, boot: string): Promise<void> => store.lockBoot(tx, node, boot, clock()),

    /** Forgets counts of subjects that begin with `prefix`, once their boot has been silent since `before`. */
    forget: (tx: Tx, prefix: string, before: number, most: number): Promise<number> =>
      store.forgetCounts(tx, prefix, before, most),
  }
}
