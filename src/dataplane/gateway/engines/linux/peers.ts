import type { Eviction, OtherArrivals } from '../../access/arrivals.ts'
import { ignoringOwner, Side, type SideAround } from '../../sides/side.ts'
import { type Accepting, Channel } from './channel.ts'
import type { Reactor } from './reactor.ts'
import type { SharedMemory } from './shared-memory.ts'

/** A reactor of the gateway as the others see it. */
export type ReactorPeer = { readonly memory: SharedMemory; readonly bell: number }

/** Connections that a reactor has, with those on their way to it. */
export const loadOf = ({ memory }: Pick<ReactorPeer, 'memory'>): number => memory.inUse + memory.arrivalCount

/**
 * The other reactors of the gateway. Each connection goes to the less loaded of two reactors drawn at random: that is
 * nearly even for long tunnels too, and needs no look at all reactors.
 */
export class Peers implements OtherArrivals {
  private readonly woken = new Set<ReactorPeer>()

  constructor(
    private readonly all: readonly ReactorPeer[],
    private readonly self: ReactorPeer,
    private readonly ring: (bell: number) => void,
    private readonly random: () => number,
  ) {}

  /** Open and lingering connections of the others. */
  count(): number {
    let sum = 0
    for (const peer of this.all) if (peer !== this.self) sum += peer.memory.inUse
    return sum
  }

  /** Asks the reactor with the most waiting connections to evict one. */
  evict(which: Eviction, cameBefore = Number.POSITIVE_INFINITY): boolean {
    let best: ReactorPeer | undefined
    let most = 0
    for (const peer of this.all) {
      const { memory } = peer
      if (peer === this.self || !memory.isServing || memory.oldestAt > cameBefore) continue
      // A crowd may have come in a turn that has not ended, so its connections are in no status yet.
      const { connections, settling } = memory.status
      const waiting = (which === 'crowd' ? memory.inUse : connections + settling) - memory.evictions
      if (waiting > most) [best, most] = [peer, waiting]
    }
    if (!best) return false
    best.memory.wantEviction(which)
    this.wake(best)
    return true
  }

  /** The reactor for a new connection. */
  choose(): ReactorPeer {
    const [one, other] = [this.draw(), this.draw()]
    return loadOf(other) < loadOf(one) ? other : one
  }

  /** Wakes it at the next flush(), once for all connections passed to it. */
  wakeLater(peer: ReactorPeer): void {
    this.woken.add(peer)
  }

  flush(): void {
    if (this.woken.size === 0) return
    for (const peer of this.woken) this.wake(peer)
    this.woken.clear()
  }

  private wake(peer: ReactorPeer): void {
    if (peer.memory.isAsleep) this.ring(peer.bell)
  }

  /** A reactor that serves; this one if the drawn one does not. */
  private draw(): ReactorPeer {
    const drawn = this.all[Math.floor(this.random() * this.all.length)]
    return drawn?.memory.isServing ? drawn : this.self
  }
}

type Core = { accepted(side: Side, source: string): void; departed(): void }

/** Begins accepted connections here, or passes them on. */
export function createAccepting(
  reactor: Reactor,
  around: SideAround,
  core: Core,
  peers: Peers | undefined,
  self: ReactorPeer,
): Accepting {
  const { kernel, descriptors } = reactor
  const onGone = (): void => core.departed()
  return {
    passOn(descriptor, port) {
      const peer = peers?.choose()
      // No reactor owns the descriptor meanwhile: closing it twice would close another connection.
      if (!peer || peer === self || !peer.memory.addArrival(descriptor, port, kernel.copyAccepted)) return false
      peers?.wakeLater(peer)
      return true
    },
    begin(descriptor, port, source) {
      if (!descriptors.own(descriptor)) return
      const side = new Side(ignoringOwner, around)
      const channel = new Channel(reactor, descriptor, side, port, onGone)
      side.attach(channel)
      core.accepted(side, source)
      if (!side.isClosed) channel.watch()
    },
    flush: () => peers?.flush(),
  }
}
