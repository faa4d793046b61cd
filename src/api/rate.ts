import type { Clock } from '../core/time.ts'
import {
  localTokenBuckets,
  type OpenTokenBuckets,
  prefetchTokenBuckets,
  secondsUntilOne,
} from '../core/token-buckets.ts'

/** Where a caller stands after one more request. `retryAfterSeconds` is set when that request is one too many. */
export type RateStanding = {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly retryAfterSeconds: number | undefined
}

/** Counts one more request of this name, which is one of a customer's. No standing where there is no limit. */
export type RateLimit = (name: string, customer?: string) => Promise<RateStanding | undefined>

/**
 * A bucket for each name that holds a minute's worth, shared by all shops on one database where `share` says so. A
 * limit of 0 is no limit.
 */
export function createRateLimit(
  perMinute: number,
  clock: Clock,
  purpose = '',
  share: OpenTokenBuckets = localTokenBuckets(clock),
) {
  if (perMinute === 0) return async (): Promise<RateStanding | undefined> => undefined
  const perSecond = perMinute / 60
  const rate = { perSecond, burst: perMinute }
  const buckets = prefetchTokenBuckets(share(purpose, rate), rate, clock)

  return async (name: string): Promise<RateStanding | undefined> => {
    const { isAllowed, level } = await buckets.take(name)
    return {
      limit: perMinute,
      remaining: Math.floor(level),
      resetSeconds: Math.ceil((perMinute - level) / perSecond),
      retryAfterSeconds: isAllowed ? undefined : secondsUntilOne(rate, level),
    }
  }
}
