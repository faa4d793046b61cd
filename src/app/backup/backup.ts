import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import manifestOfProgram from '../../../package.json' with { type: 'json' }
import { Refusal, refuseHere } from '../../core/refusal.ts'
import { type Clock, toIso } from '../../core/time.ts'
import { writeOwnFile } from '../../dataplane/agent/own-file.ts'
import { hasTable, holdsShop } from '../../db/closed.ts'
import { copyRows, differing, heldBy, newestCheckpoint, type OnProgress, tablesOf } from '../../db/copy/copy.ts'
import { fillSqlite } from '../../db/copy/fill.ts'
import { appliedTo, migrate, pending } from '../../db/migrate.ts'
import { openSqlite } from '../../db/sqlite.ts'
import { copySqlite, flushFile, leaveLog, readSqlite } from '../../db/sqlite-file.ts'
import type { Database } from '../../db/transaction.ts'
import { createShopKey } from '../../domains/customers/index.ts'
import { type Config, databaseAddress } from '../settings/config.ts'
import { findSecretKey } from '../settings/secret-key.ts'
import { assertOpen, openConfigured, openVault, readMigrations } from '../shop/database.ts'
import { assertReadable } from './readable.ts'

/** Name part of the draft that a killed backup leaves behind. */
export const draftMark = '.partial-'

/** Backs up a shop, which may be selling, into a new folder: rows as SQLite, the key, and last the manifest. */
export async function backUp(config: Config, folder: string, clock: Clock, onProgress: OnProgress): Promise<Manifest> {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw refuseHere(`${folder} is not empty. Name a folder that does not exist; the backup makes it.`)
  }
  const beganAt = clock()
  if (config.databaseUrl === undefined && !existsSync(databaseAddress(config))) throw noShop()
  const db = openConfigured(config)
  try {
    await assertCurrent(db)
    // A shop that moved to another database has old data.
    await assertOpen(db)
    if (!(await holdsShop(db)) || !(await createShopKey({ db }).isShop())) throw noShop()
    await openVault(config, db)
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
    const draft = mkdtempSync(join(dirname(folder), `${basename(folder)}${draftMark}`))
    try {
      const manifest = await writeDraft(config, db, draft, { beganAt, clock, onProgress })
      // rename() replaces an existing empty folder.
      renameSync(draft, folder)
      flushFile(dirname(folder))
      recordBackup(config, { folder, began_at: manifest.began_at })
      return manifest
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
  } finally {
    await db.close()
  }
}

const lastBackupSchema = z.object({ folder: z.string(), began_at: z.iso.datetime() })
const lastBackupFile = (config: Pick<Config, 'folder'>): string => join(config.folder, 'last-backup.json')

/** Records the newest backup in the data folder, for the doctor. The backup is complete without its record. */
function recordBackup(config: Config, last: z.infer<typeof lastBackupSchema>): void {
  if (!existsSync(config.folder)) return
  try {
    writeOwnFile(lastBackupFile(config), `${JSON.stringify(last)}\n`)
  } catch {
    // This user may not write to the data folder of a shop on PostgreSQL.
  }
}

/** The newest backup of this data folder's shop, wherever it was written; undefined if no record can be read. */
export function findLastBackup(config: Pick<Config, 'folder'>): { folder: string; at: number } | undefined {
  try {
    const last = lastBackupSchema.parse(JSON.parse(readFileSync(lastBackupFile(config), 'utf8')))
    return { folder: last.folder, at: Date.parse(last.began_at) }
  } catch {
    return undefined
  }
}

/** A database of an earlier version is backed up by that version, or migrated first. */
async function assertCurrent(db: Database): Promise<void> {
  if (!(await hasTable(db, 'migrations')) || (await pending(db, readMigrations())).length === 0) return
  throw refuseHere('The database is of an earlier version. Back it up with that one, or run "turnpike migrate" first.')
}

const noShop = (): Refusal =>
  refuseHere('There is no shop to back up. Name its data folder with --data, or set TURNPIKE_DATABASE_URL.')

