import { readAddressCached } from '../../../core/address.ts'
import { LinkedQueue, type LinkedQueueItem } from '../../../core/linked-queue.ts'
import { classify } from '../../../core/reserved.ts'
import type { Clock } from '../../../core/time.ts'
import type { Policy } from './policy.ts'

/** Connections beyond the limit that still get a `gateway_full` answer; further ones are closed. */
const maxToBeTold = 500
/** Connections of one network that may be in a handshake or idle between requests. */
const maxFromOneNetwork = 2000
const minShare = 8
/** A new connection from a network with few connections is not evicted within this time. */
const graceMs = 1000
/** Bounds of the search for an eviction candidate. */
const maxNetworks = 256
const maxOfNetwork = 16

/** A client connection that is not a tunnel. */
export type WaitingClient = {
  readonly source: string
  readonly cameAt: number
  /** In a handshake or idle between requests. */
  readonly isWaiting: boolean
  /** It has never been authenticated. */
  readonly isUnauthenticated: boolean
  spare(): void
}

/**
 * Limits connections before authentication. When full, evicts waiting connections, unauthenticated first, from the
 * network with the most; tunnels are never evicted.
 */
export function createArrivals<T extends WaitingClient & LinkedQueueItem<T>>(deps: {
  policy: () => Policy
  clock: Clock
  connections: number
  /** Closed connections whose descriptors are still open. */
  lingering: () => number
}) {
  const waiting = new Map<string, LinkedQueue<T>>()
  const share = (part: number, max: number): number => Math.min(max, Math.max(minShare, Math.ceil(part)))
  const toBeTold = share(deps.connections / 20, maxToBeTold)
  const fromOneNetwork = share(deps.connections / 2, maxFromOneNetwork)
  let open = 0
  let spared = 0
  let turnedAway = 0

  const inUse = (): number => open + deps.lingering()

  /** Eviction candidate within a network: unauthenticated first, oldest first. */
  function findSpare(clients: LinkedQueue<T>, isCrowd: boolean): T | undefined {
    let resting: T | undefined
    let looked = 0
    for (let client = clients.first; client; client = client.behind) {
      if (client.isWaiting && !client.isUnauthenticated) resting ??= client
      else if (client.isWaiting && (isCrowd || deps.clock() - client.cameAt >= graceMs)) return client
      looked += 1
      if (looked === maxOfNetwork) break
    }
    return resting
  }

  /** Eviction candidate overall: unauthenticated first, from the largest network. */
  function findSpareOfAll(): T | undefined {
    let found: { readonly spare: T; readonly size: number } | undefined
    let looked = 0
    for (const clients of waiting.values()) {
      const spare = findSpare(clients, clients.size > minShare)
      const isBetter = !found || (found.spare.isUnauthenticated ? clients.size > found.size : spare?.isUnauthenticated)
      if (spare && isBetter && !(found?.spare.isUnauthenticated && !spare.isUnauthenticated))
        found = { spare, size: clients.size }
      looked += 1
      if (looked === maxNetworks) break
    }
    return found?.spare
  }

  function close(spare: T | undefined): boolean {
    if (!spare) return false
    spared += 1
    spare.spare()
    return true
  }

  function mayEnter(client: T): boolean {
    if (!mayCome(client.source, deps.policy())) return false
    const network = waiting.get(networkOf(client.source))
    if (network && network.size >= fromOneNetwork && !close(findSpare(network, true))) return false
    return inUse() <= deps.connections + toBeTold || close(findSpareOfAll())
  }

  return {
    opened: (): void => void (open += 1),
    closed: (): void => void (open -= 1),
    get open(): number {
      return open
    },
    get isFull(): boolean {
      return inUse() > deps.connections
    },
    /** Evicts one waiting connection. False if there is none. */
    makeRoom: (): boolean => close(findSpareOfAll()),
    /** Totals: evicted connections and rejected newcomers. */
    get pressure(): { readonly spared: number; readonly turnedAway: number } {
      return { spared, turnedAway }
    },

    enter(client: T): boolean {
      if (!mayEnter(client)) {
        turnedAway += 1
        return false
      }
      const network = networkOf(client.source)
      const clients = waiting.get(network) ?? new LinkedQueue<T>()
      clients.join(client)
      waiting.set(network, clients)
      return true
    },

    /** The connection closed or became a tunnel. */
    leave(client: T): void {
      const network = networkOf(client.source)
      const clients = waiting.get(network)
      clients?.leave(client)
      if (clients?.size === 0) waiting.delete(network)
    },
  }
}

/** Rate-limit key: the IPv4 address, or the IPv6 /64. */
function networkOf(source: string): string {
  if (!source.includes(':')) return source
  const address = readAddressCached(source)
  return address ? Buffer.from(address.bytes.subarray(0, 8)).toString('hex') : source
}

/** A sandbox reaches loopback, so it accepts loopback clients only. */
function mayCome(source: string, policy: Policy): boolean {
  if (!policy.allowLoopback) return true
  const address = readAddressCached(source)
  return address !== undefined && classify(address) === 'loopback'
}
