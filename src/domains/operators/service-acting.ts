import type { Database, Tx } from '../../db/transaction.ts'
import type { Sha256 } from '../../kernel/chain.ts'
import type { Clock } from '../../kernel/time.ts'
import { type Action, toEntry } from './rules.ts'
import * as store from './store.ts'

/** What goes along with a piece of work through everything that it waits for. Handed in. */
export type Along<Carried> = {
  run<Result>(carried: Carried, work: () => Promise<Result>): Promise<Result>
  get(): Carried | undefined
}

/** An action that is under way, and whether the log has it. */
export type Acting = { readonly action: Action; isNoted: boolean }

/**
 * A database on which whatever an operator does is written into the audit log by the transaction that does it: no use
 * case has to remember it, and none can forget. An action that takes several transactions is in the log with its
 * first; one that changes nothing is not there.
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
    acting.isNoted = true
    try {
      return await db.transact(async (tx) => {
        const result = await work(tx)
        // The log's end is locked last, so that nobody waits for a lock while he holds this one.
        await note(tx, acting.action)
        return result
      }, pace)
    } catch (error) {
      acting.isNoted = false
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
