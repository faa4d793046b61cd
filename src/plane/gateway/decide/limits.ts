import { type BucketRate, createBuckets } from '../../../kernel/buckets.ts'
import type { Clock } from '../../../kernel/time.ts'

/** What one customer may take of one gateway. */
export type CustomerLimits = {
  readonly tunnels: number
  readonly newPerSecond: number
  readonly namesPerSecond: number
}

export const shippedLimits: CustomerLimits = { tunnels: 4000, newPerSecond: 500, namesPerSecond: 200 }

/** So much a second for each customer; two seconds' worth may come at once. */
export const rateOf = (perSecond: number): BucketRate => ({ perSecond, burst: perSecond * 2 })

export type TunnelLimits = ReturnType<typeof createTunnelLimits>

/** Counts the open connections of each customer and each sub-user. */
export function createTunnelLimits(limits: CustomerLimits, clock: Clock) {
  const open = new Map<string, number>()
  const opening = createBuckets(rateOf(limits.newPerSecond), clock)

  return {
    /** Takes a place for each name, or none of them. `most` is what the sub-user's own limit says. */
    enter(owner: string, key: string, most: number | null): 'too_many_tunnels' | 'too_many_new' | undefined {
      if ((open.get(owner) ?? 0) >= limits.tunnels) return 'too_many_tunnels'
      if (most !== null && (open.get(key) ?? 0) >= most) return 'too_many_tunnels'
      if (!opening.take(owner)) return 'too_many_new'
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
