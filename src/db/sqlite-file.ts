import { Database as Connection } from 'bun:sqlite'
import { closeSync, fsyncSync, openSync, statSync } from 'node:fs'
import { refuseHere } from '../core/refusal.ts'
import { type BoundValue, toBound, toSqlite } from './portable.ts'
import type { Reader, Value } from './transaction.ts'

const busyMs = 10_000

/** Copies a SQLite database in use into a new file, as of one moment. Blocks only the calling thread. */
export function copySqlite(from: string, to: string): void {
  const connection = new Connection(from, { readwrite: true, create: false })
  try {
    connection.run(`PRAGMA busy_timeout = ${busyMs}`)
    connection.query('VACUUM INTO ?').run(to)
  } finally {
    connection.close()
  }
  flushFile(to)
}

/** Moves the write-ahead log into the file, so that the file is complete. */
export function leaveLog(path: string): void {
  const connection = new Connection(path, { readwrite: true, create: false })
  try {
    connection.run('PRAGMA journal_mode = DELETE')
  } finally {
    connection.close()
  }
}

export function flushFile(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Reads a file that no process writes to. */
export function readSqlite(path: string): { readonly reader: Reader; close(): void } {
  const connection = new Connection(path, { readonly: true, safeIntegers: true, strict: true })
  return { reader: readerOn(connection), close: () => connection.close() }
}

/** The file is no SQLite database, or is damaged. */
export const isNoDatabase = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^SQLITE_(NOTADB|CORRUPT|IOERR_SHORT_READ)/.test(String(error.code))

/** Returns whether the path still names the file that it named at this call. A stat costs 2 µs. */
export function pinFile(path: string): () => boolean {
  const find = () => statSync(path, { throwIfNoEntry: false })
  const pinned = find()
  return () => {
    const found = find()
    return found !== undefined && found.ino === pinned?.ino && found.dev === pinned.dev
  }
}

/** A database that is locked by this process. */
export type LockedSqlite = {
  readonly reader: Reader
  run(sql: string, values?: readonly Value[]): void
  /** Commits and unlocks. */
  commit(): void
  /** Unlocks; rolls back what was not committed. */
  release(): void
}

/** Locks a SQLite file exclusively. Refused while another process has it open. */
export function holdSqlite(path: string): LockedSqlite {
  const connection = new Connection(path, { readwrite: true, create: false, safeIntegers: true, strict: true })
  try {
    // SQLite leaves WAL mode only for a sole user, so this detects other processes.
    connection.run('PRAGMA busy_timeout = 500')
    connection.run('PRAGMA journal_mode = DELETE')
    connection.run('BEGIN EXCLUSIVE')
  } catch (error) {
    connection.close()
    const isBusy = error instanceof Error && 'code' in error && /^SQLITE_(BUSY|LOCKED)/.test(String(error.code))
    if (!isBusy) throw error
    throw refuseHere(`Another process has ${path} open. Stop the shop first: "systemctl stop turnpike-shop".`)
  }
  return {
    reader: readerOn(connection),
    run: (sql, values = []) => void connection.query(toSqlite(sql)).run(...toBound(values)),
    commit: () => connection.run('COMMIT'),
    release() {
      if (connection.inTransaction) connection.run('ROLLBACK')
      connection.close()
    },
  }
}

const readerOn = (connection: Connection): Reader => ({
  async all<Row>(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    return connection.query<Row, BoundValue[]>(toSqlite(sql)).all(...toBound(values))
  },
  async first<Row>(sql: string, values: readonly Value[] = []): Promise<Row | undefined> {
    return connection.query<Row, BoundValue[]>(toSqlite(sql)).get(...toBound(values)) ?? undefined
  },
})

/** Rewrites a SQLite file without deleted data; no other process has it open. Returns its size before and after. */
export function compactSqlite(path: string): { readonly before: number; readonly after: number } {
  const before = statSync(path).size
  holdSqlite(path).release()
  const connection = new Connection(path, { readwrite: true, create: false })
  try {
    connection.run('PRAGMA busy_timeout = 500')
    connection.run('VACUUM')
  } finally {
    connection.close()
  }
  flushFile(path)
  return { before, after: statSync(path).size }
}
