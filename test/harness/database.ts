import { afterAll } from 'bun:test'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readMigrations } from '../../src/app/shop/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import type { Database } from '../../src/db/transaction.ts'
import { emptyDatabase, readSchemaDigest } from './emptied-database.ts'
import { memoryFolder } from './memory.ts'
import { createDatabase, postgresUrl } from './postgres.ts'
import { isLong } from './scale.ts'

export type Engine = 'sqlite' | 'postgres'

/** Tests of stores, and of rules that hold on any database, run on both. */
export const engines: readonly Engine[] = ['sqlite', 'postgres']

/**
 * The databases of a journey, whose statements are tested beside the stores: the named one in `npm test`, both in `npm
 * run test:long`.
 */
export const enginesOf = (short: Engine): readonly Engine[] => (isLong ? engines : [short])

/** An empty database of one test, and the folder that goes with it. */
export type TestDatabase = { readonly address: string; readonly folder: string; remove(): Promise<void> }

/** Empty, or a copy of a test database that is closed. */
export async function makeTestDatabase(
  engine: Engine,
  copyOf?: TestDatabase,
  copyOfUrl = copyOf?.address,
): Promise<TestDatabase> {
  const folder = mkdtempSync(join(memoryFolder, 'turnpike-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  if (copyOf) cpSync(copyOf.folder, folder, { recursive: true })
  if (engine === 'sqlite') {
    return { address: join(folder, 'turnpike.db'), folder, remove: async () => removeFolder() }
  }
  const database = await createDatabase(await postgresUrl(), copyOfUrl)
  return {
    address: database.url,
    folder,
    async remove() {
      await database.drop()
      removeFolder()
    },
  }
}

/**
 * The state that a test begins with: the schema; the schema with a sandbox's stock; that with a gateway that serves all
 * of it; or the schema with a shop full of history.
 */
export type Beginning = 'migrated' | 'stocked' | 'served' | 'filled'
export type Prepared = Readonly<Record<Engine, Readonly<Record<Beginning, string>>>>

/** Databases that the test command prepared for copying: making one takes a second or more. */
const prepared = JSON.parse(process.env['TURNPIKE_TEST_PREPARED'] || 'null') as Prepared | null

/** The folder that the test command prepared for all test files; undefined in a test file that runs alone. */
export const preparedFolder = prepared === null ? undefined : dirname(prepared.sqlite.migrated)

/** Copied from a prepared database if there is one; the caller migrates it in any case. */
export async function makePreparedTestDatabase(engine: Engine, beginning: Beginning): Promise<TestDatabase> {
  const source = prepared?.[engine][beginning]
  if (engine === 'postgres') return makeTestDatabase(engine, undefined, source)
  const testDatabase = await makeTestDatabase(engine)
  if (source !== undefined) copyFileSync(source, testDatabase.address)
  return testDatabase
}

/** The same for a shop's data folder, which may exist already. */
export function prepareFolder(folder: string, beginning: Beginning): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const source = prepared?.sqlite[beginning]
  if (source !== undefined) copyFileSync(source, join(folder, 'turnpike.db'))
  return folder
}

/** Enough for two concurrent transactions. All connections are opened at once, which takes longer than most tests. */
export const fewConnections = 3

/** Long timeouts. The shipped ones have their own tests; in all others a busy machine causes no timeout. */
const longTimeouts = { poolWaitMs: 60_000, lockWaitMs: 60_000, statementMs: 70_000, silentMs: 80_000 }

/** Opens a database with these timeouts, as a second shop process. */
export const openWithLongTimeouts = ({ address }: TestDatabase, connections?: number): Database =>
  address.startsWith('postgres') ? openPostgres(address, connections, longTimeouts) : openDatabase(address)

/** A closed PostgreSQL database without rows, to be reused: creating one takes 0.3 s, emptying one 0.05 s. */
type Emptied = { readonly testDatabase: TestDatabase; readonly digest: string }
const idle: Emptied[] = []
try {
  afterAll(() => Promise.all(idle.splice(0).map(({ testDatabase }) => testDatabase.remove())))
} catch {
  // Processes that a test starts import this file too; afterAll exists only within the test runner.
}

/** The same database with a new folder. */
async function reuse({ testDatabase }: Emptied): Promise<TestDatabase> {
  const own = await makeTestDatabase('sqlite')
  return {
    address: testDatabase.address,
    folder: own.folder,
    async remove() {
      await testDatabase.remove()
      await own.remove()
    },
  }
}

/** A migrated database without rows, for tests of one domain. */
export async function openTestDatabase(
  engine: Engine,
  connections = fewConnections,
  beginning: Beginning = 'migrated',
): Promise<{ db: Database; testDatabase: TestDatabase; close(): Promise<void> }> {
  const isReusable = engine === 'postgres' && beginning === 'migrated'
  const emptied = isReusable ? idle.pop() : undefined
  const testDatabase = emptied ? await reuse(emptied) : await makePreparedTestDatabase(engine, beginning)
  const db = openWithLongTimeouts(testDatabase, connections)
  await migrate(db, readMigrations())
  const digest = isReusable ? (emptied?.digest ?? (await readSchemaDigest(db))) : undefined
  return {
    db,
    testDatabase,
    async close() {
      await db.close()
      const isEmptied = digest !== undefined && (await emptyDatabase(testDatabase.address, digest))
      if (!isEmptied) return testDatabase.remove()
      idle.push({ testDatabase, digest })
      rmSync(testDatabase.folder, { recursive: true, force: true })
    },
  }
}
