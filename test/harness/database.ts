import { afterAll } from 'bun:test'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readMigrations } from '../../src/app/shop/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import { shippedLimits } from '../../src/db/pool.ts'
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
const longTimeouts = {
  ...shippedLimits,
  poolWaitMs: 60_000,
  lockWaitMs: 60_000,
  statementMs: 70_000,
  commitMs: 80_000,
  silentMs: 80_000,
}

/** Opens a database with these timeouts, as a second shop process. */
export const openWithLongTimeouts = ({ address }: TestDatabase, connections?: number): Database =>
  address.startsWith('postgres') ? openPostgres(address, connections, longTimeouts) : openDatabase(address)

/**
 * An open PostgreSQL database without rows, to be reused: a new one costs 0.05 s of processor time, and its connections
 * as much again, because each compiles the triggers and plans every statement once.
 */
type Emptied = {
  readonly testDatabase: TestDatabase
  readonly db: Database
  readonly connections: number
  readonly digest: string
}
const idle: Emptied[] = []

async function removeDatabase({ db, testDatabase }: Pick<Emptied, 'db' | 'testDatabase'>): Promise<void> {
  await db.close()
  await testDatabase.remove()
}

try {
  afterAll(() => Promise.all(idle.splice(0).map(removeDatabase)))
} catch {
  // Processes that a test starts import this file too; afterAll exists only within the test runner.
}

/** The same database with a new folder. */
async function withNewFolder(testDatabase: TestDatabase): Promise<TestDatabase> {
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

/** A handle that fails once it is closed, so that work which a test left running does not reach the next test. */
function openHandle(db: Database): { readonly db: Database; close(): void } {
  let isClosed = false
  const handle = new Proxy(db, {
    get(of, name, receiver) {
      if (isClosed) throw new Error('the test has closed this database')
      return Reflect.get(of, name, receiver)
    },
  })
  return { db: handle, close: () => void (isClosed = true) }
}

type OpenedDatabase = { db: Database; testDatabase: TestDatabase; close(): Promise<void> }

/** A migrated database without rows, for tests of one domain. */
export function openTestDatabase(
  engine: Engine,
  connections = fewConnections,
  beginning: Beginning = 'migrated',
): Promise<OpenedDatabase> {
  const isReusable = engine === 'postgres' && beginning === 'migrated'
  return isReusable ? openEmptied(connections) : openPrepared(engine, connections, beginning)
}

async function openPrepared(engine: Engine, connections: number, beginning: Beginning): Promise<OpenedDatabase> {
  const testDatabase = await makePreparedTestDatabase(engine, beginning)
  const db = openWithLongTimeouts(testDatabase, connections)
  await migrate(db, readMigrations())
  return { db, testDatabase, close: () => removeDatabase({ db, testDatabase }) }
}

async function openEmptied(connections: number): Promise<OpenedDatabase> {
  const at = idle.findIndex((each) => each.connections === connections)
  const [reused] = at < 0 ? [] : idle.splice(at, 1)
  const opened = reused ?? (await openPrepared('postgres', connections, 'migrated'))
  const digest = reused?.digest ?? (await readSchemaDigest(opened.db))
  const testDatabase = reused ? await withNewFolder(reused.testDatabase) : opened.testDatabase
  const handle = openHandle(opened.db)
  return {
    db: handle.db,
    testDatabase,
    async close() {
      handle.close()
      const { db } = opened
      if (!(await emptyDatabase(db, connections, digest))) return removeDatabase({ db, testDatabase })
      idle.push({ testDatabase, db, connections, digest })
      rmSync(testDatabase.folder, { recursive: true, force: true })
    },
  }
}
