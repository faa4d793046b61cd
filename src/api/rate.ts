import type { Clock } from '../core/time.ts'
import {
  localTokenBuckets,
  type OpenTokenBuckets,
  prefetchTokenBuckets,
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
