import type { Clock } from './time.ts'

/** `perSecond` tokens come back each second; a full bucket holds `burst`. */
export type TokenBucketRate = { readonly perSecond: number; readonly burst: number }

/** Whole seconds until a bucket with this level has `count` tokens. */
export const secondsUntil = ({ perSecond }: TokenBucketRate, level: number, count: number): number =>
  Math.max(1, Math.ceil((count - level) / perSecond))

/** Whole seconds until a bucket with this level has one token. */
export const secondsUntilOne = (rate: TokenBucketRate, level: number): number => secondsUntil(rate, level, 1)

/** Token buckets, one per key, that several processes take from. */
export type SharedTokenBuckets = {
  /** Takes up to `want` tokens, as many as there are. `level` is what is left. */
  take(key: string, want: number): Promise<{ readonly taken: number; readonly level: number }>
  /** Takes `want` tokens, or none if there are fewer. */
  takeAll(key: string, want: number): Promise<{ readonly isAllowed: boolean; readonly level: number }>
  /** Returns `count` tokens, 1 by default. */
  give(key: string, count?: number): Promise<void>
}

/** Opens the buckets of a purpose; all processes that share them pass the same rate. */
export type OpenTokenBuckets = (purpose: string, rate: TokenBucketRate) => SharedTokenBuckets

/** Buckets in the memory of this process, for a shop that is the only one on its database. */
export const localTokenBuckets =
  (clock: Clock): OpenTokenBuckets =>
  (_purpose, rate) => {
    const own = createTokenBuckets(rate, clock)
    return {
      async take(key, want) {
        let taken = 0
        while (taken < want && own.take(key)) taken += 1
        return { taken, level: own.level(key) }
      },
      async takeAll(key, want) {
        return { isAllowed: own.take(key, 0, want), level: own.level(key) }
      },
      async give(key, count) {
        own.give(key, count)
      },
    }
  }

const maxKeys = 50_000

/** Token bucket per key. A new key has a full bucket. */
export function createTokenBuckets(rate: TokenBucketRate, clock: Clock, max = maxKeys) {
  type Bucket = { level: number; filledAt: number }
  const buckets = new Map<string, Bucket>()
  const levelAt = (bucket: Bucket, nowMs: number): number =>
    Math.min(rate.burst, bucket.level + (Math.max(0, nowMs - bucket.filledAt) * rate.perSecond) / 1000)

  /** Deletes full buckets, which equal missing ones. If more than half remain, deletes all: memory stays bounded. */
  function makeRoom(nowMs: number): void {
    for (const [key, bucket] of buckets) if (levelAt(bucket, nowMs) >= rate.burst) buckets.delete(key)
    if (buckets.size > max / 2) buckets.clear()
  }

  return {
    /** Takes `count` tokens. False, and nothing taken, if fewer than `reserve` would be left. */
    take(key: string, reserve = 0, count = 1): boolean {
      const nowMs = clock()
      let bucket = buckets.get(key)
      if (!bucket) {
        if (buckets.size >= max) makeRoom(nowMs)
        bucket = { level: rate.burst, filledAt: nowMs }
        buckets.set(key, bucket)
      }
      bucket.level = levelAt(bucket, nowMs)
      bucket.filledAt = nowMs
      if (bucket.level < count + reserve) return false
      bucket.level -= count
      return true
    },

    give(key: string, count = 1): void {
      const bucket = buckets.get(key)
      if (bucket) bucket.level = Math.min(rate.burst, bucket.level + count)
    },

    level(key: string): number {
      const bucket = buckets.get(key)
      return bucket ? levelAt(bucket, clock()) : rate.burst
    },
  }
}

/** Tokens that this process has taken from a shared bucket and not used yet, and the bucket's level then. */
type Prefetched = { left: number; level: number; at: number; fetching: Promise<void> | undefined }

/** One twentieth of a full bucket is fetched at a time, so that most requests need no query. */
const fetchesPerBurst = 20
/** Unused tokens expire: the shared bucket has refilled meanwhile. */
const keepMs = 60_000
/** Minimum pause before an empty bucket is queried again. */
const minRestMs = 100

/** Takes tokens from shared buckets in batches. A process keeps at most a twentieth of a bucket from the others. */
export function prefetchTokenBuckets(shared: SharedTokenBuckets, rate: TokenBucketRate, clock: Clock) {
  const batch = Math.max(1, Math.floor(rate.burst / fetchesPerBurst))
  const restMs = Math.max(minRestMs, 1000 / rate.perSecond)
  const keys = new Map<string, Prefetched>()

  async function fetchBatch(key: string, of: Prefetched): Promise<void> {
    const { taken, level } = await shared.take(key, batch)
    of.left = taken
    of.level = level
    of.at = clock()
  }

  function prefetchedOf(key: string): Prefetched {
    const known = keys.get(key)
    if (known) return known
    if (keys.size >= maxKeys) keys.clear()
    const fresh: Prefetched = { left: 0, level: 1, at: Number.NEGATIVE_INFINITY, fetching: undefined }
    keys.set(key, fresh)
    return fresh
  }

  return {
    /** Takes one token. `level` is what is left, here and in the shared bucket. */
    async take(key: string): Promise<{ readonly isAllowed: boolean; readonly level: number }> {
      const of = prefetchedOf(key)
      const ageMs = (): number => Math.abs(clock() - of.at)
      const mustFetch = (): boolean => (of.left < 1 ? of.level >= 1 || ageMs() >= restMs : ageMs() >= keepMs)
      // Concurrent callers wait for one fetch; a caller that finds no token after it fetches again.
      for (let tries = 0; mustFetch() && tries < fetchesPerBurst; tries += 1) {
        of.fetching ??= fetchBatch(key, of).finally(() => (of.fetching = undefined))
        await of.fetching
      }
      if (of.left < 1) return { isAllowed: false, level: of.level }
      of.left -= 1
      return { isAllowed: true, level: of.level + of.left }
    },
  }
}
