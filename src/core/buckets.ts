import type { Clock } from './time.ts'

export type BucketRate = {
  /** How much comes back in a second. */
  readonly perSecond: number
  /** How much a full bucket holds: what may be taken at once. */
  readonly burst: number
}

/** After how many whole seconds a bucket with this level has one to take. */
export const secondsUntilOne = ({ perSecond }: BucketRate, level: number): number =>
  Math.max(1, Math.ceil((1 - level) / perSecond))

export type Buckets = {
  /** Takes one from this name's bucket. False, and nothing taken, if fewer than `reserve` would be left. */
  readonly take: (name: string, reserve?: number) => boolean
  /** Puts one back: what was taken for something that turned out to count for nothing. */
  readonly give: (name: string) => void
  /** How much is in this name's bucket now. */
  readonly level: (name: string) => number
}

/** Buckets of one kind that several processes draw from, by name. */
export type SharedBuckets = {
  /** Takes as many as there are, up to `want`. Tells how many that was, and how much is left. */
  take(name: string, want: number): Promise<{ readonly taken: number; readonly level: number }>
  /** Puts one back. */
  give(name: string): Promise<void>
}

/** Makes the buckets of a purpose; all who share one say the same rate. */
export type ShareBuckets = (purpose: string, rate: BucketRate) => SharedBuckets

/** Those of one process, which shares them with nobody. */
export const bucketsOfOne =
  (clock: Clock): ShareBuckets =>
  (_purpose, rate) => {
    const own = createBuckets(rate, clock)
    return {
      async take(name, want) {
        let taken = 0
        while (taken < want && own.take(name)) taken += 1
        return { taken, level: own.level(name) }
      },
      async give(name) {
        own.give(name)
      },
    }
  }

const mostShipped = 50_000

/**
 * A token bucket for each name: it refills steadily, so a burst is fine and a flood is not. A name that is new has a
 * full one.
 */
export function createBuckets(rate: BucketRate, clock: Clock, most = mostShipped): Buckets {
  const buckets = new Map<string, { level: number; filledAt: number }>()
  const levelAt = (bucket: { level: number; filledAt: number }, nowMs: number): number =>
    Math.min(rate.burst, bucket.level + (Math.max(0, nowMs - bucket.filledAt) * rate.perSecond) / 1000)

  /**
   * A full bucket says no more than none. Should many be in use, starting afresh is kinder than growing or looking for
   * ever.
   */
  function makeRoom(nowMs: number): void {
    for (const [name, bucket] of buckets) if (levelAt(bucket, nowMs) >= rate.burst) buckets.delete(name)
    if (buckets.size > most / 2) buckets.clear()
  }

  return {
    take(name, reserve = 0) {
      const nowMs = clock()
      let bucket = buckets.get(name)
      if (!bucket) {
        if (buckets.size >= most) makeRoom(nowMs)
        bucket = { level: rate.burst, filledAt: nowMs }
        buckets.set(name, bucket)
      }
      bucket.level = levelAt(bucket, nowMs)
      bucket.filledAt = nowMs
      if (bucket.level < 1 + reserve) return false
      bucket.level -= 1
      return true
    },

    give(name) {
      const bucket = buckets.get(name)
      if (bucket) bucket.level = Math.min(rate.burst, bucket.level + 1)
    },

    level(name) {
      const bucket = buckets.get(name)
      return bucket ? levelAt(bucket, clock()) : rate.burst
    },
  }
}
