import type { Address } from '../../../../core/address.ts'
import type { MaybePromise } from '../../../../core/maybe-promise.ts'
import type { NameCounts, UdpLimits } from '../../access/limits.ts'
import type { Destinations } from '../../dial/destinations.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import { isSameAddress } from './datagram-socket.ts'

/** Destinations that an association keeps at the limit of its customer or of the gateway. */
export const fewDestinations = 16
/** Pause between two searches for unused destinations. */
const sweepMs = 30_000
/** Datagrams of one association that wait for a name. */
const maxHeld = 16
const maxHeldBytes = 128 * 1024
/** How long a judged destination is used before it is judged again. */
const judgedMs = 30_000
/** The same for a refused one, which may be a failure of the resolver. */
const refusedMs = 5000

/** A destination that the client has sent to. */
export type UdpDestination = {
  readonly key: string
  readonly target: ConnectTarget
  /** Set if datagrams may pass. */
  address: Address | undefined
  judgedUntil: number
  usedAt: number
  isJudging: boolean
  /** Copies of datagrams that wait for the name. */
  held: readonly Uint8Array[]
  readonly sent: DatagramReceipt
  readonly received: DatagramReceipt
}

type DestinationsDeps = {
  /** Destinations of each customer, shared by all associations. */
  readonly counts: NameCounts
  readonly owner: string
  readonly limits: Pick<UdpLimits, 'destinations' | 'idleMs'>
  readonly find: (target: ConnectTarget) => MaybePromise<Destinations>
  /** Whether one more destination may be reached now. */
  readonly mayReachAnother: () => boolean
  readonly receiptsOf: (host: string) => Pick<UdpDestination, 'sent' | 'received'>
  readonly pass: (destination: UdpDestination, payload: Uint8Array) => void
  readonly onFault: (fault: unknown) => void
}

/**
 * Judges the destinations of one association, and tells which peers may answer. At its limit the association forgets
 * the least recently used one. It forgets any that was unused for the idle time.
 */
export class UdpDestinations {
  private readonly known = new Map<string, UdpDestination>()
  private readonly peers = new Map<number | string, UdpDestination>()
  private held = 0
  private heldBytes = 0
  private isClosed = false
  private sweepAt = 0

  constructor(private readonly deps: DestinationsDeps) {}

  /** Passes a datagram to a destination that may be reached; drops it, or holds it while the name is resolved. */
  send(target: ConnectTarget, payload: Uint8Array, nowMs: number): void {
    this.forgetUnused(nowMs)
    const destination = this.findOrAdd(target, nowMs)
    if (!destination) return
    destination.usedAt = nowMs
    if (nowMs >= destination.judgedUntil && !destination.isJudging) this.judge(destination, nowMs)
    if (destination.address) this.deps.pass(destination, payload)
    else if (destination.isJudging) this.hold(destination, payload)
  }

  /** The destination with this address and port, if the client has sent to it. */
  findPeer(address: Address, port: number, nowMs: number): UdpDestination | undefined {
    this.forgetUnused(nowMs)
    return this.peers.get(peerKey(address, port))
  }

  close(): void {
    this.isClosed = true
    this.deps.counts.release(this.deps.owner, this.known.size)
    this.known.clear()
    this.peers.clear()
  }

  get size(): number {
    return this.known.size
  }

  private findOrAdd(target: ConnectTarget, nowMs: number): UdpDestination | undefined {
    const key = `${target.host} ${target.port}`
    const known = this.known.get(key)
    if (known) return known
    if (!this.deps.mayReachAnother()) return undefined
    if (this.known.size >= this.max) this.forgetOldest()
    const destination: UdpDestination = {
      key,
      target,
      address: undefined,
      judgedUntil: 0,
      usedAt: nowMs,
      isJudging: false,
      held: [],
      ...this.deps.receiptsOf(target.host),
    }
    this.known.set(key, destination)
    this.deps.counts.take(this.deps.owner)
    return destination
  }

  private get max(): number {
    const { counts, owner, limits } = this.deps
    const { association, customer, gateway } = limits.destinations
    return counts.of(owner) >= customer || counts.total >= gateway ? fewDestinations : association
  }

  private forgetUnused(nowMs: number): void {
    if (nowMs < this.sweepAt) return
    this.sweepAt = nowMs + sweepMs
    for (const each of this.known.values()) if (nowMs - each.usedAt >= this.deps.limits.idleMs) this.forget(each)
  }

  private forgetOldest(): void {
    let oldest: UdpDestination | undefined
    for (const each of this.known.values()) if (!oldest || each.usedAt < oldest.usedAt) oldest = each
    if (oldest) this.forget(oldest)
  }

  private forget(destination: UdpDestination): void {
    this.known.delete(destination.key)
    this.deps.counts.release(this.deps.owner)
    this.setAddress(destination, undefined)
    this.takeHeld(destination)
  }

  /** A literal is judged at once. A known name keeps its address meanwhile. */
  private judge(destination: UdpDestination, nowMs: number): void {
    const found = this.deps.find(destination.target)
    if (!(found instanceof Promise)) {
      this.settle(destination, found, nowMs)
      return
    }
    destination.isJudging = true
    found
      .catch((fault: unknown): Destinations => {
        this.deps.onFault(fault)
        return { refusal: 'resolver_failed' }
      })
      .then((known) => this.settle(destination, known, nowMs))
      .catch(this.deps.onFault)
  }

  private settle(destination: UdpDestination, found: Destinations, nowMs: number): void {
    destination.isJudging = false
    if (this.isClosed || this.known.get(destination.key) !== destination) return
    const isRefused = 'refusal' in found
    destination.judgedUntil = nowMs + (isRefused ? refusedMs : judgedMs)
    this.setAddress(destination, isRefused ? undefined : chooseAddress(destination.address, found.addresses))
    for (const payload of this.takeHeld(destination)) {
      if (destination.address && !this.isClosed) this.deps.pass(destination, payload)
    }
  }

  private setAddress(destination: UdpDestination, address: Address | undefined): void {
    const { address: before, target } = destination
    destination.address = address
    if (before) {
      const key = peerKey(before, target.port)
      if (this.peers.get(key) === destination) this.peers.delete(key)
      const same = address ? undefined : this.findSame(before, target.port)
      if (same) this.peers.set(key, same)
    }
    if (address) this.peers.set(peerKey(address, target.port), destination)
  }

  /** A name and a literal, or two names, may have the same address and port. */
  private findSame(address: Address, port: number): UdpDestination | undefined {
    for (const each of this.known.values())
      if (each.target.port === port && each.address && isSameAddress(each.address, address)) return each
    return undefined
  }

  private hold(destination: UdpDestination, payload: Uint8Array): void {
    if (this.held >= maxHeld || this.heldBytes + payload.length > maxHeldBytes) return
    this.held += 1
    this.heldBytes += payload.length
    destination.held = [...destination.held, new Uint8Array(payload)]
  }

  private takeHeld(destination: UdpDestination): readonly Uint8Array[] {
    const { held } = destination
    destination.held = []
    for (const payload of held) {
      this.held -= 1
      this.heldBytes -= payload.length
    }
    return held
  }
}

/** The same address while the name still has it, so that a flow keeps its peer. */
function chooseAddress(before: Address | undefined, found: readonly Address[]): Address | undefined {
  return found.find((each) => before && isSameAddress(each, before)) ?? found[0]
}

/** An exact number for IPv4. */
function peerKey({ version, bytes }: Address, port: number): number | string {
  if (version === 6) return `${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')} ${port}`
  let value = 0
  for (const byte of bytes) value = value * 256 + byte
  return value * 65_536 + port
}
