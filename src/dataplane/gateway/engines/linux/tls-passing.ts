import type { Clock } from '../../../../core/time.ts'
import { createTokenBuckets } from '../../../../core/token-buckets.ts'
import { prefixesOf } from '../../../tls/seats.ts'
import { loadOf, type ReactorPeer } from './peers.ts'

/** Addresses whose last reactor is remembered. */
const maxRemembered = 10_000
/** A reactor is not much busier than another while it has at most so many times its connections, and some more. */
const unevenness = { times: 1.5, more: 32 }
/** Clients of a reactor whose handshake has begun and that the front has not judged yet. */
export const maxUnjudged = 64
/** New ones per IPv4 address or IPv6 /48, half of what the front admits. */
const directPace = { perSecond: 200, burst: 32 }

/**
 * Chooses the reactor of each client over TLS, on the thread that accepts them. While the front has room
 * (`isDirect`), it passes clients to the reactors itself, and the front judges them within 25 ms: a client does not
 * wait for the main thread, and wakes it not for itself alone.
 */
export class TlsPassing {
  private readonly lastOf = new Map<string, number>()
  private readonly woken = new Set<ReactorPeer>()
  private readonly pace

  constructor(
    private readonly reactors: readonly ReactorPeer[],
    private readonly deps: {
      readonly ring: (bell: number) => void
      readonly random: () => number
      readonly now: Clock
      /** The reactor of an address's last connection, while it is not much busier: requests of XHTTP meet there. */
      readonly isSticky: boolean
    },
  ) {
    this.pace = createTokenBuckets(directPace, deps.now)
  }

  /** The place of the reactor among all; -1 if none serves. */
  choose(source: string): number {
    const drawn = this.draw()
    if (!this.deps.isSticky || this.reactors.length === 1 || drawn < 0) return drawn
    const last = this.lastOf.get(source) ?? -1
    const chosen = this.isFit(last, drawn) ? last : drawn
    this.lastOf.delete(source)
    this.lastOf.set(source, chosen)
    const [oldest] = this.lastOf.keys()
    if (this.lastOf.size > maxRemembered && oldest !== undefined) this.lastOf.delete(oldest)
    return chosen
  }

  /** False if the front must judge the client first. `write` fills the client's address. */
  pass(place: number, descriptor: number, source: string, write: (into: Int32Array, at: number) => void): boolean {
    const reactor = this.reactors[place]
    if (!reactor?.memory.isDirect || reactor.memory.unjudged >= maxUnjudged) return false
    if (!this.pace.take(source.includes(':') ? prefixesOf(source).network : source)) return false
    // Counted first: the front may learn of it at once.
    reactor.memory.notePassed(1)
    const isPassed = reactor.memory.addTlsArrival(descriptor, 0, write)
    if (isPassed) this.woken.add(reactor)
    else reactor.memory.notePassed(-1)
    return isPassed
  }

  /** Wakes reactors once for all clients of a turn. */
  flush(): void {
    for (const { memory, bell } of this.woken) if (memory.isAsleep) this.deps.ring(bell)
    this.woken.clear()
  }

  private isFit(last: number, drawn: number): boolean {
    const [one, other] = [this.reactors[last], this.reactors[drawn]]
    if (!one?.memory.isServing || !other) return false
    return tlsLoadOf(one) <= tlsLoadOf(other) * unevenness.times + unevenness.more
  }

  /** The less loaded of two drawn at random, as for plain connections. */
  private draw(): number {
    const serving = this.reactors.flatMap(({ memory }, place) => (memory.isServing ? [place] : []))
    const drawOne = (): number => serving[Math.floor(this.deps.random() * serving.length)] ?? -1
    const [one, other] = [drawOne(), drawOne()]
    const [first, second] = [this.reactors[one], this.reactors[other]]
    return first && second && tlsLoadOf(second) < tlsLoadOf(first) ? other : one
  }
}

const tlsLoadOf = (reactor: ReactorPeer): number => loadOf(reactor) + reactor.memory.shaking
