import { Database as Connection, type Statement } from 'bun:sqlite'
import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Refusal } from '../core/refusal.ts'
import { type BoundValue, toBound, toSqlite } from './portable.ts'
import { pinFile } from './sqlite-file.ts'
import {
  ConstraintViolation,
  type Database,
  isUrgent,
  type Reader,
  type Tx,
  unavailable,
  type Value,
} from './transaction.ts'
import { WriteCheck, type WriteProblem, writeTryBytes } from './write-check.ts'

/** Transactions that share one commit, and that may wait for theirs. */
const maxInBatch = 256
const maxWaiting = 20_000
/** How long a transaction waits for another process that holds the database. */
const lockWaitMs = 10_000
/** A transaction that waits for anything but SQL holds up all others: it is rolled back after this long. */
const workLimitMs = 10_000
const watchdogTicks = 10
const maxStatements = 500

type Job = {
  readonly work: (tx: Tx) => Promise<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (reason: unknown) => void
  readonly isUrgent: boolean
}
type Watchdog = ReturnType<typeof createWatchdog>
type Outcome = { readonly job: Job; readonly ok: boolean; readonly result: unknown }

export const inMemory = ':memory:'

/**
 * One writer with group commit: concurrent transactions run in savepoints one after another and share one fsync.
 * Readers have their own connection and see only committed rows.
 */
export function openSqlite(path: string): Database {
  if (path !== inMemory) keepToOwner(path)
  const writer = connect(path)
  const reader = connect(path)
  reader.connection.run('PRAGMA query_only = ON')
  const commits = new Commits(writer, path)
  const snapshots = createSnapshots(path)
  return {
    engine: 'sqlite',
    ...readerOn(reader),
    transact: (work) => commits.enqueue(work),
    transactLong: (work) => commits.enqueue(work),
    snapshot: (work) => snapshots.enqueue(work),
    findWriteProblem: commits.findWriteProblem,
    async close() {
      await commits.idle()
      await snapshots.idle()
      reader.close()
      writer.close()
      snapshots.close()
    },
  }
}

/** Makes the file and its -wal and -shm readable by the owner only. Files of another user are left alone. */
function keepToOwner(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  for (const each of [path, `${path}-wal`, `${path}-shm`]) {
    const found = statSync(each, { throwIfNoEntry: false })
    if (found && (found.mode & 0o077) !== 0 && found.uid === process.geteuid?.()) chmodSync(each, 0o600)
  }
}

/** Its rows have the type that the caller names. The readers of `columns.ts` check each value. */
type RowStatement = Statement<never, BoundValue[]>
type Session = { connection: Connection; statement(sql: string): RowStatement; close(): void }

function connect(path: string): Session {
  const connection = new Connection(path, { create: true, readwrite: true, safeIntegers: true, strict: true })
  whenFree(() => {
    // SQLite's own wait would block the process. A transaction that finds the database locked waits outside.
    connection.run('PRAGMA busy_timeout = 0')
    // Sales touch few rows on many pages, and a commit writes whole pages: smaller ones write less.
    connection.run('PRAGMA page_size = 2048')
    connection.run('PRAGMA journal_mode = WAL')
    connection.run('PRAGMA synchronous = FULL')
    connection.run('PRAGMA foreign_keys = ON')
    connection.run('PRAGMA temp_store = MEMORY')
    // A checkpoint copies each page once however often it was written: rarer ones copy less. The log stays below 32 MB.
    connection.run('PRAGMA wal_autocheckpoint = 16000')
    connection.run('PRAGMA cache_size = -32000')
  })
  const prepared = new Map<string, RowStatement>()
  return {
    connection,
    statement(sql) {
      const known = prepared.get(sql)
      if (known) return known
      if (prepared.size >= maxStatements) {
        for (const each of prepared.values()) each.finalize()
        prepared.clear()
      }
      const fresh = connection.prepare<never, BoundValue[]>(toSqlite(sql))
      prepared.set(sql, fresh)
      return fresh
    },
    close() {
      for (const each of prepared.values()) each.finalize()
      connection.close()
    },
  }
}

/**
 * Waits while another process opens or recovers the file. This is the only blocking wait. Its limit is 30 s, because on
 * a busy machine the other process may hold the lock without running.
 */
function whenFree(action: () => void): void {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return action()
    } catch (error) {
      if (!isBusy(error) || attempt >= 1200) throw error
      Bun.sleepSync(25)
    }
  }
}

type Guard = <Result>(action: () => Result) => Result

