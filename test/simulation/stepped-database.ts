import type { Database, Reader, Tx, Value } from '../../src/db/transaction.ts'
import { Crashed, never, type Process } from './process.ts'

/** How many of 100 statements of a process are an await at which others run, and for how long at most. */
export type Pace = { readonly waits: number; readonly maxMs: number }

/** The statement's verb and table, for the label of a step. */
export const shortOf = (sql: string): string =>
  /\b(INSERT INTO|UPDATE|DELETE FROM|FROM)\s+([a-z_]+)/i.exec(sql)?.slice(1).join(' ').toLowerCase() ?? 'a statement'

/**
 * The real database of a process, whose statements, commits and answers are steps of the simulation: other processes
 * run between them, and the process may crash at each.
 */
export function stepDatabase(db: Database, process: Process, pace: Pace): Database {
  const { world } = process
  const statement = async (sql: string, isInTransaction: boolean): Promise<void> => {
    if (!process.isAlive && isInTransaction) throw new Crashed()
    const label = shortOf(sql)
    if (world.chance(`wait of ${label}`, 100) >= pace.waits && process.isAlive) return
    await process.step(label, world.chance('time of a statement', pace.maxMs + 1), isInTransaction)
  }
  const readerOn = (reader: Reader, isInTransaction: boolean): Reader => ({
    async all<Row>(sql: string, values?: readonly Value[]) {
      await statement(sql, isInTransaction)
      return reader.all<Row>(sql, values)
    },
    async first<Row>(sql: string, values?: readonly Value[]) {
      await statement(sql, isInTransaction)
      return reader.first<Row>(sql, values)
    },
  })
  const txOn = (tx: Tx): Tx => ({
    ...readerOn(tx, true),
    async run(sql, values) {
      await statement(sql, true)
      return tx.run(sql, values)
    },
    send: (sql, values) => tx.send(sql, values),
  })
  const outside = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await process.step('begin')
    try {
      const result = await work()
      world.isChanged = true
      await process.step('result of a commit')
      return result
    } catch (error) {
      return await (process.isAlive ? Promise.reject(error) : never<Result>())
    }
  }
  /** A job of a crashed process that waits in the queue does nothing. */
  const inside =
    <Result>(work: (tx: Tx) => Promise<Result>) =>
    async (tx: Tx): Promise<Result> => {
      if (!process.isAlive) throw new Crashed()
      const result = await work(txOn(tx))
      await process.step('commit', 0, true)
      return result
    }
  return {
    engine: db.engine,
    ...readerOn(db, false),
    transact: (work, given) => outside(() => db.transact(inside(work), given)),
    transactLong: (work) => outside(() => db.transactLong(inside(work))),
    // A crash ends the snapshot, so that it keeps no other from running.
    async snapshot(work) {
      try {
        return await db.snapshot((reader) => work(readerOn(reader, true)))
      } catch (error) {
        return await (process.isAlive ? Promise.reject(error) : never())
      }
    },
    findWriteProblem: () => db.findWriteProblem(),
    close: () => db.close(),
  }
}
