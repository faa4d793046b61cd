import type { Clock } from '../../../kernel/time.ts'

/** What one customer may take of one gateway. */
export type CustomerLimits = {
  readonly tunnels: number
  readonly newPerSecond: number
  readonly namesPerSecond: number
}

export const shippedLimits: CustomerLimits = { tunnels: 4000, newPerSecond: 500, namesPerSecond: 200 }

const mostBuckets = 50_000
/** A second's worth may come at once, twice over. */
const burstSeconds = 2

/** A bucket for each name that fills steadily. False when it is empty. */
export function createBuckets(perSecond: number, clock: Clock): (name: string) => boolean {
  const buckets = new Map<string, { level: number; at: number }>()
  const full = perSecond * burstSeconds
  return (name) => {
    const nowMs = clock()
    let bucket = buckets.get(name)
    if (!bucket) {
      // A table that is full of names in use is begun anew: kinder than growing, and it fills again within a second.
      if (buckets.size >= mostBuckets) buckets.clear()
      bucket = { level: full, at: nowMs }
      buckets.set(name, bucket)
    }
    bucket.level = Math.min(full, bucket.level + (Math.max(0, nowMs - bucket.at) * perSecond) / 1000)
    bucket.at = nowMs
    if (bucket.level < 1) return false
    bucket.level -= 1
    return true
  }
}

export type TunnelLimits = ReturnType<typeof createTunnelLimits>

/** Counts the open connections of each customer and each sub-user. */
export function createTunnelLimits(limits: CustomerLimits, clock: Clock) {
  const open = new Map<string, number>()
  const mayOpen = createBuckets(limits.newPerSecond, clock)

  return {
    /** Takes a place for each name, or none of them. `most` is what the sub-user's own limit says. */
    enter(owner: string, key: string, most: number | null): 'too_many_tunnels' | 'too_many_new' | undefined {
      if ((open.get(owner) ?? 0) >= limits.tunnels) return 'too_many_tunnels'
      if (most !== null && (open.get(key) ?? 0) >= most) return 'too_many_tunnels'
      if (!mayOpen(owner)) return 'too_many_new'
      for (const name of [owner, key]) open.set(name, (open.get(name) ?? 0) + 1)
      return undefined
    },

    leave(owner: string, key: string): void {
      for (const name of [owner, key]) {
        const left = (open.get(name) ?? 1) - 1
        if (left === 0) open.delete(name)
        else open.set(name, left)
      }
    },
  }
}
