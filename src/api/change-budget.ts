import type { CustomerId } from '../core/ids.ts'
import { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import { localTokenBuckets, type OpenTokenBuckets, secondsUntil } from '../core/token-buckets.ts'
import { type Operation, scopeOf, takesKey } from './operation.ts'

/** The most ids that one request may name; a full bucket admits them. */
const maxIds = 1000
/** Hours of unused changes that a customer saves up: work on all proxies at once is rare, and comes in bursts. */
const savedHours = 3
/** What a customer without a posting gets of the allowance: one twentieth. Such accounts are free to make. */
const unfundedShare = 20
/** A free order, or a new object, with its histories and the answer under its key. */
const rowsOfCreation = 5
/** Text of a request that counts as one more row: it is stored in the row, in its history and in an answer. */
const bytesPerRow = 256

/**
 * Refuses a request that writes more than the customer has left. Every change is kept in the row history. The result
 * gives the rows back, for a request that is refused later.
 */
export type ChangeBudget = (customer: CustomerId, rows: number) => Promise<() => Promise<void>>

const nothingTaken = async (): Promise<void> => {}

/**
 * A token bucket per customer, common to all shops through `share`; 0 is no limit. It holds rows of 1 KiB, the most
 * that one counted row adds to the database (`test/attack/free-changes.test.ts`).
 */
export function createChangeBudget(
  rowsPerHour: number,
  clock: Clock,
  share: OpenTokenBuckets = localTokenBuckets(clock),
  isFunded: (customer: CustomerId) => Promise<boolean> = async () => true,
): ChangeBudget {
  if (rowsPerHour === 0) return async () => nothingTaken
  const openBudget = (purpose: string, perHour: number) => {
    const rate = { perSecond: perHour / 3600, burst: Math.max(maxIds, perHour * savedHours) }
    return { perHour, rate, buckets: share(purpose, rate) }
  }
  const full = openBudget('changed rows', rowsPerHour)
  const small = openBudget('changed rows without money', Math.ceil(rowsPerHour / unfundedShare))
  return async (customer, rows) => {
    if (rows === 0) return nothingTaken
    const { perHour, rate, buckets } = (await isFunded(customer)) ? full : small
    const { isAllowed, level } = await buckets.takeAll(customer, rows)
    if (isAllowed) return () => buckets.give(customer, rows)
    const params = { rows, per_hour: perHour, left: Math.floor(level) }
    throw new Refusal('change_limit', params, { charged: false }, secondsUntil(rate, level, rows))
  }
}

/**
 * The rows that a request writes for free, weighted by what it sends, each pair of `metadata` as a row: for each of its
 * `ids`, or once. Purchases and payments count nothing: they have limits of their own.
 */
export function rowsChangedBy(operation: Operation, { ids, ...texts }: Readonly<Record<string, unknown>>): number {
  if (scopeOf(operation) !== 'trade' || operation.charges === true) return 0
  const rows = Array.isArray(ids) ? Math.min(Math.max(1, ids.length), maxIds) : 1
  const each = takesKey(operation) ? rowsOfCreation : 1
  const { metadata } = texts
  const pairs = typeof metadata === 'object' && metadata !== null ? Object.keys(metadata).length : 0
  return rows * (each + pairs + Math.floor(Buffer.byteLength(JSON.stringify(texts)) / bytesPerRow))
}
