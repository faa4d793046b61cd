import type { Clock } from '../../../core/time.ts'
import { createTokenBuckets, type TokenBucketRate } from '../../../core/token-buckets.ts'

/** What one customer may take of one gateway. */
export type CustomerLimits = {
  readonly tunnels: number
  readonly newPerSecond: number
  readonly namesPerSecond: number
}

export const shippedLimits: CustomerLimits = { tunnels: 4000, newPerSecond: 500, namesPerSecond: 200 }

/** One customer has at most this part of a gateway's connections, whatever the configured limit: others need room. */
const mostShare = 0.25

export const tunnelsWithin = (wanted: number, connections: number): number =>
  Math.min(wanted, Math.max(1, Math.floor(connections * mostShare)))

/** So much a second for each customer; two seconds' worth may come at once. */
export const rateOf = (perSecond: number): TokenBucketRate => ({ perSecond, burst: perSecond * 2 })

export type TunnelLimits = ReturnType<typeof createTunnelLimits>

/** Counts the open connections of each customer and each sub-user. */
export function createTunnelLimits(limits: CustomerLimits, clock: Clock) {
  const open = new Map<string, { tunnels: number }>()
  const opening = createTokenBuckets(rateOf(limits.newPerSecond), clock)

  const openOf = (name: string): number => open.get(name)?.tunnels ?? 0

  function takePlace(name: string): void {
    const known = open.get(name)
    if (known) known.tunnels += 1
    else open.set(name, { tunnels: 1 })
  }

  function leavePlace(name: string): void {
    const known = open.get(name)
    if (!known) return
    known.tunnels -= 1
    if (known.tunnels === 0) open.delete(name)
  }

  return {
    /** Takes a place for each name, or none of them. `most` is what the sub-user's own limit says. */
    enter(owner: string, key: string, most: number | null): 'too_many_tunnels' | 'too_many_new' | undefined {
      if (openOf(owner) >= limits.tunnels) return 'too_many_tunnels'
      if (most !== null && openOf(key) >= most) return 'too_many_tunnels'
      if (!opening.take(owner)) return 'too_many_new'
      takePlace(owner)
      takePlace(key)
      return undefined
    },

    leave(owner: string, key: string): void {
      leavePlace(owner)
      leavePlace(key)
    },
  }
}