function readerOn(session: Session, guard: Guard = named): Reader {
  return {
    async all<Row>(sql: string, values: readonly Value[] = []): Promise<Row[]> {
      return guard(() => session.statement(sql).all(...toBound(values)))
    },
    async first<Row>(sql: string, values: readonly Value[] = []): Promise<Row | undefined> {
      return guard(() => session.statement(sql).get(...toBound(values)) ?? undefined)
    },
  }
}

class Commits {
  readonly #session: Session
  readonly #waiting: Job[] = []
  #draining: Promise<void> | undefined
  readonly #writes: WriteCheck
  readonly #isInPlace: () => boolean

  constructor(session: Session, path: string) {
    this.#session = session
    this.#isInPlace = path === inMemory ? () => true : pinFile(path)
    const tryFile = createFileTry(path, this.#isInPlace)
    this.#writes = new WriteCheck(async (hasFailed) => {
      const problem = await tryFile()
      return problem ?? (hasFailed ? await this.#tryToGrow() : undefined)
    })
  }

  enqueue<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    if (this.#waiting.length >= maxWaiting) return Promise.reject(overloaded())
    return new Promise<Result>((resolve, reject) => {
      const job = { work, resolve: resolve as (result: unknown) => void, reject, isUrgent: isUrgent() }
      const behind = job.isUrgent ? this.#waiting.findIndex((each) => !each.isUrgent) : -1
      this.#waiting.splice(behind === -1 ? this.#waiting.length : behind, 0, job)
      this.#draining ??= this.#drain()
    })
  }

  idle = async (): Promise<void> => this.#draining

  findWriteProblem = (): Promise<WriteProblem | undefined> => this.#writes.check()

