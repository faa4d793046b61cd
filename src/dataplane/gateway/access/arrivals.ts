import { readAddressCached } from '../../../core/address.ts'
import { LinkedQueue, type LinkedQueueItem } from '../../../core/linked-queue.ts'
import { classify } from '../../../core/reserved.ts'
import type { Clock } from '../../../core/time.ts'
import { type NameCounts, SlotCounts } from './limits.ts'
import type { Policy } from './policy.ts'

/** Connections beyond the limit that still get a `gateway_full` answer; further ones are closed. */
const maxToBeRefused = 500
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
  readonly isUnauthenticated: boolean
  evict(): void
}

/** The connections of a network that wait, here and at the gateway's other reactors. */
type Network<T extends LinkedQueueItem<T>> = { readonly clients: LinkedQueue<T>; size: number }

/** Other reactors of the same gateway. */
export type OtherArrivals = {
  /** Connections that are open there, with lingering ones. */
  count(): number
  /**
   * Asks one of them to evict a waiting connection: any, one of a network that has too many, or one that came before an
   * instant. False if none seems to have one.
   */
  evict(which: Eviction, cameBefore?: number): boolean
}

/** Which connection another reactor evicts. */
export type Eviction = 'any' | 'crowd'

const noOthers: OtherArrivals = { count: () => 0, evict: () => false }

/**
 * Limits connections before authentication. When full, evicts waiting connections, unauthenticated first, from the
 * network with the most; tunnels are never evicted.
 */
export class Arrivals<T extends WaitingClient & LinkedQueueItem<T>> {
  private readonly waiting = new Map<string, Network<T>>()
  private readonly sizes: NameCounts
  private readonly others: OtherArrivals
  private readonly maxRefused: number
  private readonly maxPerNetwork: number
  /** Open connections. */
  open = 0
  /** Totals: evicted connections and rejected newcomers. */
  readonly pressure = { spared: 0, turnedAway: 0 }

  constructor(
    private readonly deps: {
      policy: () => Policy
      clock: Clock
      connections: number
      /** Closed connections whose descriptors are still open. */
      lingering: () => number
      /** Waiting connections of each network at all reactors of the gateway. */
      sizes?: NameCounts | undefined
      others?: OtherArrivals | undefined
    },
  ) {
    this.sizes = deps.sizes ?? new SlotCounts()
    this.others = deps.others ?? noOthers
    this.maxRefused = shareOf(deps.connections / 20, maxToBeRefused)
    this.maxPerNetwork = shareOf(deps.connections / 2, maxFromOneNetwork)
  }

  get isFull(): boolean {
    return this.inUse() > this.deps.connections
  }

  /** Evicts one waiting connection. False if there is none. */
  makeRoom(): boolean {
    const found = this.findCandidateOfAll()
    // A crowd is on all reactors alike; of other clients, the oldest goes.
    if (found && found.size <= minShare && this.others.evict('any', found.spare.cameAt)) return true
    // Another reactor does not evict a connection within its grace, and would make no room.
    return this.evict(found?.spare) || this.others.evict('any', this.deps.clock() - graceMs)
  }

  /** Evicts a connection that waits at this reactor. */
  makeOwnRoom(which: Eviction = 'any'): boolean {
    if (which === 'any') return this.evict(this.findCandidateOfAll()?.spare)
    let looked = 0
    for (const [name, { clients }] of this.waiting) {
      if (this.sizes.of(name) >= this.maxPerNetwork && this.evict(this.findCandidate(clients, true))) return true
      looked += 1
      if (looked === maxNetworks) break
    }
    return false
  }

  /** When the oldest waiting connection came, about. */
  get oldestAt(): number {
    for (const { clients } of this.waiting.values()) if (clients.first) return clients.first.cameAt
    return Number.POSITIVE_INFINITY
  }

  enter(client: T): boolean {
    if (!this.mayEnter(client)) {
      this.pressure.turnedAway += 1
      return false
    }
    const name = networkOf(client.source)
    const network = this.waiting.get(name) ?? { clients: new LinkedQueue<T>(), size: 0 }
    network.clients.join(client)
    network.size = this.sizes.take(name)
    this.waiting.set(name, network)
    return true
  }

  /** The connection closed or became a tunnel. */
  leave(client: T): void {
    const name = networkOf(client.source)
    const network = this.waiting.get(name)
    if (!network) return
    const before = network.clients.size
    network.clients.leave(client)
    if (network.clients.size === before) return
    network.size -= 1
    this.sizes.release(name)
    if (network.clients.size === 0) this.waiting.delete(name)
  }

  private inUse(): number {
    return this.open + this.deps.lingering() + this.others.count()
  }

  /** Eviction candidate within a network: unauthenticated first, oldest first. */
  private findCandidate(clients: LinkedQueue<T>, isCrowd: boolean): T | undefined {
    let resting: T | undefined
    let looked = 0
    for (let client = clients.first; client; client = client.behind) {
      if (client.isWaiting && !client.isUnauthenticated) resting ??= client
      else if (client.isWaiting && (isCrowd || this.deps.clock() - client.cameAt >= graceMs)) return client
      looked += 1
      if (looked === maxOfNetwork) break
    }
    return resting
  }

  /** Eviction candidate overall: unauthenticated first, from the largest network. */
  private findCandidateOfAll(): { readonly spare: T; readonly size: number } | undefined {
    let found: { readonly spare: T; readonly size: number } | undefined
    let looked = 0
    for (const { clients, size } of this.waiting.values()) {
      const spare = this.findCandidate(clients, size > minShare)
      const isBetter = !found || (found.spare.isUnauthenticated ? size > found.size : spare?.isUnauthenticated)
      if (spare && isBetter && !(found?.spare.isUnauthenticated && !spare.isUnauthenticated)) found = { spare, size }
      looked += 1
      if (looked === maxNetworks) break
    }
    return found
  }

  private evict(client: T | undefined): boolean {
    if (!client) return false
    this.pressure.spared += 1
    client.evict()
    return true
  }

  private mayEnter(client: T): boolean {
    if (!mayCome(client.source, this.deps.policy())) return false
    const name = networkOf(client.source)
    const network = this.waiting.get(name)
    if (this.sizes.of(name) >= this.maxPerNetwork) {
      const spare = network && this.findCandidate(network.clients, true)
      if (!this.evict(spare) && !this.others.evict('crowd')) return false
    }
    // Another reactor would evict later, or not at all.
    return this.inUse() <= this.deps.connections + this.maxRefused || this.makeOwnRoom()
  }
}

const shareOf = (part: number, max: number): number => Math.min(max, Math.max(minShare, Math.ceil(part)))

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
