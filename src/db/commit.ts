import { isCut, isOutdated, type Pool, type PooledConnection, stateOf } from './pool.ts'
import { toBound } from './portable.ts'
import type { Listener, Silence } from './silence.ts'
import { ConstraintViolation, type Value } from './transaction.ts'
import { backendSql, findBackend, type WaitingCommits } from './waiting-commits.ts'
import type { WritePermits } from './write-permits.ts'

/** The connections to a server, and what bounds the transactions on them. */
export type Connections = {
  readonly pool: Pool
  readonly silence: Silence
  readonly waiting: WaitingCommits
  readonly permits: WritePermits
}

/** PostgreSQL counts bind parameters in 16 bits. */
const maxParameters = 65_535

/** Nothing was done, because the connection was stale; another one retries. */
export class Stale extends Error {}

/** Pipelines statements. A failed unawaited statement is kept until the commit, which then rolls back. */
export function speakOn(line: PooledConnection, listener: Listener) {
  const sent: Promise<void>[] = []
  let failure: { readonly reason: unknown } | undefined
  let wasAnswered = false
  let isCommitting = false
  const heard = (): void => {
    listener.heard()
    wasAnswered = true
  }
  const failed = (reason: unknown): void => {
    listener.heard()
    failure ??= { reason }
  }
  const dispatch = (sql: string, values: readonly Value[] = []): Promise<unknown> => {
    // Thrown here, it rolls the transaction back; a refused send would be missing from the transaction.
    if (values.length > maxParameters) throw new RangeError('a statement has more values than can be sent')
    const answer = line.client.unsafe(sql, toBound(values)).execute()
    listener.sent()
    sent.push(answer.then(heard, failed))
    return answer
  }
  return {
    dispatch,

    /** Sends COMMIT; returns a promise for the answers to the statements before it. */
    commit: (): Promise<unknown> => {
      isCommitting = true
      const before = Promise.all(sent)
      void dispatch('COMMIT')
      return before
    },

    /** Waits for every statement, then throws the first failure; later ones are its echo. */
    settle: async (): Promise<void> => {
      await Promise.all(sent)
      if (failure) await named(Promise.reject(failure.reason))
    },

    /** Set if nothing was done, so that a retry is safe: the connection was dead, or had outdated plans. */
    findStale: (cause: unknown): Stale | undefined => {
      if (!failure) return undefined
      const wasOver = isCut(failure.reason) && !wasAnswered && !isCommitting && !line.wasSilent
      return wasOver || isOutdated(failure.reason)
        ? new Stale('a connection was of no use any more', { cause })
        : undefined
    },
  }
}

export type Speech = ReturnType<typeof speakOn>

/** A message in the log of changes, which a synchronous standby confirms as every commit. It changes no table. */
const message = `CAST(pg_logical_emit_message(true, 'turnpike', CAST('' AS text)) AS text) AS message`
const isSynchronous = `current_setting('synchronous_standby_names') <> ''`

/**
 * The last statement of a transaction that may have written nothing. PostgreSQL does not wait for a standby when such a
 * transaction commits. But what it has read and answers, such as a replay under an idempotency key, may be a commit
 * that no standby has: one whose wait was cancelled, or that a crash of the server has ended.
 */
export const writeIfNothing = `SELECT ${message} WHERE pg_current_xact_id_if_assigned() IS NULL AND ${isSynchronous}`
const confirmation = `SELECT ${message} WHERE ${isSynchronous}`

/**
 * `done`: committed, also on the standbys. `unconfirmed`: committed on this server, and perhaps lost with it. `left`:
 * not answered in time; the connection is given back with the answer.
 */
export type CommitOutcome = 'done' | 'unconfirmed' | 'left'

/** Asks once for the server's process behind a connection, together with other statements. */
export function noteBackend(line: PooledConnection, dispatch: Speech['dispatch']): void {
  if (line.backend) return
  const note = (rows: unknown): void => {
    line.backend = findBackend(rows)
  }
  dispatch(backendSql).then(note, () => {})
}

/** Commits. Throws if the transaction is rolled back, or if its connection is lost. */
export async function commitOn(
  server: Connections,
  line: PooledConnection,
  speech: Speech,
  isWriting: boolean,
  giveBack: () => void,
): Promise<CommitOutcome> {
  const { commitMs, trustedCommitMs, confirmMs } = server.pool.limits
  /** Whether the answer came in time. If not, the connection is kept until it comes. */
  const isAnswered = async (answer: Promise<unknown>): Promise<boolean> => {
    line.isCommitting = true
    const inTime = await server.silence.isWithin(answer, commitMs).catch((error: unknown) => {
      line.isCommitting = false
      throw error
    })
    if (inTime) line.isCommitting = false
    else {
      server.waiting.add(line, answer)
      answer.then(giveBack, giveBack)
    }
    return inTime
  }
  await speech.commit()
  const sentAt = performance.now()
  if (!(await isAnswered(speech.settle()))) return 'left'
  if (!isWriting || performance.now() - sentAt <= trustedCommitMs) return 'done'
  // The server answers a COMMIT whose wait for the standby was cancelled like any other. It warns, but the driver does
  // not pass warnings on. A later write that waits covers it.
  const confirmingAt = performance.now()
  const confirmed = speech.dispatch(confirmation) as Promise<readonly unknown[]>
  if (!(await isAnswered(confirmed))) return 'left'
  const isReplicated = (await confirmed).length > 0
  return isReplicated && performance.now() - confirmingAt > confirmMs ? 'unconfirmed' : 'done'
}

export async function named<Result>(answer: Promise<Result>): Promise<Result> {
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