  /** Adds pages to the database and rolls them back. */
  #tryToGrow(): Promise<WriteProblem | undefined> {
    const problem: { found?: WriteProblem | undefined } = {}
    const work = async (tx: Tx): Promise<never> => {
      try {
        await tx.run('CREATE TABLE write_try (content BLOB)')
        await tx.run(`INSERT INTO write_try VALUES (zeroblob(${writeTryBytes}))`)
      } catch (error) {
        problem.found = problemOf(error)
      }
      throw new Error('this was only a try')
    }
    return this.enqueue(work).catch(() => problem.found)
  }

  #noteFailure(error: unknown): void {
    const problem = problemOf(error)
    if (problem) this.#writes.failed(problem)
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // One turn of the event loop, so that requests which arrived together share the commit.
      await nextTurn()
      try {
        await begin(this.#session.connection)
      } catch (error) {
        for (const job of this.#waiting.splice(0)) job.reject(error)
        break
      }
      await this.#runBatch()
    }
    this.#draining = undefined
  }

  async #runBatch(): Promise<void> {
    const { connection } = this.#session
    const outcomes: Outcome[] = []
    const watchdog = createWatchdog(workLimitMs)
    for (let pass = 0; pass < 2 && outcomes.length < maxInBatch; pass += 1) {
      while (
        this.#waiting.length > 0 &&
        outcomes.length < maxInBatch &&
        connection.inTransaction &&
        !watchdog.isOver()
      ) {
        const job = this.#waiting.shift()
        if (job) outcomes.push(await runJob(this.#session, job, watchdog))
      }
      // Transactions that arrived while the first ones ran join the commit.
      if (pass === 0) await nextTurn()
    }
    watchdog.stop()
    try {
      // SQLite rolls back the whole transaction on a full disk or an I/O error.
      if (!connection.inTransaction) throw unwritable(new Error('SQLite gave up the transaction'))
      // Rows that are committed into a file that was moved or deleted are lost, so no such commit is acknowledged.
      if (!this.#isInPlace()) throw moved()
      named(() => connection.run('COMMIT'))
      if (!this.#isInPlace()) throw unavailable('changed', undefined)
      for (const { result } of outcomes) this.#noteFailure(result)
    } catch (error) {
      for (const each of [error, ...outcomes.map(({ result }) => result)]) this.#noteFailure(each)
      if (connection.inTransaction) connection.run('ROLLBACK')
      for (const each of outcomes) each.job.reject(each.ok ? error : each.result)
      return
    }
    for (const { job, ok, result } of outcomes) {
      if (ok) job.resolve(result)
      else job.reject(result)
    }
  }
}

/** Writes a file beside the database: a transaction that is rolled back stays in memory and does not need the disk. */
function createFileTry(path: string, isInPlace: () => boolean): () => Promise<WriteProblem | undefined> {
  if (path === inMemory) return async () => undefined
  const draft = join(dirname(path), 'space-check')
  return async () => {
    if (!isInPlace()) return 'moved'
    try {
      await writeFile(draft, new Uint8Array(writeTryBytes), { mode: 0o600 })
      return undefined
    } catch (error) {
      return ['ENOSPC', 'EDQUOT'].includes(codeOf(error)) ? 'disk_full' : 'unwritable'
    } finally {
      await rm(draft, { force: true })
    }
  }
}

async function runJob(session: Session, job: Job, watchdog: Watchdog): Promise<Outcome> {
  const { connection } = session
  let open = true
  let failure: Error | undefined
  const guard: Guard = (action) => {
    if (!open) throw new Error('this transaction is over')
    try {
      return named(action)
    } catch (error) {
      failure ??= error as Error
      throw error
    }
  }
  try {
    named(() => session.statement('SAVEPOINT work').run())
    const result = await watchdog.wait(job.work(txOn(session, guard)))
    open = false
    // As on PostgreSQL, a statement that failed undoes its transaction, even if the work carried on after it.
    if (failure) throw failure
    named(() => session.statement('RELEASE work').run())
    return { job, ok: true, result }
  } catch (error) {
    open = false
    if (connection.inTransaction) connection.run('ROLLBACK TO work; RELEASE work')
    return { job, ok: false, result: error }
  }
}

function txOn(session: Session, guard: Guard): Tx {
  const run = (sql: string, values: readonly Value[]): number =>
    guard(() => session.statement(sql).run(...toBound(values)).changes)
  return {
    ...readerOn(session, guard),
    run: async (sql, values = []) => run(sql, values),
    send: (sql, values = []) => void run(sql, values),
  }
}

async function begin(connection: Connection): Promise<void> {
  // Counts the pauses, not the clock: a stopped process has not waited.
  for (let [pauseMs, waitedMs] = [1, 0]; ; pauseMs = Math.min(pauseMs * 2, 25)) {
    try {
      named(() => connection.run('BEGIN IMMEDIATE'))
      return
    } catch (error) {
      if (!isBusy(error)) throw error
      if (waitedMs >= lockWaitMs) throw overloaded()
      await Bun.sleep(pauseMs)
      waitedMs += pauseMs
    }
  }
}

/** Snapshots run one after another on their own connection, for the operator's checks. */
function createSnapshots(path: string) {
  let session: Session | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function run<Result>(work: (reader: Reader) => Promise<Result>): Promise<Result> {
    session ??= connect(path)
    session.connection.run('BEGIN')
    try {
      return await work(readerOn(session))
    } finally {
      session.connection.run('ROLLBACK')
    }
  }

  return {
    enqueue<Result>(work: (reader: Reader) => Promise<Result>): Promise<Result> {
      const result = last.then(() => run(work))
      last = result.catch(() => {})
      return result
    },
    idle: () => last,
    close: () => session?.close(),
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const overloaded = (): Refusal => new Refusal('database_busy', {}, { charged: false })

const moved = (): Refusal => new Refusal('database_moved', {}, { charged: false })

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const isBusy = (error: unknown): boolean => /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))

/** A full or failing disk, or no memory: the operator's problem, no fault. */
const isUnwritable = (error: unknown): boolean => /^SQLITE_(FULL|IOERR|NOMEM|READONLY|CANTOPEN)/.test(codeOf(error))

const unwritable = (cause: unknown): Refusal => unavailable('unwritable', cause)

function problemOf(error: unknown): WriteProblem | undefined {
  if (error instanceof Refusal && error.reason === 'database_moved') return 'moved'
  if (!(error instanceof Refusal) || error.reason !== 'database_unavailable') return undefined
  return codeOf(error.cause) === 'SQLITE_FULL' ? 'disk_full' : 'unwritable'
}

/** Maps an engine's error to what both engines share: a constraint violation, or an unavailable database. */
function named<Result>(action: () => Result): Result {
  try {
    return action()
  } catch (error) {
    const code = codeOf(error)
    if (isUnwritable(error)) throw unwritable(error)
    if (!code.startsWith('SQLITE_CONSTRAINT')) throw error
    const kind = /UNIQUE|PRIMARYKEY/.test(code) ? 'unique' : code.endsWith('CHECK') ? 'check' : 'other'
    throw new ConstraintViolation(kind, { cause: error })
  }
}

/** Fails work that takes longer than the limit. Counts ticks: a process that was stopped gets one late tick. */
function createWatchdog(limitMs: number) {
  let isOver = false
  let expire: (reason: Error) => void = () => {}
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
    if (ticks < watchdogTicks) return
    isOver = true
    expire(new Error(`a transaction took longer than ${limitMs} ms`))
  }, limitMs / watchdogTicks)
  return {
    wait: <Result>(work: Promise<Result>): Promise<Result> =>
      new Promise<Result>((resolve, reject) => {
        expire = reject
        work.then(resolve, reject)
      }),
    isOver: () => isOver,
    stop: () => clearInterval(timer),
  }
}
