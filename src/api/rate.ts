import { createBuckets } from '../kernel/buckets.ts'
import type { Clock } from '../kernel/time.ts'

/** Where a caller stands after one more request. `retryAfterSeconds` is set when that request is one too many. */
export type RateStanding = {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly retryAfterSeconds: number | undefined
}

export type RateLimit = ReturnType<typeof createRateLimit>

/**
 * A bucket for each name that holds a minute's worth. It is kept in this process; several shops behind one address each
 * allow the limit. A limit of 0 is no limit.
 */
export function createRateLimit(perMinute: number, clock: Clock) {
  const perSecond = perMinute / 60
  const buckets = createBuckets({ perSecond, burst: perMinute }, clock)

  return (name: string): RateStanding | undefined => {
    if (perMinute === 0) return undefined
    const isAllowed = buckets.take(name)
    const level = buckets.level(name)
    return {
      limit: perMinute,
      remaining: Math.floor(level),
      resetSeconds: Math.ceil((perMinute - level) / perSecond),
      retryAfterSeconds: isAllowed ? undefined : Math.max(1, Math.ceil((1 - level) / perSecond)),
    }
  }
}
