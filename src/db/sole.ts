import { refuseHere } from '../core/refusal.ts'
import { close, findClosed } from './closed.ts'
import { openPostgres } from './postgres.ts'
import { countBy } from './rows.ts'
import { holdSqlite } from './sqlite-file.ts'
import type { Database, Reader, Tx } from './transaction.ts'

/** A shop's database that no other process uses now. */
export type Sole = {
  readonly engine: Database['engine']
  readonly reader: Reader
  /** No shop opens on it from now on. */
  close(because: string, nowMs: number): Promise<void>
}

/**
 * Runs work on a database that no other process uses; a shop that starts meanwhile waits. A failed work reopens it.
 * PostgreSQL may take `goneWithinMs` to notice that a shop has disconnected.
 */
export function alone<Result>(
  address: string,
  work: (sole: Sole) => Promise<Result>,
  goneWithinMs = 5_000,
): Promise<Result> {
  return /^postgres(ql)?:/.test(address) ? aloneInPostgres(address, work, goneWithinMs) : aloneInFile(address, work)
}

async function aloneInFile<Result>(path: string, work: (sole: Sole) => Promise<Result>): Promise<Result> {
  const held = holdSqlite(path)
  const run = async (sql: string, values: Parameters<Tx['run']>[1]): Promise<number> => {
    held.run(sql, values)
    return 0
  }
  const tx: Tx = { ...held.reader, run, send: (sql, values) => held.run(sql, values) }
  try {
    await assertOpen({ engine: 'sqlite', ...held.reader })
    const result = await work({
      engine: 'sqlite',
      reader: held.reader,
      close: (because, nowMs) => close(tx, because, nowMs),
    })
    held.commit()
    return result
  } finally {
    held.release()
  }
}

/** The lock of `migrate.ts`, so that no shop opens meanwhile. */
const lockOpening = 'SELECT pg_advisory_xact_lock(7204201)'

async function aloneInPostgres<Result>(
  url: string,
  work: (sole: Sole) => Promise<Result>,
  goneWithinMs: number,
): Promise<Result> {
  // One connection of our own: every other one named turnpike belongs to another process.
  const db = openPostgres(url, 1)
  try {
    return await db.transact(async (tx) => {
      await tx.all(lockOpening)
      await assertAlone(tx, goneWithinMs)
      await assertOpen({ engine: 'postgres', ...tx })
      return await work({ engine: 'postgres', reader: tx, close: (because, nowMs) => close(tx, because, nowMs) })
    }, 'unhurried')
  } finally {
    await db.close()
  }
}

async function assertOpen(db: Parameters<typeof findClosed>[0]): Promise<void> {
  const closed = await findClosed(db)
  if (closed) throw refuseHere(`This shop is closed. ${closed.because}`)
}

const lookEveryMs = 100

async function countOthers(tx: Tx): Promise<number> {
  // Within a transaction the server caches pg_stat_activity until it is cleared.
  await tx.all('SELECT pg_stat_clear_snapshot()::text AS cleared')
  return countBy(
    tx,
    `SELECT COUNT(*) AS n FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'turnpike' AND pid <> pg_backend_pid()`,
  )
}

/** Waits until no other Turnpike is connected, then locks all tables against writes. */
async function assertAlone(tx: Tx, goneWithinMs: number): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const others = await countOthers(tx)
    if (others === 0) break
    if (waitedMs >= goneWithinMs)
      throw refuseHere(`A shop has ${others} connections to the database. Stop every shop first.`)
    await Bun.sleep(lookEveryMs)
  }
  const tables = await tx.all<{ name: string }>(
    'SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename',
  )
  if (tables.length > 0) await tx.run(`LOCK TABLE ${tables.map((table) => table.name).join(', ')} IN SHARE MODE`)
}
