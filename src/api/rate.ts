import { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import {
  localTokenBuckets,
  type OpenTokenBuckets,
  prefetchTokenBuckets,
  secondsUntil,
  secondsUntilOne,
} from '../core/token-buckets.ts'

/** State of a rate limit after one more request. `retryAfterSeconds` is set if that request is refused. */
export type RateLimitState = {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly retryAfterSeconds: number | undefined
}

/** Counts one more request of a token or session, and of its customer. Undefined without a limit. */
export type RateLimit = (name: string, customer?: string) => Promise<RateLimitState | undefined>

/** A token bucket per name that holds a minute's worth; `share` makes it common to all shops. 0 is no limit. */
export function createRateLimit(
  perMinute: number,
  clock: Clock,
  purpose = '',
  share: OpenTokenBuckets = localTokenBuckets(clock),
) {
  if (perMinute === 0) return async (): Promise<RateLimitState | undefined> => undefined
  const perSecond = perMinute / 60
  const rate = { perSecond, burst: perMinute }
  const buckets = prefetchTokenBuckets(share(purpose, rate), rate, clock)

  return async (name: string): Promise<RateLimitState | undefined> => {
    const { isAllowed, level } = await buckets.take(name)
    return {
      limit: perMinute,
      remaining: Math.floor(level),
      resetSeconds: Math.ceil((perMinute - level) / perSecond),
      retryAfterSeconds: isAllowed ? undefined : secondsUntilOne(rate, level),
    }
  }
}

/** The most ids that one request may name; a full bucket admits them. */
export const maxIds = 1000
/** Hours of unused changes that a customer saves up: work on all proxies at once is rare, and comes in bursts. */
const savedHours = 3

/** Refuses a request that changes more rows than the customer has left. Every change is kept in the row history. */
export type ChangeBudget = (customer: string, rows: number) => Promise<void>

/** A token bucket of changed rows per customer, common to all shops through `share`. 0 is no limit. */
export function createChangeBudget(rowsPerHour: number, clock: Clock, share?: OpenTokenBuckets): ChangeBudget {
  if (rowsPerHour === 0) return async () => {}
  const rate = { perSecond: rowsPerHour / 3600, burst: Math.max(maxIds, rowsPerHour * savedHours) }
  const buckets = (share ?? localTokenBuckets(clock))('changed rows', rate)
  return async (customer, rows) => {
    if (rows === 0) return
    const { isAllowed, level } = await buckets.takeAll(customer, rows)
    if (isAllowed) return
    const params = { rows, per_hour: rowsPerHour, left: Math.floor(level) }
    throw new Refusal('change_limit', params, { charged: false }, secondsUntil(rate, level, rows))
  }
}
