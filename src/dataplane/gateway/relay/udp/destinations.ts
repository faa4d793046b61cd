import type { Address } from '../../../../core/address.ts'
import type { MaybePromise } from '../../../../core/maybe-promise.ts'
import type { Destinations } from '../../dial/destinations.ts'
import type { DatagramReceipt } from '../../metering/datagram-meter.ts'
import type { ConnectTarget } from '../../protocol/authority.ts'
import { isSameAddress } from './datagram-socket.ts'

/** Destinations of one association; the least recently used one is forgotten. */
export const maxDestinations = 256
/** Destinations of all associations together; from then on, an association with `fewDestinations` gets no more. */
export const maxTogether = 100_000
export const fewDestinations = 16
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

/** Shared by all associations. */
export type DestinationCount = { together: number }

type DestinationsDeps = {
  readonly count: DestinationCount
  readonly find: (target: ConnectTarget) => MaybePromise<Destinations>
  /** Whether one more destination may be reached now. */
  readonly mayReachAnother: () => boolean
  readonly receiptsOf: (host: string) => Pick<UdpDestination, 'sent' | 'received'>
  readonly pass: (destination: UdpDestination, payload: Uint8Array) => void
  readonly onFault: (fault: unknown) => void
}

/** Judges the destinations of one association, and tells which peers may answer. */
export class UdpDestinations {
  private readonly known = new Map<string, UdpDestination>()
  private readonly peers = new Map<number | string, UdpDestination>()
  private held = 0
  private heldBytes = 0
  private isClosed = false

  constructor(private readonly deps: DestinationsDeps) {}

  /** Passes a datagram to a destination that may be reached; drops it, or holds it while the name is resolved. */
  send(target: ConnectTarget, payload: Uint8Array, nowMs: number): void {
    const destination = this.findOrAdd(target, nowMs)
    if (!destination) return
    destination.usedAt = nowMs
    if (nowMs >= destination.judgedUntil && !destination.isJudging) this.judge(destination, nowMs)
    if (destination.address) this.deps.pass(destination, payload)
    else if (destination.isJudging) this.hold(destination, payload)
  }

  /** The destination with this address and port, if the client has sent to it. */
  findPeer(address: Address, port: number): UdpDestination | undefined {
    return this.peers.get(peerKey(address, port))
  }

  close(): void {
    this.isClosed = true
    this.deps.count.together -= this.known.size
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
    const max = this.deps.count.together >= maxTogether ? fewDestinations : maxDestinations
    if (this.known.size >= max) this.forgetOldest()
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
    this.deps.count.together += 1
    return destination
  }

  private forgetOldest(): void {
    let oldest: UdpDestination | undefined
    for (const each of this.known.values()) if (!oldest || each.usedAt < oldest.usedAt) oldest = each
    if (!oldest) return
    this.known.delete(oldest.key)
    this.deps.count.together -= 1
    this.setAddress(oldest, undefined)
    this.takeHeld(oldest)
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
    if (before) {
      const key = peerKey(before, target.port)
      if (this.peers.get(key) === destination) this.peers.delete(key)
    }
    destination.address = address
    if (address) this.peers.set(peerKey(address, target.port), destination)
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
