import { hasRow } from './rows.ts'
import type { Database, Reader, Tx } from './transaction.ts'

type Known = Reader & Pick<Database, 'engine'>

/** Why no shop may open on this database, and since when. */
export type Closed = { readonly because: string; readonly sinceAt: number }

/** Marks a database that was moved away or is being filled: no shop opens on it. No migration makes the table. */
const table = 'CREATE TABLE IF NOT EXISTS closed_shop (because TEXT NOT NULL, since_at BIGINT NOT NULL)'

export async function close(tx: Tx, because: string, nowMs: number): Promise<void> {
  await tx.run(table)
  await tx.run('DELETE FROM closed_shop')
  await tx.run('INSERT INTO closed_shop (because, since_at) VALUES ($1, $2)', [because, nowMs])
}

/** Reason of a half-filled database: the command that fills it can be repeated. */
export const unfinished = 'It is being filled from elsewhere, or was and did not come to its end.'

export const isUnfinished = (closed: Closed | undefined): boolean => closed?.because === unfinished

/** Advice for the operator. */
export const wayOutOf = (closed: Closed): string =>
  isUnfinished(closed)
    ? 'repeat the "turnpike restore" or "turnpike move" that fills it'
    : 'start the shop on the new database, or run "turnpike reopen" to use this one without what was sold there since'

export const reopen = async (tx: Tx): Promise<void> => void (await tx.run('DROP TABLE IF EXISTS closed_shop'))

export async function findClosed(db: Known): Promise<Closed | undefined> {
  if (!(await hasTable(db, 'closed_shop'))) return undefined
  const row = await db.first<{ because: string; since_at: bigint }>('SELECT because, since_at FROM closed_shop')
  return row && { because: row.because, sinceAt: Number(row.since_at) }
}

export function hasTable(db: Known, name: string): Promise<boolean> {
  const inSqlite = `SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1`
  return hasRow(db, db.engine === 'sqlite' ? inSqlite : 'SELECT 1 AS one WHERE to_regclass($1) IS NOT NULL', [name])
}

/** Whether there is a shop here already, which must not be overwritten. */
export async function holdsShop(db: Known): Promise<boolean> {
  for (const name of ['shop', 'customers', 'postings']) {
    if ((await hasTable(db, name)) && (await db.first(`SELECT 1 AS one FROM ${name} LIMIT 1`)) !== undefined)
      return true
  }
  return false
}
