import type { Timeline } from './timeline.ts'
import type { Database } from './transaction.ts'

/**
 * A database whose transactions are refused if it has gone back in time since this process read it. What a used link or
 * an ended session makes before the rewind is noted, such as a token, would stay after it. The check comes last: a
 * transaction that waits for the locks of a restore reads the restored rows.
 */
export const guarded = (db: Database, timeline: Pick<Timeline, 'guard'>): Database => ({
  ...db,
  transact: (work, pace) =>
    db.transact(async (tx) => {
      const result = await work(tx)
      await timeline.guard(tx)
      return result
    }, pace),
})
