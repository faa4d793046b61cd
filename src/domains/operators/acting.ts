import type { Sha256 } from '../../core/chain.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Pace, Reader, Tx, Value } from '../../db/transaction.ts'
import { type Action, toEntry, toolActor, withOutcome } from './rules.ts'
import * as store from './store.ts'

/** A typed AsyncLocalStorage. */
type Along<Context> = {
  run<Result>(context: Context, work: () => Promise<Result>): Promise<Result>
  get(): Context | undefined
}

/** An action in progress, whether the log has it, and whether its transaction is to be rolled back. */
export type Acting = {
  readonly action: Action
  isNoted: boolean
  readonly isDryRun?: boolean
  /** The one transaction of an action under a key, while it runs, and the result of the first step in it. */
  whole?: { readonly tx: Tx; result?: unknown } | undefined
}

/** Carries the result of a dry run out of its transaction, which is rolled back because it throws. */
class DryRun extends Error {
  override readonly name = 'DryRun'
  constructor(readonly result: unknown) {
    super('a dry run was rolled back')
  }
}

async function rollBack<Result>(db: Database, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  try {
    return await db.transact(async (tx): Promise<never> => {
      const result = await work(tx)
      // Waits for the queued writes, so that a constraint that refuses one refuses the dry run too.
      await tx.first('SELECT 1 AS one')
      throw new DryRun(result)
    })
  } catch (error) {
    if (error instanceof DryRun) return error.result as Result
    throw error
  }
}

/** A transaction that records whether a statement in it has changed a row. */
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

type ActingDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sha256: Sha256
  readonly along: Along<Acting>
}

/** Appends an action to the audit log. */
async function appendNote({ clock, sha256 }: ActingDeps, tx: Tx, action: Action): Promise<void> {
  store.appendEntry(tx, toEntry(await store.lockEnd(tx), action, clock(), sha256))
}

function createTransact(deps: ActingDeps): Database['transact'] {
  const { db, along } = deps

  async function takePart<Result>(whole: NonNullable<Acting['whole']>, work: (tx: Tx) => Promise<Result>) {
    const result = await work(whole.tx)
    // Waits for the queued writes, so that a constraint refuses this step and not the commit.
    await whole.tx.first('SELECT 1 AS one')
    whole.result ??= result
    return result
  }

  async function transactAs<Result>(acting: Acting, work: (tx: Tx) => Promise<Result>, pace?: Pace) {
    let isNotedHere = false
    const withdraw = (): void => {
      if (isNotedHere) acting.isNoted = false
      isNotedHere = false
    }
    try {
      return await db.transact(async (tx) => {
        // After a deadlock the work runs again, and the log entry of the former attempt is undone.
        withdraw()
        const watched = watchWrites(tx)
        const result = await work(watched.tx)
        if (acting.isNoted || !watched.hasWritten()) return result
        acting.isNoted = true
        isNotedHere = true
        // The end of the log is locked last, so that its holder waits for no other lock.
        const outcome = acting.whole ? acting.whole.result : result
        await appendNote(deps, tx, { ...acting.action, request: withOutcome(acting.action.request, outcome) })
        return result
      }, pace)
    } catch (error) {
      withdraw()
      throw error
    }
  }

  function transact<Result>(work: (tx: Tx) => Promise<Result>, pace?: Pace): Promise<Result> {
    const acting = along.get()
    if (acting?.whole) return takePart(acting.whole, work)
    if (acting?.isDryRun) return rollBack(db, work)
    // The log entry of an action is replicated, so it is not written with bookkeeping.
    const isAction = acting && !acting.isNoted && pace !== 'unreplicated'
    return isAction ? transactAs(acting, work, pace) : db.transact(work, pace)
  }
  return transact
}

/**
 * A database that appends an operator's action to the audit log in the transaction that performs it. An action of
 * several transactions is logged with the first that changes a row; one that changes no row, such as a repeat under its
 * idempotency key, is not logged.
 */
export function createActing(deps: ActingDeps) {
  const { db, along } = deps
  const transact = createTransact(deps)
  const note = (tx: Tx, action: Action): Promise<void> => appendNote(deps, tx, action)
  const reader = (): Reader => along.get()?.whole?.tx ?? db
  const actingDb: Database = {
    ...db,
    transact,
    all: (sql, values) => reader().all(sql, values),
    first: (sql, values) => reader().first(sql, values),
  }

  return {
    db: actingDb,

    /**
     * Runs an action in one transaction: its own transactions and reads take part in it. The action may not take
     * numbers of a counter, which are another transaction.
     */
    actWhole: async <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> => {
      const acting = along.get()
      if (!acting) throw new Error('only an action runs in one transaction')
      try {
        return await transact((tx) => {
          acting.whole = { tx }
          // SQLite runs the work from its queue, outside of this action's context.
          return along.run(acting, () => work(tx))
        })
      } finally {
        acting.whole = undefined
      }
    },

    /** Runs work as an operator's action. */
    act: <Result>(action: Action, work: () => Promise<Result>): Promise<Result> =>
      along.run({ action, isNoted: false }, work),

    /** Runs work whose transactions are rolled back: its result shows what it would do. Nothing is logged. */
    dryRun: <Result>(work: () => Promise<Result>): Promise<Result> => {
      const action = along.get()?.action ?? { actor: toolActor, operation: '', request: '{}' }
      return along.run({ action, isNoted: false, isDryRun: true }, work)
    },

    /** Logs an action in the caller's transaction, as its last statement: the end of the log is locked last. */
    note,

    /** Logs an action that only reads, such as a query for the holder of an address. */
    mustNote: (action: Action): Promise<void> => db.transact((tx) => note(tx, action)),
  }
}
