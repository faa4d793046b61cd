import type { Clock } from '../kernel/time.ts'

/** Where a caller stands after one more request. `retryAfterSeconds` is set when that request is one too many. */
export type RateStanding = {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly retryAfterSeconds: number | undefined
}

export type RateLimit = ReturnType<typeof createRateLimit>

const windowMs = 60_000
const mostKept = 50_000

/**
 * A bucket for each name that holds a minute's worth and refills steadily, so a burst is fine and a flood is not. It is
 * kept in this process; several shops behind one address each allow the limit. A limit of 0 is no limit.
 */
export function createRateLimit(perMinute: number, clock: Clock) {
  const buckets = new Map<string, { level: number; at: number }>()

  return (name: string): RateStanding | undefined => {
    if (perMinute === 0) return undefined
    const nowMs = clock()
    const perMs = perMinute / windowMs
    let bucket = buckets.get(name)
    if (!bucket) {
      if (buckets.size >= mostKept) forgetFull(buckets, perMinute, perMs, nowMs)
      bucket = { level: perMinute, at: nowMs }
      buckets.set(name, bucket)
    }
    bucket.level = Math.min(perMinute, bucket.level + Math.max(0, nowMs - bucket.at) * perMs)
    bucket.at = nowMs
    const allowed = bucket.level >= 1
    if (allowed) bucket.level -= 1
    return {
      limit: perMinute,
      remaining: Math.floor(bucket.level),
      resetSeconds: Math.ceil((perMinute - bucket.level) / perMs / 1000),
      retryAfterSeconds: allowed ? undefined : Math.max(1, Math.ceil((1 - bucket.level) / perMs / 1000)),
    }
  }
}

/**
 * A full bucket says no more than no bucket. Should all be in use, starting afresh is kinder than growing without end.
 */
function forgetFull(
  buckets: Map<string, { level: number; at: number }>,
  perMinute: number,
  perMs: number,
  nowMs: number,
): void {
  for (const [name, bucket] of buckets) {
    if (bucket.level + (nowMs - bucket.at) * perMs >= perMinute) buckets.delete(name)
  }
  if (buckets.size >= mostKept) buckets.clear()
}
