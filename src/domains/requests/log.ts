import type { CustomerId } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import {
  kindOf,
  type LoggedRequest,
  maxKept,
  maxWaiting,
  maxWaitingOf,
  type RequestKind,
  type RequestPosition,
  requestsKeptMs,
  type ShownRequest,
  trimEvery,
} from './rules.ts'
import * as store from './store.ts'

/** Customers whose rows since the last trimming are counted; a customer beyond is trimmed at every writing. */
const maxCounted = 10_000

export type RequestLog = ReturnType<typeof createRequestLog>

/**
 * Keeps requests in memory until `write`, so that no request waits for the log. A crash loses those since the last
 * call, and a busy shop those beyond the limits: the log is for a customer's eyes and decides nothing.
 */
export function createRequestLog({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  let waiting: LoggedRequest[] = []
  let waitingOf = new Map<string, number>()
  let writing = Promise.resolve()
  /** Rows since the last trimming, by kind and customer. A new entry is due: rows of an earlier process are unknown. */
  const written = new Map<string, number>()

  async function writeWaiting(): Promise<void> {
    const rows = waiting
    if (rows.length === 0) return
    waiting = []
    waitingOf = new Map()
    await db.transact((tx) => store.insertRequests(tx, rows), 'unreplicated')
    for (const [name, of] of Map.groupBy(rows, (row) => `${kindOf(row)} ${row.customer}`)) {
      const count = (written.get(name) ?? trimEvery) + of.length
      const [first] = of
      const isDue = first !== undefined && count >= trimEvery
      if (isDue) await trim(first.customer, kindOf(first))
      if (written.size < maxCounted || written.has(name)) written.set(name, isDue ? 0 : count)
    }
  }

  const trim = (customer: CustomerId, kind: RequestKind): Promise<number> =>
    db.transact((tx) => store.trimRequests(tx, customer, kind, maxKept[kind]))

  /** Writes what waits, one call after another. What a failing call had taken is lost. */
  function write(): Promise<void> {
    const next = writing.then(writeWaiting)
    writing = next.catch(() => {})
    return next
  }

  return {
    note(request: LoggedRequest): void {
      const kind = kindOf(request)
      const name = `${kind} ${request.customer}`
      const count = waitingOf.get(name) ?? 0
      if (count >= maxWaitingOf[kind] || waiting.length >= maxWaiting) return
      waitingOf.set(name, count + 1)
      waiting.push(request)
    },

    write,

    /** A customer's requests of the last 7 days before a position, newest first, with all that this shop has noted. */
    async list(customer: CustomerId, before: RequestPosition | undefined, limit: number): Promise<ShownRequest[]> {
      // A shop whose disk is full still lists.
      await write().catch(() => {})
      const sinceAt = clock() - requestsKeptMs
      const first = { at: Number.MAX_SAFE_INTEGER, id: '' }
      const found = await store.listRequests(db, customer, before ?? first, limit)
      return found.filter((each) => each.at > sinceAt)
    },

    /** Deletes at most `limit` requests older than 7 days; returns how many. */
    forget: (limit: number): Promise<number> =>
      db.transact((tx) => store.deleteOld(tx, clock() - requestsKeptMs, limit)),
  }
}
