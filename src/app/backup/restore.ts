import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { createVault } from '../../adapters/crypto.ts'
import type { Verifier } from '../../core/finding.ts'
import { Refusal, refuseHere } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { writeOwnFile } from '../../dataplane/agent/own-file.ts'
import { close, findClosed, hasTable, holdsShop, isUnfinished, reopen, unfinished } from '../../db/closed.ts'
import {
  copyRows,
  differing,
  heldBy,
  type OnProgress,
  type Source,
  type TableSummary,
  tablesOf,
} from '../../db/copy/copy.ts'
import { fillPostgres, fillSqlite } from '../../db/copy/fill.ts'
import { respell } from '../../db/copy/respell.ts'
import { type Insert, type Table } from '../../db/copy/table.ts'
import { appliedTo, type Migration, migrate } from '../../db/migrate.ts'
import { openDatabase } from '../../db/open.ts'
import { flushFile, isNoDatabase, readSqlite } from '../../db/sqlite-file.ts'
import type { Database } from '../../db/transaction.ts'
import { createShopKey } from '../../domains/customers/index.ts'
import { type Config, databaseAddress, nameOf } from '../settings/config.ts'
import { findSecretKey, readSecretKey, secretKeyFile } from '../settings/secret-key.ts'
import { readMigrations } from '../shop/database.ts'
import { createServices, realRuntime, shopConfigOf } from '../shop/services.ts'
import { adaptToRestore } from './after-restore.ts'
import { filesOf, type Manifest, readManifest } from './backup.ts'

export type RestoreWork = {
  readonly clock: Clock
  readonly onProgress: OnProgress
  /** Verifies a shop before it may be opened; true if every promise holds. */
  readonly verify: (verifiers: readonly Verifier[]) => Promise<boolean>
}

/** Restores a backup into an empty database, which opens only if `verify` passes. A failed attempt is replaced. */
export async function restore(
  config: Config,
  folder: string,
  work: RestoreWork,
): Promise<{ manifest: Manifest; isRight: boolean }> {
  const manifest = readManifest(folder)
  const key = keyFor(config, folder)
  const { rows } = filesOf(folder)
  const file = readSqlite(rows)
  let target: RestoreTarget | undefined
  try {
    // A file without a shop's tables is refused before anything is made.
    if (!(await hasTable({ engine: 'sqlite', ...file.reader }, 'migrations'))) throw damaged(rows)
    target = await openTarget(databaseAddress(config), work.clock())
    await fillTarget(target, { engine: 'sqlite', reader: file.reader }, work.onProgress, (held) =>
      assertWhole(manifest, held),
    )
    await target.db.transact((tx) => adaptToRestore(tx, work.clock()))
    const isRight = await looksRight(config, target, key, work.verify)
    if (!isRight) return { manifest, isRight }
    if (config.secretKey === undefined) writeOwnFile(secretKeyFile(config.folder), `${key.toHex()}\n`)
    await target.finish()
    return { manifest, isRight }
  } catch (error) {
    throw isNoDatabase(error) ? damaged(rows) : error
  } finally {
    file.close()
    await target?.leave()
  }
}

const damaged = (path: string): Refusal =>
  refuseHere(`${path} is damaged, or is not the file of a backup: it cannot be read. Take another one.`)

/** The key in the backup, or the configured one. Two different keys are refused. */
function keyFor(config: Config, folder: string): Uint8Array {
  const path = filesOf(folder).key
  const kept = existsSync(path) ? readSecretKey(path) : undefined
  const own = findSecretKey(config)
  if (kept && own && kept.toHex() !== own.toHex()) {
    const where = config.secretKey === undefined ? secretKeyFile(config.folder) : 'TURNPIKE_SECRET_KEY'
    throw refuseHere(`The key in ${where} is not the key in the backup. Name a folder without a shop.`)
  }
  const key = kept ?? own
  if (!key) {
    throw refuseHere(
      `${folder} has no secret.key, and there is none at hand. Set TURNPIKE_SECRET_KEY to the shop's key.`,
    )
  }
  return key
}

function assertWhole(manifest: Manifest, held: Record<string, TableSummary>): void {
  const wrong = differing(manifest.tables, held)
  if (wrong.length === 0) return
  throw refuseHere(`The backup is damaged: ${wrong.join(', ')} do not hold what its manifest says. Take another one.`)
}

