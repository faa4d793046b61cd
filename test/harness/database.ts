import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/transaction.ts'
import { readMigrations } from '../../src/main/shop/database.ts'
import { createDatabase, postgresUrl } from './postgres.ts'

export type Engine = 'sqlite' | 'postgres'

/** Every test of a store or of the whole service runs on both. */
export const engines: readonly Engine[] = ['sqlite', 'postgres']

/** An address of an empty database of one's own, and the folder that goes with it. */
export type Place = { readonly address: string; readonly folder: string; remove(): Promise<void> }

/** Empty, or a copy of a place whose database is closed. */
export async function makePlace(engine: Engine, copyOf?: Place, copyOfUrl = copyOf?.address): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-'))
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

/** Where the test command has migrated databases to copy: migrating takes up to a second each time. */
const migrated: Readonly<Record<Engine, string | undefined>> = {
  sqlite: process.env['TURNPIKE_TEST_SQLITE_MIGRATED'],
  postgres: process.env['TURNPIKE_TEST_POSTGRES_MIGRATED'],
}

/** A place whose database has its schema already, where that saves time; whoever opens it migrates it in any case. */
export async function makeMigratedPlace(engine: Engine): Promise<Place> {
  if (engine === 'postgres') return makePlace(engine, undefined, migrated.postgres)
  const place = await makePlace(engine)
  if (migrated.sqlite) copyFileSync(migrated.sqlite, place.address)
  return place
}

async function migrateOnce(address: string): Promise<void> {
  const db = openDatabase(address)
  await migrate(db, readMigrations())
  await db.close()
}

/** Makes the databases that others are copied from, and says where they are. */
export async function makeMigrated(serverUrl: string, folder: string): Promise<Record<string, string>> {
  const sqlite = join(folder, 'migrated.db')
  const postgres = (await createDatabase(serverUrl)).url
  await migrateOnce(sqlite)
  await migrateOnce(postgres)
  return { TURNPIKE_TEST_SQLITE_MIGRATED: sqlite, TURNPIKE_TEST_POSTGRES_MIGRATED: postgres }
}

/** A migrated database, for tests of one domain. */
export async function openTestDatabase(
  engine: Engine,
): Promise<{ db: Database; place: Place; close(): Promise<void> }> {
  const place = await makeMigratedPlace(engine)
  const db = openDatabase(place.address)
  await migrate(db, readMigrations())
  return {
    db,
    place,
    async close() {
      await db.close()
      await place.remove()
    },
  }
}
