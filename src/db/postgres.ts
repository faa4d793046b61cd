import { Refusal } from '../core/refusal.ts'
import { Bundle } from './bundle.ts'
import {
  type CommitOutcome,
  type Connections,
  commitOn,
  named,
  noteBackend,
  type Speech,
  Stale,
  speakOn,
  writeIfNothing,
} from './commit.ts'
import { CommitTrust } from './commit-trust.ts'
import {
  connectWithDriver,
  isCut,
  isFatal,
  isMissingTable,
  isOnStandby,
  late,
  Pool,
  type PoolLimits,
  shippedLimits,
  stateOf,
} from './pool.ts'
import { Silence } from './silence.ts'
import { type Database, type Reader, type Tx, unavailable, type Value } from './transaction.ts'
import { WaitingCommits } from './waiting-commits.ts'
import { WriteCheck, type WriteProblem, writeTryBytes } from './write-check.ts'
import { WritePermits, writersOf } from './write-permits.ts'

/** More connections than the server's cores only wait for one another. */
const poolSize = 12
/** How often a transaction is retried after a deadlock. */
const maxAttempts = 6
/** Timeout of a statement in background work. */
const unhurriedMs = 30 * 60_000
const unhurriedSilentMs = unhurriedMs + 60_000

export function openPostgres(
  url: string,
  size: number = poolSize,
  limits: PoolLimits = shippedLimits,
  silence = new Silence(),
  connect = connectWithDriver,
): Database {
  const pool = new Pool(url, size, limits, silence, connect)
  const waiting = new WaitingCommits(url, limits, silence)
  const permits = new WritePermits(writersOf(size), limits.poolWaitMs, silence, () => waiting.count > 0)
  const trust = new CommitTrust(limits.trustedCommitMs)
  const server: Connections = { pool, silence, waiting, permits, trust }
  const writes = new WriteCheck(async (hasFailed) => (hasFailed ? tryToGrow(server) : undefined))
  const noting = async <Result>(done: Promise<Result>): Promise<Result> => {
    try {
      return await done
    } catch (error) {
      if (isFull(error)) writes.failed('disk_full')
      throw error
    }
  }
  return {
    engine: 'postgres',
    ...readerWith((sql, values) => pool.read(sql, values)),
    transact: (work, pace) =>
      noting(
        pace === 'unhurried'
          ? transact(server, settingOf(unhurried, work), unhurriedSilentMs)
          : transact(server, work, limits.silentMs, pace === 'unreplicated' ? 'unreplicated' : 'writing'),
      ),
    transactLong: (work) => noting(transact(server, settingOf(byIndex, work), unhurriedSilentMs)),
    findWriteProblem: () => writes.check(),
    snapshot: (work) => readOnce(server, settingOf(unhurried, work)),
    close: () => pool.close(),
  }
}

const rowBytes = 4000

/** Adds pages to a temporary table, which needs space on the disk but not in the log, and rolls them back. */
async function tryToGrow(server: Connections): Promise<WriteProblem | undefined> {
  const problem: { found?: WriteProblem | undefined } = {}
  const work = async (tx: Tx): Promise<never> => {
    await tx.run('CREATE TEMPORARY TABLE write_try (content TEXT)')
    // Stored as they are: the letters would be compressed to almost nothing.
    await tx.run('ALTER TABLE write_try ALTER COLUMN content SET STORAGE PLAIN')
    const rows = Math.ceil(writeTryBytes / rowBytes)
    await tx.run(`INSERT INTO write_try SELECT REPEAT('x', ${rowBytes}) FROM GENERATE_SERIES(1, ${rows})`)
    throw new OnlyTried()
  }
  await transact(server, work, server.pool.limits.silentMs).catch((error: unknown) => {
    if (!(error instanceof OnlyTried)) problem.found = isFull(error) ? 'disk_full' : 'unwritable'
  })
  return problem.found
}

/** Rolls a try back. */
class OnlyTried extends Error {}

const diskFull = '53100'
/** `invalid_catalog_name`. A restore drops the database and makes it again, or the settings name another one. */
const missingDatabase = '3D000'