/** Verifies with the shop's own key. */
export async function looksRight(
  config: Config,
  { db }: RestoreTarget,
  key: Uint8Array,
  verify: RestoreWork['verify'],
): Promise<boolean> {
  const vault = createVault(key)
  if (!(await createShopKey({ db }).isShop())) throw refuseHere('The source holds no shop. Nothing was restored.')
  if (!(await createShopKey({ db }).isRight(vault.fingerprint))) {
    throw refuseHere('The key is not the encryption key of this shop. Set TURNPIKE_SECRET_KEY to the right one.')
  }
  return verify(createServices(db, realRuntime, shopConfigOf(config, vault)).verifiers)
}

/** A database that is being filled. No shop can open it before it is finished. */
type RestoreTarget = {
  readonly db: Database
  fill(tables: readonly Table[], work: (insert: Insert) => Promise<void>): Promise<void>
  /** Makes it a shop. */
  finish(): Promise<void>
  /** Closes it, finished or not. An unfinished target can be filled again. */
  leave(): Promise<void>
}

/** Opens an empty target. One with a shop is refused, a half-filled one is emptied. */
export const openTarget = (address: string, nowMs: number): Promise<RestoreTarget> =>
  /^postgres(ql)?:/.test(address) ? openPostgresTarget(address, nowMs) : openSqliteTarget(address)

async function openSqliteTarget(path: string): Promise<RestoreTarget> {
  if (existsSync(path)) throw refuseHere(`${path} exists already. Name a folder without a shop.`)
  const draft = `${path}.unfinished`
  const clear = () => {
    for (const each of [draft, `${draft}-wal`, `${draft}-shm`]) rmSync(each, { force: true })
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  clear()
  const db = openDatabase(draft)
  let isFinished = false
  return {
    db,
    fill: (tables, work) => fillSqlite(draft, tables, work),
    async finish() {
      await db.close()
      flushFile(draft)
      if (existsSync(path)) throw refuseHere(`Another program created ${path} meanwhile. Nothing was restored.`)
      renameSync(draft, path)
      flushFile(dirname(path))
      isFinished = true
    },
    async leave() {
      if (isFinished) return
      await db.close()
      clear()
    },
  }
}

async function openPostgresTarget(url: string, nowMs: number): Promise<RestoreTarget> {
  const db = openDatabase(url)
  const isHalfFilled = isUnfinished(await findClosed(db))
  if (!isHalfFilled && (await holdsShop(db))) {
    await db.close()
    throw refuseHere(
      `There is a shop in ${nameOf(url)} already. Name an empty database, or with --data a folder for SQLite.`,
    )
  }
  await db.transact((tx) => close(tx, unfinished, nowMs))
  return {
    db,
    fill: (tables, work) => fillPostgres(db, tables, work),
    finish: () => db.transact(reopen),
    leave: () => db.close(),
  }
}

/** Copies all rows, compares every table on both sides, and migrates. `check` runs before anything is kept. */
export async function fillTarget(
  target: RestoreTarget,
  source: Source,
  onProgress: OnProgress,
  check: (held: Record<string, TableSummary>) => void = () => {},
): Promise<Record<string, TableSummary>> {
  const all = readMigrations()
  const migrations = await appliedTo(source.reader, all)
  await prepare(target.db, migrations)
  const tables = await tablesOf(migrations)
  let held: Record<string, TableSummary> = {}
  await target.fill(tables, async (insert) => {
    held = await copyRows(source, tables, insert, onProgress)
    check(held)
  })
  const there = await target.db.snapshot((reader) =>
    heldBy({ engine: target.db.engine, reader }, tables, (table, rows) => onProgress(`compare ${table}`, rows)),
  )
  const wrong = differing(held, there)
  if (wrong.length > 0) throw new Error(`rows differ from their source: ${wrong.join(', ')}`)
  await migrate(target.db, all)
  await respell(target.db)
  return held
}

async function prepare(db: Database, migrations: readonly Migration[]): Promise<void> {
  const before = (await hasTable(db, 'migrations')) ? await appliedTo(db, readMigrations()) : []
  if (before.length > migrations.length) {
    throw refuseHere(
      'The database has the schema of a later version than what is to be put into it. Name an empty one.',
    )
  }
  await migrate(db, migrations)
}
