import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Refusal, refuseHere } from '../../core/refusal.ts'
import { close, findClosed, hasTable, holdsShop, isUnfinished, reopen, unfinished } from '../../db/closed.ts'
import { carry, heldBy, type OnProgress, type Source } from '../../db/copy/copy.ts'
import { differing, type Held } from '../../db/copy/digest.ts'
import { fillPostgres, fillSqlite, type Insert } from '../../db/copy/fill.ts'
import { respell } from '../../db/copy/respell.ts'
import { type Table, tablesOf } from '../../db/copy/tables.ts'
import { appliedTo, type Migration, migrate } from '../../db/migrate.ts'
import { openDatabase } from '../../db/open.ts'
import { flushFile } from '../../db/sqlite-file.ts'
import type { Database } from '../../db/transaction.ts'
import { readMigrations } from '../shop/database.ts'

const refused = (problem: string): Refusal => refuseHere(problem)

/** A place without a shop that is being filled with one. Nobody can open it before it is finished. */
export type Target = {
  readonly db: Database
  fill(tables: readonly Table[], work: (insert: Insert) => Promise<void>): Promise<void>
  /** From now on it is a shop. */
  finish(): Promise<void>
  /** Leaves it, finished or not. What is not can be filled anew. */
  leave(): Promise<void>
}

/** Names a database, its password left out. */
export function nameOf(address: string): string {
  if (!URL.canParse(address)) return 'an address that cannot be read'
  const { protocol, username, host, pathname } = new URL(address)
  return `${protocol}//${username}${username === '' ? '' : '@'}${host}${pathname}`
}

/** Takes an empty database to fill; one with a shop in it is refused, and one that was left half filled is emptied. */
export async function openTarget(address: string, nowMs: number): Promise<Target> {
  return /^postgres(ql)?:/.test(address) ? openPostgresTarget(address, nowMs) : openSqliteTarget(address)
}

async function openSqliteTarget(path: string): Promise<Target> {
  if (existsSync(path)) throw refused(`${path} is there already. Name a folder without a shop.`)
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
      if (existsSync(path)) throw refused(`${path} has come to be there meanwhile.`)
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

async function openPostgresTarget(url: string, nowMs: number): Promise<Target> {
  const db = openDatabase(url)
  const isHalfFilled = isUnfinished(await findClosed(db))
  if (!isHalfFilled && (await holdsShop(db))) {
    await db.close()
    throw refused(`There is a shop in ${nameOf(url)} already. Name an empty database.`)
  }
  await db.transact((tx) => close(tx, unfinished, nowMs))
  return {
    db,
    fill: (tables, work) => fillPostgres(db, tables, work),
    finish: () => db.transact(reopen),
    leave: () => db.close(),
  }
}

/**
 * Fills a target with all rows of a source, compares every table on both sides, and brings the schema to that of this
 * version. `check` looks at what was read before any of it is kept.
 */
export async function fillTarget(
  target: Target,
  source: Source,
  onProgress: OnProgress,
  check: (held: Record<string, Held>) => void = () => {},
): Promise<Record<string, Held>> {
  const all = readMigrations()
  const migrations = await appliedTo(source.reader, all)
  await prepare(target.db, migrations)
  const tables = await tablesOf(migrations)
  let held: Record<string, Held> = {}
  await target.fill(tables, async (insert) => {
    held = await carry(source, tables, insert, onProgress)
    check(held)
  })
  const there = await target.db.snapshot((reader) =>
    heldBy({ engine: target.db.engine, reader }, tables, (table, rows) => onProgress(`compare ${table}`, rows)),
  )
  const wrong = differing(held, there)
  if (wrong.length > 0) throw new Error(`what was written is not what was read: ${wrong.join(', ')}`)
  await migrate(target.db, all)
  await respell(target.db)
  return held
}

/** Gives an empty database the schema that the source has. */
async function prepare(db: Database, migrations: readonly Migration[]): Promise<void> {
  const before = (await hasTable(db, 'migrations')) ? await appliedTo(db, readMigrations()) : []
  if (before.length > migrations.length) {
    throw refused('The database has the schema of a later version than what is to be put into it. Name an empty one.')
  }
  await migrate(db, migrations)
}

/** The SQLite file in a data folder. */
export const fileIn = (folder: string): string => join(folder, 'turnpike.db')