async function writeDraft(
  config: Config,
  db: Database,
  draft: string,
  work: { readonly beganAt: number; readonly clock: Clock; readonly onProgress: OnProgress },
): Promise<Manifest> {
  const files = filesOf(draft)
  const copied = db.engine === 'sqlite' ? undefined : await writeRows(db, files.rows, work.onProgress)
  if (!copied) copySqlite(databaseAddress(config), files.rows)
  chmodSync(files.rows, 0o600)
  const written = await describeRows(files.rows, work.onProgress)
  const wrong = copied ? differing(copied, written.tables) : []
  if (wrong.length > 0) throw new Error(`rows differ from their source: ${wrong.join(', ')}`)
  const key = findSecretKey(config)
  if (config.backupKey && key) writeOwnFile(files.key, `${key.toHex()}\n`)
  const manifest: Manifest = {
    format: 1,
    version: manifestOfProgram.version,
    engine: db.engine,
    began_at: toIso(work.beganAt),
    made_at: toIso(work.clock()),
    ...written,
  }
  writeOwnFile(files.manifest, `${JSON.stringify(manifest, null, 2)}\n`)
  return manifest
}

/** PostgreSQL's rows, as of one snapshot, in a SQLite file. Contents of the history keep their spelling. */
function writeRows(db: Database, path: string, onProgress: OnProgress): Promise<Manifest['tables']> {
  return db.snapshot(async (reader) => {
    const migrations = await appliedTo(reader, readMigrations())
    const empty = openSqlite(path)
    await migrate(empty, migrations)
    await empty.close()
    const tables = await tablesOf(migrations)
    let held: Manifest['tables'] = {}
    await fillSqlite(path, tables, async (insert) => {
      held = await copyRows({ engine: 'postgres', reader }, tables, insert, onProgress)
    })
    leaveLog(path)
    flushFile(path)
    return held
  })
}

async function describeRows(path: string, onProgress: OnProgress) {
  const file = readSqlite(path)
  const { reader } = file
  try {
    const migrations = await appliedTo(reader, readMigrations())
    return {
      schema: migrations.at(-1)?.name ?? '',
      tables: await heldBy({ engine: 'sqlite', reader }, await tablesOf(migrations), onProgress),
      checkpoint: await newestCheckpoint(reader),
    }
  } finally {
    file.close()
  }
}

/** The files of a backup. It is whole once the manifest is there, which is written last. */
export const filesOf = (folder: string) => ({
  manifest: join(folder, 'manifest.json'),
  rows: join(folder, 'shop.db'),
  key: join(folder, 'secret.key'),
})

const manifestSchema = z.object({
  format: z.literal(1),
  version: z.string(),
  /** Engine of the shop. The rows are in a SQLite file in either case. */
  engine: z.enum(['sqlite', 'postgres']),
  began_at: z.iso.datetime(),
  made_at: z.iso.datetime(),
  /** The newest applied migration. */
  schema: z.string(),
  tables: z.record(z.string(), z.object({ rows: z.int().min(0), digest: z.string().regex(/^[0-9a-f]{64}$/) })),
  checkpoint: z.object({ number: z.int(), hash: z.string() }).nullable(),
})

export type Manifest = z.infer<typeof manifestSchema>

/** Reads the manifest of a backup. A backup that is incomplete, or that this user may not read, is refused. */
export function readManifest(folder: string): Manifest {
  const { manifest, rows } = filesOf(folder)
  assertReadable(Object.values(filesOf(folder)))
  if (!existsSync(manifest) || !existsSync(rows)) {
    throw refuseHere(
      `${folder} is no backup: "turnpike backup FOLDER" writes one, with shop.db and manifest.json in it.`,
    )
  }
  let value: unknown
  try {
    value = JSON.parse(readFileSync(manifest, 'utf8'))
  } catch {
    throw refuseHere(`${manifest} is damaged: it is not JSON. Take another backup.`)
  }
  const read = manifestSchema.safeParse(value)
  if (!read.success) {
    throw refuseHere(`This version of Turnpike cannot read ${manifest}. Use the version that made the backup.`)
  }
  return read.data
}

export const countRows = (manifest: Manifest): number =>
  Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0)
