import type { CommitTrust } from './commit-trust.ts'
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
  readonly trust: CommitTrust
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

/** How many standbys that count have the log up to a position, and how many are hidden from the role of the shop. */
const proof = `SELECT CAST(COUNT(*) FILTER (WHERE sync_state IN ('sync', 'quorum')
    AND CASE WHEN current_setting('synchronous_commit') = 'remote_write' THEN write_lsn ELSE flush_lsn END
      >= CAST($1 AS pg_lsn)) AS BIGINT) AS having,
  CAST(COUNT(*) FILTER (WHERE sync_state IS NULL) AS BIGINT) AS hidden FROM pg_stat_replication`

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
  const { commitMs, confirmMs } = server.pool.limits
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
  const answered = server.trust.sent()
  const committed = speech.settle()
  // Also of a commit that is left: as long as it waits, no other one is trusted.
  const isTrusted = committed.then(answered, answered)
  if (!(await isAnswered(committed))) return 'left'
  if ((await isTrusted) || !isWriting) return 'done'
  // The server answers a COMMIT whose wait for the standby was cancelled like any other. It warns, but the driver does
  // not pass warnings on. A later message that a standby has covers it.
  const sentAt = performance.now()
  const confirmed = speech.dispatch(confirmation)
  if (!(await isAnswered(confirmed))) return 'left'
  const position = findText(await confirmed, 'message')
  if (position === undefined) server.trust.isPlain()
  if (position === undefined) return 'done'
  const took = performance.now() - sentAt
  const shown = await speech.dispatch(proof, [position])
  if (findCount(shown, 'having') > 0) return 'done'
  return findCount(shown, 'hidden') > 0 && took <= confirmMs ? 'done' : 'unconfirmed'
}

/** A field of the first row of an answer. */
function findField(rows: unknown, name: string): unknown {
  const row: unknown = Array.isArray(rows) ? rows[0] : undefined
  return typeof row === 'object' && row !== null ? Object.entries(row).find(([each]) => each === name)?.[1] : undefined
}

const findText = (rows: unknown, name: string): string | undefined => {
  const value = findField(rows, name)
  return typeof value === 'string' ? value : undefined
}

const findCount = (rows: unknown, name: string): number => Number(findField(rows, name) ?? 0)

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
