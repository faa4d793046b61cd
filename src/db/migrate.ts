import { refuseHere } from '../core/refusal.ts'
import { hasTable } from './closed.ts'
import { sectionFor } from './portable.ts'
import type { Database, Reader, Tx } from './transaction.ts'

/** One file of `migrations/`. A released text must not change: its checksum would differ. */
export type Migration = { readonly name: string; readonly text: string }

type Applied = { name: string; checksum: string }

/** Records applied migrations. The only table that no migration makes. */
export const migrationsTable =
  'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)'

/** Marks a migration that removes something; `tools/tidy/migrations.ts` checks that others only add. */
const contracts = /^-- contracts: /m
/** Suffix of the checksum of a migration that earlier versions can run beside. */
const expandsMark = ' expands'

export const checksumOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')

/** Applies missing migrations, each in one transaction under a lock, and returns their names. */
export async function migrate(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  await db.transact(async (tx) => {
    await lock(db, tx)
    await tx.run(migrationsTable)
  }, 'unhurried')
  const missing = new Set(await pending(db, migrations))
  const done: string[] = []
  for (const migration of migrations) {
    if (missing.has(migration.name) && (await apply(db, migration, migrations))) done.push(migration.name)
  }
  return done
}

/** Names of the migrations that are not applied yet. */
export async function pending(db: Database, migrations: readonly Migration[]): Promise<string[]> {
  const applied = (await hasTable(db, 'migrations')) ? await readApplied(db) : []
  assertKnown(applied, migrations)
  return migrations.filter((each) => !applied.some((one) => one.name === each.name)).map((each) => each.name)
}

const readApplied = (reader: Reader): Promise<Applied[]> =>
  reader.all<Applied>('SELECT name, checksum FROM migrations ORDER BY name')

/** The applied migrations. Refuses a database with one that this version does not know. */
export async function appliedTo(reader: Reader, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = await readApplied(reader)
  try {
    assertKnown(applied, migrations, false)
  } catch (error) {
    throw refuseHere(`This version of Turnpike cannot read it: ${(error as Error).message}.`)
  }
  return migrations.filter((each) => applied.some((one) => one.name === each.name))
}

function apply(db: Database, migration: Migration, migrations: readonly Migration[]): Promise<boolean> {
  return db.transact(async (tx) => {
    await lock(db, tx)
    const applied = await readApplied(tx)
    assertKnown(applied, migrations)
    if (applied.some((each) => each.name === migration.name)) return false
    for (const statement of statementsOf(sectionFor(db.engine, migration.text))) await tx.run(statement)
    await tx.run('INSERT INTO migrations (name, checksum, applied_at) VALUES ($1, $2, $3)', [
      migration.name,
      checksumOf(migration.text) + (contracts.test(migration.text) ? '' : expandsMark),
      Date.now(),
    ])
    return true
  }, 'unhurried')
}

/** Refuses a database with edited migrations, or with those of a later version that do more than add. */
function assertKnown(applied: readonly Applied[], migrations: readonly Migration[], mayBeLater = true): void {
  for (const each of applied) {
    const known = migrations.find((one) => one.name === each.name)
    if (!known && mayBeLater && each.checksum.endsWith(expandsMark)) continue
    if (!known) {
      const problem = `the database has migration ${each.name}, which this version of Turnpike does not know`
      throw new Error(mayBeLater ? `${problem} and cannot run beside; start the version that brought it` : problem)
    }
    if (checksumOf(known.text) !== each.checksum.replace(expandsMark, ''))
      throw new Error(`migration ${each.name} is not the text that was applied to this database`)
  }
}

/** One process migrates at a time: SQLite's transaction is a lock. Rebuilding a large table may take minutes. */
async function lock(db: Database, tx: Tx): Promise<void> {
  if (db.engine !== 'postgres') return
  await tx.run(`SET LOCAL lock_timeout = '30min'`)
  await tx.all('SELECT pg_advisory_xact_lock(7204201)')
}

/** Splits a script at semicolons that end a line. A body between `BEGIN` and `END;` or two `$$` stays whole. */
export function statementsOf(script: string): string[] {
  const statements: string[] = []
  let current: string[] = []
  let inBody = false
  for (const line of script.split('\n')) {
    const code = line.replace(/--.*$/, '').trimEnd()
    if (code.trim() === '') continue
    current.push(code)
    const marks = code.split('$$').length - 1
    if (marks % 2 === 1) inBody = !inBody
    if (/^\s*BEGIN\s*$/.test(code)) inBody = true
    if (/^\s*END;\s*$/.test(code) && !current.some((each) => each.includes('$$'))) inBody = false
    if (!inBody && code.endsWith(';')) {
      statements.push(current.join('\n').replace(/;\s*$/, ''))
      current = []
    }
  }
  if (current.length > 0) throw new Error('a migration ends in the middle of a statement')
  return statements
}