/**
 * The server admits no connection to the database or of this role: `object_not_in_prerequisite_state` (with
 * ALLOW_CONNECTIONS false, during a switch-over), `invalid_authorization_specification` (NOLOGIN, or pg_hba.conf) and
 * `too_many_connections`.
 */
const notAdmitted = ['55000', '28000', '53300']
/** `invalid_column_reference`: a restore makes unique constraints last, and ON CONFLICT names one of them. */
const missingConstraint = '42P10'

const isFull = (error: unknown): boolean => error instanceof Refusal && stateOf(error.cause) === diskFull

type Work<Result> = (tx: Tx) => Promise<Result>

const unhurried = [`statement_timeout = ${unhurriedMs}`, `idle_in_transaction_session_timeout = ${unhurriedMs}`]
/** For jobs over many rows: a table that was just filled has no statistics, and the planner would scan all of it. */
const byIndex = [...unhurried, 'enable_seqscan = off']

/** Work with these settings for its transaction. */
const settingOf =
  <Result>(settings: readonly string[], work: Work<Result>): Work<Result> =>
  async (tx) => {
    for (const each of settings) await tx.run(`SET LOCAL ${each}`)
    return work(tx)
  }

/** A snapshot's reader may have side effects, so it is never retried. */
async function readOnce<Result>(server: Connections, work: Work<Result>): Promise<Result> {
  try {
    return await attemptOnce(server, 'snapshot', work, unhurriedSilentMs)
  } catch (error) {
    throw toPublic(causeOf(error))
  }
}

const begins = {
  snapshot: ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'],
  writing: ['BEGIN READ WRITE'],
  unreplicated: ['BEGIN READ WRITE', 'SET LOCAL synchronous_commit = off'],
} as const

async function transact<Result>(
  server: Connections,
  work: Work<Result>,
  silentMs: number,
  kind: 'writing' | 'unreplicated' = 'writing',
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(server, kind, work, silentMs)
    } catch (error) {
      const isStale = error instanceof Stale
      if (!(isStale || isRetriable(error)) || attempt >= maxAttempts) throw toPublic(causeOf(error))
      if (isStale) continue
      // A growing pause with chance in it, so that two victims do not meet again.
      await Bun.sleep(2 ** attempt * (0.5 + Math.random()))
    }
  }
}

const causeOf = (error: unknown): unknown => (error instanceof Stale ? error.cause : error)

/** A connection, and for a transaction whose commit may wait for a standby its permit. */
async function takeLine({ pool, permits }: Connections, isWriting: boolean) {
  const waitedMs = isWriting ? await permits.take() : 0
  const release = (): void => {
    if (isWriting) permits.giveBack()
  }
  try {
    const line = await pool.take(pool.limits.poolWaitMs - waitedMs)
    const giveBack = (): void => {
      line.isCommitting = false
      pool.giveBack(line)
      release()
    }
    return { line, giveBack }
  } catch (error) {
    release()
    throw error
  }
}

/** An INSERT that writes a row whatever the tables hold. */
const alwaysWrites = (sql: string): boolean =>
  /^\s*INSERT INTO \w+ *\([^()]*\)\s*VALUES\b/i.test(sql) && !/\bON\s+CONFLICT\b/i.test(sql)

/** The transaction as its work sees it. `end` sends what is collected; `hasWritten` is true only if that is certain. */
function openTx({ dispatch }: Speech) {
  const bundle = new Bundle()
  let isOpen = true
  let hasWritten = false
  const assertOpen = (): void => {
    if (!isOpen) throw new Error('this transaction is over')
  }
  /** Sends the collected writes before the next query. */
  const flush = (): void => {
    const write = bundle.take()
    if (write) void dispatch(write.sql, write.values)
  }
  const ask = (sql: string, values: readonly Value[] = []): Promise<unknown> => {
    assertOpen()
    flush()
    return dispatch(sql, values)
  }
  const send = (sql: string, values: readonly Value[] = []): void => {
    assertOpen()
    hasWritten ||= alwaysWrites(sql)
    if (bundle.add(sql, values)) return
    flush()
    if (!bundle.add(sql, values)) void dispatch(sql, values)
  }
  const run = async (sql: string, values?: readonly Value[]): Promise<number> => {
    const count = countOf(await named(ask(sql, values)))
    hasWritten ||= count > 0 && !/^\s*SELECT\b/i.test(sql)
    return count
  }
  const tx: Tx = { ...readerWith(ask), run, send }
  const end = (): { readonly hasWritten: boolean } => {
    flush()
    isOpen = false
    return { hasWritten }
  }
  const abandon = (): void => {
    isOpen = false
  }
  return { tx, end, abandon }
}

