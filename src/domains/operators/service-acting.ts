import type { Sha256 } from '../../core/chain.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Tx, Value } from '../../db/transaction.ts'
import { type Action, toEntry } from './rules.ts'
import * as store from './store.ts'

/** What goes along with a piece of work through everything that it waits for. Handed in. */
export type Along<Carried> = {
  run<Result>(carried: Carried, work: () => Promise<Result>): Promise<Result>
  get(): Carried | undefined
}

/** An action that is under way, and whether the log has it. */
export type Acting = { readonly action: Action; isNoted: boolean }

/** A transaction, and whether a statement in it has changed a row. */
function watchWrites(tx: Tx): { readonly tx: Tx; readonly hasWritten: () => boolean } {
  let hasWritten = false
  const noteRows = (sql: string, count: number): void => {
    if (count > 0 && !/^\s*SELECT\b/i.test(sql)) hasWritten = true
  }
  return {
    hasWritten: () => hasWritten,
    tx: {
      async all<Row>(sql: string, values?: readonly Value[]) {
        const rows = await tx.all<Row>(sql, values)
        noteRows(sql, rows.length)
        return rows
      },
      async first<Row>(sql: string, values?: readonly Value[]) {
        const row = await tx.first<Row>(sql, values)
        noteRows(sql, row === undefined ? 0 : 1)
        return row
      },
      async run(sql, values) {
        const changed = await tx.run(sql, values)
        noteRows(sql, changed)
        return changed
      },
      send(sql, values) {
        hasWritten = true
        tx.send(sql, values)
      },
    },
  }
}

/**
 * A database on which whatever an operator does is written into the audit log by the transaction that does it: no use
 * case has to remember it, and none can forget. An action that takes several transactions is in the log with the first
 * of them that changes a row; one that changes nothing, as a repeat under its idempotency key, is not there.
 */
export function createActing(deps: { db: Database; clock: Clock; sha256: Sha256; along: Along<Acting> }) {
  const { db, along } = deps

  async function note(tx: Tx, action: Action): Promise<void> {
    store.appendEntry(tx, toEntry(await store.lockEnd(tx), action, deps.clock(), deps.sha256))
  }

  /** Whatever a customer does comes by here too, and goes on at once. */
  function transact<Result>(work: (tx: Tx) => Promise<Result>, pace?: 'unhurried'): Promise<Result> {
    const acting = along.get()
    return acting && !acting.isNoted ? transactAs(acting, work, pace) : db.transact(work, pace)
  }

  async function transactAs<Result>(acting: Acting, work: (tx: Tx) => Promise<Result>, pace?: 'unhurried') {
    let isNotedHere = false
    const withdraw = (): void => {
      if (isNotedHere) acting.isNoted = false
      isNotedHere = false
    }
    try {
      return await db.transact(async (tx) => {
        // After a deadlock this runs again, and what the former attempt wrote is undone.
        withdraw()
        const watched = watchWrites(tx)
        const result = await work(watched.tx)
        if (acting.isNoted || !watched.hasWritten()) return result
        acting.isNoted = true
        isNotedHere = true
        // The log's end is locked last, so that nobody waits for a lock while he holds this one.
        await note(tx, acting.action)
        return result
      }, pace)
    } catch (error) {
      withdraw()
      throw error
    }
  }

  return {
    db: { ...db, transact } satisfies Database,

    /** Does something as somebody. A look at what should leave a trace is written down by `mustNote`. */
    act: <Result>(action: Action, work: () => Promise<Result>): Promise<Result> =>
      along.run({ action, isNoted: false }, work),

    /** Leaves a trace of what only looked: who had an address is told to nobody in silence. */
    mustNote: (action: Action): Promise<void> => db.transact((tx) => note(tx, action)),
  }
}
