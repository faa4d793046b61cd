import type { Reader, Tx } from '../../../db/transaction.ts'
import type { Bytes } from '../../../kernel/bytes.ts'
import type { Clock } from '../../../kernel/time.ts'
import { tooManyCounts } from '../errors.ts'
import { type Count, newIn, type Report, settle } from './rules.ts'
import * as store from './store.ts'

const mostCounts = 1000

export type Counts = ReturnType<typeof createCounts>

/** What a report added for one subject. */
export type Added = { readonly subject: string; readonly received: Bytes; readonly sent: Bytes }

/** What nodes have counted, each count taken once. */
export function createCounts(deps: { clock: Clock }) {
  return {
    /** What was counted for each of these subjects in all, over nodes and boots. */
    totals: (reader: Reader, subjects: readonly string[]): Promise<Map<string, Count>> =>
      store.sumCounts(reader, subjects),

    /**
     * Takes a report into the caller's transaction and tells what is new in it. One node's reports take turns on a row
     * of that node, so that the first report of a subject is not taken twice.
     */
    async take(tx: Tx, report: Report): Promise<Added[]> {
      if (report.counts.length > mostCounts) throw tooManyCounts(mostCounts)
      const counts = settle(report.counts)
      if (counts.length === 0) return []
      await store.lockBoot(tx, report.node, report.boot, deps.clock())
      const known = await store.lockCounts(
        tx,
        report.node,
        report.boot,
        counts.map((each) => each.subject),
      )
      const added = counts.map((count) => ({ subject: count.subject, ...newIn(count, known.get(count.subject)) }))
      store.raiseCounts(tx, report.node, report.boot, counts, deps.clock())
      return added.filter((each) => each.received > 0n || each.sent > 0n)
    },

    /** Notes that a boot of a node is alive, whether or not it had anything to count. */
    heard: (tx: Tx, node: string, boot: string): Promise<void> => store.lockBoot(tx, node, boot, deps.clock()),

    /** Forgets counts of subjects that begin with `prefix`, once their boot has been silent since `before`. */
    forget: (tx: Tx, prefix: string, before: number, most: number): Promise<number> =>
      store.forgetCounts(tx, prefix, before, most),
  }
}