async function attemptOnce<Result>(
  server: Connections,
  kind: keyof typeof begins,
  work: Work<Result>,
  silentMs: number,
): Promise<Result> {
  const { pool } = server
  // Its commit is confirmed by the standbys.
  const isWriting = kind === 'writing'
  const { line, giveBack } = await takeLine(server, isWriting)
  const listener = silentMs === pool.limits.silentMs ? line.listener : line.listenFor(silentMs)
  const speech = speakOn(line, listener)
  const { dispatch, settle, findStale } = speech
  const { tx, end, abandon } = openTx(speech)
  let outcome: CommitOutcome | undefined
  try {
    for (const each of begins[kind]) void dispatch(each)
    noteBackend(line, dispatch)
    const result = await work(tx)
    const { hasWritten } = end()
    if (isWriting && !hasWritten) void dispatch(writeIfNothing)
    outcome = await commitOn(server, line, speech, isWriting, giveBack)
    if (outcome !== 'done') throw unavailable('unconfirmed', undefined)
    return result
  } catch (error) {
    if (outcome) throw error
    abandon()
    const first = await settle().then(
      () => error,
      (failure: unknown) => failure as Error,
    )
    const stale = findStale(error)
    // A connection that cannot roll back is closed.
    await dispatch('ROLLBACK').catch(() => line.close())
    if (stale) {
      pool.renew(line)
      throw stale
    }
    // After a failed statement the server refuses all later ones (25P02), and after a failed BEGIN all writes (25006),
    // so the first failure is the cause.
    const cause = ['25P02', '25006'].includes(stateOf(error)) ? first : error
    // The server has become a standby. A new connection may reach the new leader.
    if (isOnStandby(cause)) pool.renew(line)
    throw cause
  } finally {
    if (outcome !== 'left') giveBack()
  }
}

function readerWith(ask: (sql: string, values?: readonly Value[]) => Promise<unknown>): Reader {
  const all = async <Row>(sql: string, values: readonly Value[] = []): Promise<Row[]> => {
    try {
      return (await named(ask(sql, values))) as Row[]
    } catch (error) {
      throw isRetriable(error) ? error : toPublic(error)
    }
  }
  return {
    all,
    async first<Row>(sql: string, values: readonly Value[] = []): Promise<Row | undefined> {
      return (await all<Row>(sql, values))[0]
    },
  }
}

const countOf = (answer: unknown): number => Number((answer as { count?: number | bigint | null }).count ?? 0)

const isRetriable = (error: unknown): boolean => ['40001', '40P01'].includes(stateOf(error))

/** An unreachable, full or slow server is no fault: the customer may retry. */
function toPublic(error: unknown): unknown {
  const state = stateOf(error)
  if (state === diskFull) return unavailable('unwritable', error)
  if (isMissingTable(error) || state === missingConstraint) return unavailable('changed', error)
  if (state === missingDatabase) return unavailable('missing', error)
  // Fatal, as a refused connection: a statement with such an error is a fault.
  if (notAdmitted.includes(state) && isFatal(error)) return unavailable('closed', error)
  if (isOnStandby(error)) return unavailable('closed', error)
  // Class 53: out of disk, memory or connections.
  const isBusy = state.startsWith('53') || ['55P03', '57014', '25P03', '57P03'].includes(state)
  return isCut(error) || isBusy || isRetriable(error) ? late(error) : error
}
