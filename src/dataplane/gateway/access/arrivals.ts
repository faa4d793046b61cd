import { readAddressCached } from '../../../core/address.ts'
import { LinkedQueue, type LinkedQueueItem } from '../../../core/linked-queue.ts'
import { classify } from '../../../core/reserved.ts'
import type { Clock } from '../../../core/time.ts'
import type { Policy } from './policy.ts'

/** Connections beyond the limit that still get a `gateway_full` answer; further ones are closed. */
const mostToBeTold = 500
/** Connections of one network that may be in a handshake or idle between requests. */
const mostFromOneNetwork = 2000
const leastShare = 8
/** A new connection from a network with few connections is not evicted within this time. */
const graceMs = 1000
/** Bounds of the search for an eviction candidate. */
const mostNetworks = 256
const mostOfNetwork = 16

/** A client connection that is not a tunnel. */
export type Talker = {
  readonly source: string
  readonly cameAt: number
  /** In a handshake or idle between requests. */
  readonly isWaiting: boolean
  /** It has never been authenticated. */
  readonly isStranger: boolean
  spare(): void
}

/**
 * Limits connections before authentication. When full, evicts waiting connections, unauthenticated first, from the
 * network with the most; tunnels are never evicted.
 */
export function createArrivals<T extends Talker & LinkedQueueItem<T>>(deps: {
  policy: () => Policy
  clock: Clock
  connections: number
  /** Closed connections whose descriptors are still open. */
  lingering: () => number
}) {
  const talking = new Map<string, LinkedQueue<T>>()
  const share = (part: number, most: number): number => Math.min(most, Math.max(leastShare, Math.ceil(part)))
  const toBeTold = share(deps.connections / 20, mostToBeTold)
  const fromOneNetwork = share(deps.connections / 2, mostFromOneNetwork)
  let open = 0
  let spared = 0
  let turnedAway = 0

  const inUse = (): number => open + deps.lingering()

  /** Eviction candidate within a network: unauthenticated first, oldest first. */
  function findSpare(talkers: LinkedQueue<T>, isCrowd: boolean): T | undefined {
    let resting: T | undefined
    let looked = 0
    for (let talker = talkers.first; talker; talker = talker.behind) {
      if (talker.isWaiting && !talker.isStranger) resting ??= talker
      else if (talker.isWaiting && (isCrowd || deps.clock() - talker.cameAt >= graceMs)) return talker
      looked += 1
      if (looked === mostOfNetwork) break
    }
    return resting
  }

  /** Eviction candidate overall: unauthenticated first, from the largest network. */
  function findSpareOfAll(): T | undefined {
    let found: { readonly spare: T; readonly size: number } | undefined
    let looked = 0
    for (const talkers of talking.values()) {
      const spare = findSpare(talkers, talkers.size > leastShare)
      const isBetter = !found || (found.spare.isStranger ? talkers.size > found.size : spare?.isStranger)
      if (spare && isBetter && !(found?.spare.isStranger && !spare.isStranger)) found = { spare, size: talkers.size }
      looked += 1
      if (looked === mostNetworks) break
    }
    return found?.spare
  }

  function close(spare: T | undefined): boolean {
    if (!spare) return false
    spared += 1
    spare.spare()
    return true
  }

  function mayEnter(talker: T): boolean {
    if (!mayCome(talker.source, deps.policy())) return false
    const network = talking.get(networkOf(talker.source))
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

    enter(talker: T): boolean {
      if (!mayEnter(talker)) {
        turnedAway += 1
        return false
      }
      const network = networkOf(talker.source)
      const talkers = talking.get(network) ?? new LinkedQueue<T>()
      talkers.join(talker)
      talking.set(network, talkers)
      return true
    },

    /** The connection closed or became a tunnel. */
    leave(talker: T): void {
      const network = networkOf(talker.source)
      const talkers = talking.get(network)
      talkers?.leave(talker)
      if (talkers?.size === 0) talking.delete(network)
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
