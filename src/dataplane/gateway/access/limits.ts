import type { Clock } from '../../../core/time.ts'
import { createTokenBuckets, type TokenBucketRate } from '../../../core/token-buckets.ts'

/** Limits of one customer on one gateway. */
export type CustomerLimits = Readonly<typeof shippedLimits>
export const shippedLimits = { tunnels: 4000, newPerSecond: 500, namesPerSecond: 200 }

export type UdpLimits = {
  readonly isOn: boolean
  /** Ports of the sockets for clients; any if undefined. */
  readonly ports: { readonly first: number; readonly last: number } | undefined
  /** Of one customer, all associations and both directions together. */
  readonly packetsPerSecond: number
  readonly idleMs: number
  /** Remembered destinations. At the limit of the customer or the gateway, an association keeps 16. */
  readonly destinations: { readonly association: number; readonly customer: number; readonly gateway: number }
}

export const shippedUdp: UdpLimits = {
  isOn: true,
  ports: undefined,
  packetsPerSecond: 20_000,
  idleMs: 120_000,
  destinations: { association: 256, customer: 10_000, gateway: 100_000 },
}

/** One customer's maximum share of a gateway's connections, and of its UDP ports. */
const maxShare = 0.25

export const shareOf = (all: number): number => Math.max(1, Math.floor(all * maxShare))

export const tunnelsWithin = (wanted: number, connections: number): number => Math.min(wanted, shareOf(connections))

/** Counts what each name has taken. */
export type NameCounts = {
  of(name: string): number
  /** Returns the new count. */
  take(name: string): number
  release(name: string, count?: number): void
  /** Of all names. */
  readonly total: number
}

export class SlotCounts implements NameCounts {
  private readonly taken = new Map<string, number>()
  total = 0

  of(name: string): number {
    return this.taken.get(name) ?? 0
  }

  take(name: string): number {
    const count = this.of(name) + 1
    this.taken.set(name, count)
    this.total += 1
    return count
  }

  release(name: string, count = 1): void {
    const left = this.of(name) - count
    this.total -= count
    if (left > 0) this.taken.set(name, left)
    else this.taken.delete(name)
  }
}

/** Per customer; the burst is two seconds' worth. */
export const rateOf = (perSecond: number): TokenBucketRate => ({ perSecond, burst: perSecond * 2 })

/** UDP datagrams; the burst is a quarter of a second's worth. */
export const packetRateOf = (perSecond: number): TokenBucketRate => ({ perSecond, burst: Math.max(1, perSecond / 4) })

export type TunnelLimits = {
  /** Counts a tunnel under both names or under none. `max` is the sub-user's own limit. */
  enter(owner: string, key: string, max: number | null): 'too_many_tunnels' | 'too_many_new' | undefined
  /** Whether an open association may reach one more destination: it counts as a new connection. */
  reachAnother(owner: string): boolean
  leave(owner: string, key: string): void
}

/** Counts open tunnels per customer and per sub-user. */
export function createTunnelLimits(limits: CustomerLimits, clock: Clock): TunnelLimits {
  const open = new SlotCounts()
  const opening = createTokenBuckets(rateOf(limits.newPerSecond), clock)

  return {
    enter(owner, key, max) {
      if (open.of(owner) >= limits.tunnels) return 'too_many_tunnels'
      if (max !== null && open.of(key) >= max) return 'too_many_tunnels'
      if (!opening.take(owner)) return 'too_many_new'
      open.take(owner)
      open.take(key)
      return undefined
    },

    reachAnother: (owner) => opening.take(owner),

    leave(owner, key) {
      open.release(owner)
      open.release(key)
    },
  }
}

/** Client socket, origin socket, and a duplicate for delivery tracking. */
const filesOfConnection = 3
const maxHandshakes = 2048
/** For the shop, the journal, DNS, and connections that only get `gateway_full`. */
const reserveShare = 0.1
const minReserve = 64
const minConnections = 8
/** Each customer port is an open file. */
const portShare = 0.1
const minPorts = 8

/** Connections and customer ports that fit into the limit of open files. */
export function roomWithin(wanted: number, files: number, isTls = false) {
  if (!Number.isFinite(files)) return { connections: wanted, ports: Number.POSITIVE_INFINITY }
  const reserve = Math.max(minReserve, Math.ceil(files * reserveShare))
  const ports = Math.max(minPorts, Math.floor(files * portShare))
  const handshakes = isTls ? maxHandshakes : 0
  const left = files - reserve - ports - Math.min(handshakes, files * reserveShare)
  const fitting = Math.floor(left / filesOfConnection)
  return { connections: Math.min(wanted, Math.max(minConnections, fitting)), ports }
}

/** The smallest file limit for so many connections. */
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
