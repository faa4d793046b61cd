import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Clock } from '../../../kernel/time.ts'
import type { Report } from '../counts/rules.ts'
import type { Added, Usage } from '../counts/service.ts'
import { tooManyWishes } from '../errors.ts'
import { count, type Effect, giveBack, grant, type Line, lapse, newLine } from './rules.ts'
import * as store from './store.ts'

const mostWishes = 1000
/** How many lines of a silent boot are taken back in one transaction. */
const lapseAtOnce = 200

/** A node's numbered wish about one subject: to go on carrying, or to give back what it has. `moving` is not counted yet and not free either. */
export type Wish = {
  readonly subject: string
  readonly turn: number
  readonly want: 'lease' | 'return'
  readonly moving?: bigint | undefined
}

export type LeaseReport = Report & { readonly wishes: readonly Wish[] }

/** Lines that a transaction has read, each with what it may still set aside. Written back when all is decided. */
export type Intake = {
  readonly lines: Map<string, Line>
  readonly added: readonly Added[]
  readonly closed: boolean
  readonly wishes: readonly Wish[]
}

export type Leases = ReturnType<typeof createLeases>

/** Byte leases: what nodes may carry before they must ask again. Whose bytes they are is for the products to say. */
export function createLeases(deps: { db: Database; clock: Clock; usage: Usage }) {
  const { db, clock } = deps

  return {
    /**
     * Takes a report in and locks the lines that it is about. One node's reports take turns. A wish of a later boot makes it the
     * one that holds the node's leases; one that was replaced gets nothing more.
     */
    async take(tx: Tx, report: LeaseReport): Promise<Intake> {
      if (report.wishes.length > mostWishes) throw tooManyWishes(mostWishes)
      const nowMs = clock()
      const holder = await store.lockNode(tx, report.node, report.boot, nowMs)
      const added = await deps.usage.take(tx, report)
      if (report.counts.length === 0) await deps.usage.heard(tx, report.node, report.boot)
      // Boots are named so that a later one sorts later: an old one's message that comes late must not displace the new one.
      const closed = report.boot < holder || (await store.isClosed(tx, report.node, report.boot))
      if (closed) store.closeBoot(tx, report.node, report.boot, nowMs)
      else if (holder !== report.boot && report.wishes.some((wish) => wish.want === 'lease')) {
        store.holdWith(tx, report.node, report.boot, nowMs)
        store.closeBoot(tx, report.node, holder, nowMs)
      }
      const wishes = report.wishes.toSorted((a, b) => a.turn - b.turn)
      const subjects = [...new Set([...added, ...wishes].map((each) => each.subject))].toSorted()
      const known = subjects.length === 0 ? new Map() : await store.lockLines(tx, report.node, report.boot, subjects)
      const lines = new Map<string, Line>(
        subjects.map((subject) => [subject, known.get(subject) ?? newLine(report.node, report.boot, subject)]),
      )
      return { lines, added, closed, wishes }
    },

    write: (tx: Tx, lines: Iterable<Line>): void => store.writeLines(tx, [...lines], clock()),

    /** Boots with something to give back, silent for longer than a lease lasts or replaced by a later boot. */
    silent: (lastsMs: number, most: number): Promise<{ node: string; boot: string }[]> =>
      store.silentBoots(db, clock() - lastsMs, most),

    /** Takes back what a silent boot holds, a bounded part of it; the caller moves the bytes in the same transaction. */
    async lapse(
      tx: Tx,
      of: { node: string; boot: string },
      { lastsMs, leaseBytes }: { lastsMs: number; leaseBytes: bigint },
    ): Promise<{ line: Line; effect: Effect }[]> {
      await store.lockNode(tx, of.node, of.boot, clock())
      if (!(await store.isSilent(tx, of.node, of.boot, clock() - lastsMs))) return []
      const closed = await store.isClosed(tx, of.node, of.boot)
      const subjects = await store.openSubjects(tx, of.node, of.boot, lapseAtOnce)
      if (subjects.length === 0) return []
      const lines = await store.lockLines(tx, of.node, of.boot, subjects)
      const outcomes = [...lines.values()].map((line) => lapse(line, closed, leaseBytes))
      store.writeLines(
        tx,
        outcomes.map((each) => each.line),
        clock(),
      )
      return outcomes
    },

    /** What is carried but not settled yet, and what is set aside, for each subject. */
    open: (reader: Reader, subjects: readonly string[]) => store.sumOpen(reader, subjects),

    quarantined: (most: number): Promise<store.Quarantined[]> => store.listQuarantined(db, most),

    totalsAfter: (reader: Reader, after: string, most: number) => store.totalsAfter(reader, after, most),

    miscounted: (reader: Reader, most: number) => store.miscounted(reader, most),
  }
}

export const leaseSteps = { count, grant, giveBack }
