import { type Address, clientPrefixOf, networkOf, readAddress } from '../../core/address.ts'
import { LinkedQueue, type LinkedQueueItem } from '../../core/linked-queue.ts'
import type { Clock } from '../../core/time.ts'

/** An address is known for this long after an authenticated request. */
const knownMs = 3_600_000
const noteEveryMs = 60_000
/** Known addresses, least recent evicted first. */
const maxKnown = 50_000

/** The IPv4 address or IPv6 /64, and for IPv6 its /48. */
export type Prefixes = { readonly clientPrefix: string; readonly network: string }

/** Each thread that a connection passes asks for them. */
const cached = new Map<string, Prefixes>()
const maxCached = 2000

export function prefixesOf(source: string): Prefixes {
  const known = cached.get(source)
  if (known) return known
  const address = readAddress(source)
  const prefixes = address ? prefixesOfAddress(address) : { clientPrefix: source, network: source }
  if (cached.size >= maxCached) cached.clear()
  cached.set(source, prefixes)
  return prefixes
}

function prefixesOfAddress(address: Address): Prefixes {
  const clientPrefix = clientPrefixOf(address)
  return { clientPrefix, network: address.version === 6 ? networkOf(clientPrefix) : clientPrefix }
}

/** An open connection. */
export class Seat implements LinkedQueueItem<Seat> {
  before: Seat | undefined
  behind: Seat | undefined
  isKnown = false

  constructor(
    readonly prefixes: Prefixes,
    readonly close: () => void,
  ) {}
}

/** Connections of one network, least recently used first. */
class NetworkSeats extends LinkedQueue<Seat> implements LinkedQueueItem<NetworkSeats> {
  before: NetworkSeats | undefined
  behind: NetworkSeats | undefined
}

/** Connections by network in LRU order. All operations but `ofNetwork` take constant time. */
export class Ranking {
  size = 0
  private readonly networks = new Map<string, NetworkSeats>()
  /** Networks by number of connections, each list in LRU order. */
  private readonly ranks: LinkedQueue<NetworkSeats>[] = [new LinkedQueue()]

  add(seat: Seat): void {
    const { network } = seat.prefixes
    const line = this.networks.get(network) ?? new NetworkSeats()
    this.networks.set(network, line)
    line.join(seat)
    this.rank(line, line.size - 1)
    this.size += 1
  }

  remove(seat: Seat): void {
    const line = this.networks.get(seat.prefixes.network)
    if (!line) return
    line.leave(seat)
    if (line.size === 0) this.networks.delete(seat.prefixes.network)
    this.rank(line, line.size + 1)
    this.size -= 1
  }

  touch(seat: Seat): void {
    const line = this.networks.get(seat.prefixes.network)
    if (!line) return
    line.leave(seat)
    line.join(seat)
    this.rank(line, line.size)
  }

  /** The LRU connection of the largest network. */
  findSpare(): Seat | undefined {
    return this.ranks.at(-1)?.first?.first
  }

  countOf(network: string): number {
    return this.networks.get(network)?.size ?? 0
  }

  ofNetwork(network: string): readonly Seat[] {
    const seats: Seat[] = []
    for (let seat = this.networks.get(network)?.first; seat; seat = seat.behind) seats.push(seat)
    return seats
  }

  /** Moves a network to the rank of its size. */
  private rank(line: NetworkSeats, sizeBefore: number): void {
    this.ranks[sizeBefore]?.leave(line)
    if (line.size > 0) {
      const rank = this.ranks[line.size] ?? new LinkedQueue()
      this.ranks[line.size] = rank
      rank.join(line)
    }
    if (this.ranks.length > 1 && this.ranks.at(-1)?.size === 0) this.ranks.pop()
  }
}

/**
 * Eviction policy of a listener: the LRU connection of the largest network. Half of the places are for addresses known
 * from authenticated requests; the group with more than its half is evicted from.
 */
export class Seats {
  private readonly known = new Ranking()
  private readonly others = new Ranking()
  private readonly lastKnownAt = new Map<string, number>()

  constructor(
    private readonly max: number,
    private readonly now: Clock,
  ) {}

  isKnown({ clientPrefix }: Prefixes): boolean {
    const at = this.lastKnownAt.get(clientPrefix)
    return at !== undefined && this.now() - at < knownMs
  }

  add(seat: Seat): void {
    seat.isKnown = this.isKnown(seat.prefixes)
    this.rankingOf(seat).add(seat)
  }

  remove(seat: Seat): void {
    this.rankingOf(seat).remove(seat)
  }

  touch(seat: Seat): void {
    this.rankingOf(seat).touch(seat)
  }

  welcome(address: Address): void {
    const prefixes = prefixesOfAddress(address)
    const { clientPrefix, network } = prefixes
    const wasKnown = this.isKnown(prefixes)
    if (wasKnown && this.now() - (this.lastKnownAt.get(clientPrefix) ?? 0) < noteEveryMs) return
    this.lastKnownAt.delete(clientPrefix)
    this.lastKnownAt.set(clientPrefix, this.now())
    const excess = Math.max(0, this.lastKnownAt.size - maxKnown)
    for (const oldest of this.lastKnownAt.keys().take(excess)) this.lastKnownAt.delete(oldest)
    if (wasKnown) return
    for (const seat of this.others.ofNetwork(network)) {
      if (seat.prefixes.clientPrefix !== clientPrefix) continue
      this.others.remove(seat)
      this.add(seat)
    }
  }

  makeRoom(): void {
    const crowd = this.known.size > this.max / 2 ? this.known : this.others
    const spare = crowd.findSpare() ?? this.known.findSpare()
    spare?.close()
  }

  private rankingOf(seat: Seat): Ranking {
    return seat.isKnown ? this.known : this.others
  }
}

/** A handshake that took longer may be evicted. */
const graceMs = 2000
/** The same for a client whose ClientHello has not arrived: honest ones send it with the end of the TCP handshake. */
const silentGraceMs = 100
/** Handshakes that are looked at, oldest first. */
const maxLooks = 16

/** `expire` ends it after a timeout. */
export class Handshake implements LinkedQueueItem<Handshake> {
  before: Handshake | undefined
  behind: Handshake | undefined

  constructor(
    readonly seat: Seat,
    readonly beganAt: number,
    readonly expire: () => void,
    /** No ClientHello so far; false if unknown. */
    readonly isSilent: () => boolean = () => false,
  ) {}
}

/** Handshakes under way, by age and by network, in constant time. */
export class Handshakes {
  private readonly byAge = new LinkedQueue<Handshake>()
  private readonly byNetwork = new Ranking()

  get size(): number {
    return this.byAge.size
  }

  get oldest(): Handshake | undefined {
    return this.byAge.first
  }

  add(one: Handshake): void {
    this.byAge.join(one)
    this.byNetwork.add(one.seat)
  }

  remove(one: Handshake): void {
    this.byAge.leave(one)
    this.byNetwork.remove(one.seat)
  }

  /** Evicts the oldest of the largest network, else one of the oldest of all after its grace period. */
  findSpare({ network }: Prefixes, nowMs: number): Seat | undefined {
    const crowded = this.byNetwork.findSpare()
    const max = crowded ? this.byNetwork.countOf(crowded.prefixes.network) : 0
    if (max > this.byNetwork.countOf(network) + 1) return crowded
    let { oldest } = this
    for (let looks = 0; oldest && looks < maxLooks; looks += 1, oldest = oldest.behind) {
      const ageMs = nowMs - oldest.beganAt
      if (ageMs >= graceMs || (ageMs >= silentGraceMs && oldest.isSilent())) return oldest.seat
    }
    return undefined
  }
}
