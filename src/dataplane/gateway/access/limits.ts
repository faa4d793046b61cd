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

/** A customer's socket, an origin's, and one more to learn what has arrived. */
const filesOfConnection = 3
/** The same with TLS, where the customer's leads to the engine through a pair of them. */
const filesOfTlsConnection = 5
/** Those who are at their handshake have no connection yet. */
const mostHandshakes = 2048
/** For the shop, the journal, names, and those who are only told that there is no room. */
const reserveShare = 0.1
const leastReserve = 64
const leastConnections = 8
/** Each port that stands for a customer is a file, whether anybody comes to it or not. */
const portShare = 0.1
const leastPorts = 8

/** How many connections can be carried at once, and how many ports opened that stand for customers. */
type Room = { readonly connections: number; readonly ports: number }

/**
 * As many connections as the operator allows, and no more of both than the process may have files open for. Whoever
 * runs into that limit can answer nobody, not even to say no.
 */
export function roomWithin(wanted: number, files: number, isTls = false): Room {
  if (!Number.isFinite(files)) return { connections: wanted, ports: Number.POSITIVE_INFINITY }
  const reserve = Math.max(leastReserve, Math.ceil(files * reserveShare))
  const ports = Math.max(leastPorts, Math.floor(files * portShare))
  const handshakes = isTls ? mostHandshakes : 0
  const each = isTls ? filesOfTlsConnection : filesOfConnection
  const carried = Math.floor((files - reserve - ports - Math.min(handshakes, files * reserveShare)) / each)
  return { connections: Math.min(wanted, Math.max(leastConnections, carried)), ports }
}

/** The least number of files that so many connections can be carried with. */
export function filesFor(connections: number, isTls = false): number {
  let [few, many] = [0, 1]
  const isEnough = (files: number): boolean => roomWithin(connections, files, isTls).connections >= connections
  while (!isEnough(many)) many *= 2
  while (few + 1 < many) {
    const middle = Math.floor((few + many) / 2)
    if (isEnough(middle)) many = middle
    else few = middle
  }
  return many
}
