import { AsyncLocalStorage } from 'node:async_hooks'
import { soonEnough } from './open.ts'
import type { Database, Reader } from './transaction.ts'

/** Pauses between the looks whether the standby has what the primary has: a healthy one lags by milliseconds. */
const pausesMs = [0, 2, 5, 10, 20, 40]
/** For an answer of the standby about its own state. */
const answersMs = 500
/** Pause after a standby that did not answer or lagged for too long. */
const restMs = 5_000

const reading = new AsyncLocalStorage<{ target?: Promise<Reader> }>()

/** Runs work whose reads outside of transactions may be answered by the standby: lists, exports, search, `verify`. */
export const onStandby = <Result>(work: () => Promise<Result>): Promise<Result> => reading.run({}, work)

/** How many requests and snapshots each server has answered. */
export type StandbyReads = { standby: number; primary: number }

type PositionRow = { readonly position: string; readonly mark: string | null }

/** What a standby must have to answer: the end of the log, and the newest mark of the history. */
const positionSql = `SELECT CAST(pg_current_wal_flush_lsn() AS text) AS position,
  (SELECT nonce FROM history_marks ORDER BY number DESC, nonce DESC LIMIT 1) AS mark`

/** A former primary is no standby, and a standby that follows one lacks the mark. */
const hasSql = `SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= CAST($1 AS pg_lsn)
  AND ($2 = '' OR EXISTS (SELECT 1 FROM history_marks WHERE nonce = $2)) AS has`

async function isUpToDate(primary: Reader, standby: Reader, sleep: (ms: number) => Promise<void>): Promise<boolean> {
  const end = await primary.first<PositionRow>(positionSql)
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0) await sleep(pauseMs)
    const values = [end?.position ?? '', end?.mark ?? '']
    if ((await soonEnough(standby.first<{ has: boolean }>(hasSql, values), answersMs))?.has) return true
  }
  return false
}

/**
 * A database whose reads and snapshots within `onStandby` are answered by a standby that has every commit of the time
 * at which they begin. So a customer sees the own purchase, whichever shop sold it, and nothing is stale. The primary
 * answers only where its log ends; and all of it while the standby is away or lags.
 */
export function withReadStandby(
  primary: Database,
  standby: Database,
  {
    now = () => performance.now(),
    sleep = Bun.sleep,
  }: { now?: () => number; sleep?: (ms: number) => Promise<void> } = {},
): Database & { readonly reads: StandbyReads } {
  const reads: StandbyReads = { standby: 0, primary: 0 }
  let mayAskAt = 0

  async function choose(): Promise<Database> {
    const isAsked = now() >= mayAskAt
    const isIn = isAsked && (await isUpToDate(primary, standby, sleep).catch(() => false))
    if (isAsked && !isIn) mayAskAt = now() + restMs
    reads[isIn ? 'standby' : 'primary'] += 1
    return isIn ? standby : primary
  }

  /** One choice for all reads of a request, so that they are of one server. */
  function find(): Promise<Reader> | Reader {
    const request = reading.getStore()
    if (!request) return primary
    request.target ??= choose()
    return request.target
  }

  /** A standby cancels a query that keeps it from replaying; such a read is repeated on the primary. */
  async function read<Result>(ask: (reader: Reader) => Promise<Result>): Promise<Result> {
    const target = await find()
    if (target === primary) return ask(primary)
    try {
      return await ask(target)
    } catch {
      mayAskAt = now() + restMs
      const request = reading.getStore()
      if (request) request.target = Promise.resolve(primary)
      return ask(primary)
    }
  }

  return {
    ...primary,
    reads,
    all: <Row>(sql: string, values?: Parameters<Reader['all']>[1]) => read((reader) => reader.all<Row>(sql, values)),
    first: <Row>(sql: string, values?: Parameters<Reader['first']>[1]) =>
      read((reader) => reader.first<Row>(sql, values)),
    snapshot: async (work) => (reading.getStore() ? await choose() : primary).snapshot(work),
    close: async () => void (await Promise.all([primary.close(), standby.close()])),
  }
}
