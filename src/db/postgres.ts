import { type ReservedSQL, SQL } from 'bun'
import type { Refusal } from '../kernel/refusal.ts'
import { Bundle } from './bundle.ts'
import { toBound } from './portable.ts'
import { ConstraintViolation, type Database, type Reader, type Tx, type Value } from './transaction.ts'
import { unavailable } from './unavailable.ts'

/** Few connections do more than many: past the server's cores they only wait for one another. */
const poolSize = 12
const connectSeconds = 5
/** How long a transaction waits for a free connection, and how long the server lets it wait for a lock or run. */
const poolWaitMs = 5_000
const lockWaitMs = 5_000
const statementLimitMs = 15_000
/** How often a transaction is run again after the server chose it as the victim of a deadlock. */
const mostAttempts = 6

/** The parts of a pooled client and of a reserved connection that are used here. */
type Client = { unsafe(sql: string, values?: unknown[]): Promise<unknown> & { execute(): Promise<unknown> } }

export function openPostgres(url: string, size: number = poolSize): Database {
  const pool = new SQL({
    url,
    max: size,
    bigint: true,
    connectionTimeout: connectSeconds,
    connection: {
      application_name: 'turnpike',
      // Statements here are short; compiling one costs more than it ever saves.
      jit: 'off',
      // Whoever asks for the first of many is to get them in an index's order. Through a bitmap all of them would be
      // read and sorted, in every sale from a stock that was just added and that nobody has counted yet.
      enable_bitmapscan: 'off',
      statement_timeout: String(statementLimitMs),
      lock_timeout: String(lockWaitMs),
      idle_in_transaction_session_timeout: String(statementLimitMs),
    },
  })
  return {
    engine: 'postgres',
    ...readerOn(pool),
    transact: (work) => transact(pool, 'BEGIN', work),
    transactLong: (work) => transact(pool, 'BEGIN', unhurried(byIndex(work))),
    snapshot: (work) => transact(pool, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', unhurried(work)),
    close: () => pool.close({ timeout: 5 }),
  }
}

const unhurried =
  <Result>(work: (tx: Tx) => Promise<Result>) =>
  async (tx: Tx): Promise<Result> => {
    await tx.run(`SET LOCAL statement_timeout = '30min'`)
    await tx.run(`SET LOCAL idle_in_transaction_session_timeout = '30min'`)
    return work(tx)
  }

/**
 * A chore asks for some of very many rows in every statement. While nobody has counted a table that was just filled,
 * the planner would read all of it each time.
 */
const byIndex =
  <Result>(work: (tx: Tx) => Promise<Result>) =>
  async (tx: Tx): Promise<Result> => {
    await tx.run('SET LOCAL enable_seqscan = off')
    return work(tx)
  }

async function transact<Result>(pool: SQL, begin: string, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(pool, begin, work)
    } catch (error) {
      if (!isRetriable(error) || attempt >= mostAttempts) throw toPublic(error)
      // A growing pause with chance in it, so that two victims do not meet again.
      await Bun.sleep(2 ** attempt * (0.5 + Math.random()))
    }
  }
}

async function attemptOnce<Result>(pool: SQL, begin: string, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const connection = await reserve(pool)
  const client = connection as unknown as Client
  const sent: Promise<unknown>[] = []
  const bundle = new Bundle()
  let open = true
  // The server takes statements in the order they go out. A failure of one that nobody waits for is kept until the
  // commit, which the server then turns into a rollback by itself.
  const dispatch = (sql: string, values: readonly Value[] = []): Promise<unknown> => {
    const answer = client.unsafe(sql, toBound(values)).execute()
    // How it ended is kept, and not what it carried: a transaction may fill a database.
    sent.push(answer.then(letGo, toFailure))
    return answer
  }
  const assertOpen = (): void => {
    if (!open) throw new Error('this transaction is over')
  }
  /** Sends what was gathered; it comes before whatever is asked next. */
  const flush = (): void => {
    const write = bundle.take()
    if (write) void dispatch(write.sql, write.values)
  }
  const ask = (sql: string, values: readonly Value[] = []): Promise<unknown> => {
    assertOpen()
    flush()
    return dispatch(sql, values)
  }
  const gather = (sql: string, values: readonly Value[] = []): void => {
    assertOpen()
    if (bundle.add(sql, values)) return
    flush()
    if (!bundle.add(sql, values)) void dispatch(sql, values)
  }
  try {
    void dispatch(begin)
    const result = await work({
      ...readerWith(ask),
      run: async (sql, values) => countOf(await named(ask(sql, values))),
      send: gather,
    })
    flush()
    void dispatch('COMMIT')
    open = false
    await settle(sent)
    return result
  } catch (error) {
    open = false
    const first = await settle(sent).then(
      () => error,
      (failure: unknown) => failure as Error,
    )
    await client.unsafe('ROLLBACK').catch(() => {})
    // After a failure the server refuses every later statement; what went wrong is what failed first.
    throw stateOf(error) === '25P02' ? first : error
  } finally {
    await connection.release()
  }
}

const letGo = (): void => {}
const toFailure = (reason: unknown): { readonly reason: unknown } => ({ reason })

/** Waits for every statement, then fails with the first failure: the later ones only echo it. */
async function settle(sent: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.all(sent)
  const failed = outcomes.find((outcome) => outcome !== undefined) as { reason: Error } | undefined
  if (failed) await named(Promise.reject(failed.reason))
}

async function reserve(pool: SQL): Promise<ReservedSQL> {
  try {
    return await pool.reserve({ signal: AbortSignal.timeout(poolWaitMs) })
  } catch (error) {
    throw error instanceof DOMException ? late(error) : error
  }
}

function readerOn(client: Client): Reader {
  return readerWith((sql, values) => client.unsafe(sql, toBound(values ?? [])))
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

/** The server's five-character SQLSTATE, where it sent one. */
const stateOf = (error: unknown): string =>
  error instanceof Error && 'errno' in error && typeof error.errno === 'string' ? error.errno : ''

/** Serialisation failure and deadlock: the transaction is undone and may be run again. */
const isRetriable = (error: unknown): boolean => ['40001', '40P01'].includes(stateOf(error))

async function named<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer
  } catch (error) {
    const state = stateOf(error)
    if (!state.startsWith('23')) throw error
    throw new ConstraintViolation(state === '23505' ? 'unique' : state === '23514' ? 'check' : 'other', {
      cause: error,
    })
  }
}

/** A server that cannot be reached, is full, or keeps us waiting is not a bug: the customer may try again. */
function toPublic(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const state = stateOf(error)
  const gone = /^ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)/.test(code) || /^(ECONN|EPIPE)/.test(code)
  // Class 53 is a lack: of disk, of memory, of connections.
  const busy = state.startsWith('53') || ['55P03', '57014', '25P03', '57P01', '57P02', '57P03'].includes(state)
  return gone || busy || isRetriable(error) ? late(error) : error
}

const late = (cause: unknown): Refusal => unavailable('The database did not answer in time.', cause)
