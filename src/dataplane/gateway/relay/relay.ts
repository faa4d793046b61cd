import type { Side, SideOwner } from '../sides/side.ts'
import { lookAgainBytes, maxUnsentBytes, provenBytes, type Sockets, shyUnsentBytes } from '../sides/sockets.ts'
import type { ProxyTunnel } from './tunnel.ts'

/**
 * Limits the receive buffer of one side, and the unsent bytes for the other, until the other has proved that it reads:
 * a client that opens no window makes an origin send at most 256 KiB. Afterwards the kernel may enlarge both, for
 * throughput on long paths.
 */
class Valve {
  private nextCheckBytes: number

  constructor(
    private readonly sockets: Sockets,
    private readonly from: Side,
    private readonly to: Side,
    /** For a client: whether it pays by the byte. */
    private readonly limits: 'none' | 'metered' | 'unmetered',
  ) {
    this.nextCheckBytes = to.written + provenBytes
    sockets.narrow(from.descriptor)
    // A shared connection may have proved it already.
    if (limits === 'none' || to.isShared || (sockets.acceptsShy && !to.hasUnsentRoom)) return
    sockets.limitUnsent(to.descriptor, shyUnsentBytes)
    to.hasUnsentRoom = false
  }

  /** Call after each write. */
  passed(): void {
    const { written, descriptor } = this.to
    if (written < this.nextCheckBytes) return
    const isProven = (this.sockets.acknowledged(descriptor) ?? 0) >= provenBytes
    this.nextCheckBytes = isProven ? Number.POSITIVE_INFINITY : written + lookAgainBytes
    if (!isProven) return
    this.sockets.widen(this.from.descriptor)
    // Streams of one connection may be of several logins.
    const isLimited = this.limits === 'metered' || this.to.isShared
    if (this.limits === 'none') return
    this.sockets.limitUnsent(descriptor, isLimited ? maxUnsentBytes : undefined)
    this.to.hasUnsentRoom = true
  }
}

const limitsOf = ({ meter }: ProxyTunnel): 'metered' | 'unmetered' =>
  meter.allowance.subject.kind === 'subuser' ? 'metered' : 'unmetered'

/** Bytes to write, or an amount to charge, that wait for allowance. */
type Parked = { bytes: Uint8Array | undefined; due: number; readonly onPassed: (() => void) | undefined }

/** Shared by pipes without parked bytes, to keep idle tunnels small. */
const nothing: readonly Parked[] = []

type PipeOwner = {
  onExhausted(): void
  /** Everything that waited has passed. */
  onCleared?(): void
  /** Default true. */
  wantsMore?(): boolean
}

/**
 * One direction of a tunnel. Bytes are taken from the allowance and written; bytes beyond it wait in order. Reading
 * pauses while bytes wait or the other side is full.
 */
export class Pipe {
  private readonly from: Side
  private readonly to: Side
  private readonly valve: Valve
  private parked: readonly Parked[] = nothing
  private isClosed = false
  private forget: (() => void) | undefined

  constructor(
    private readonly direction: 'up' | 'down',
    client: Side,
    private readonly tunnel: ProxyTunnel,
    private readonly clock: () => number,
    private readonly owner: PipeOwner,
  ) {
    this.from = direction === 'up' ? client : tunnel.origin
    this.to = direction === 'up' ? tunnel.origin : client
    this.valve = new Valve(tunnel.sockets, this.from, this.to, direction === 'up' ? 'none' : limitsOf(tunnel))
  }

  /** Nothing waits for allowance. */
  get isClear(): boolean {
    return this.parked.length === 0
  }

  /** Passes bytes on; `onPassed` is called after the last one. `isLast`: the end follows at once. */
  relay(bytes: Uint8Array, onPassed?: () => void, isLast = false): void {
    if (this.isClosed) return
    this.tunnel.activeAt = this.clock()
    const taken = this.isClear ? this.take(bytes.length) : 0
    if (isLast && taken === bytes.length && this.to.heldBytes === 0) this.to.socket?.announceEnd?.()
    this.write(taken < bytes.length ? bytes.subarray(0, taken) : bytes)
    if (taken === bytes.length && this.isClear) onPassed?.()
    else this.park({ bytes: new Uint8Array(bytes.subarray(taken)), due: bytes.length - taken, onPassed })
  }

  /** Charges bytes that are forwarded by send() in another form. False while some are unpaid: use after(). */
  pay(bytes: number): boolean {
    if (this.isClosed) return false
    this.tunnel.activeAt = this.clock()
    const taken = this.isClear && bytes > 0 ? this.take(bytes) : 0
    if (taken === bytes && this.isClear) return true
    this.park({ bytes: undefined, due: bytes - taken, onPassed: undefined })
    return false
  }

  /** Writes bytes that are paid for. */
  send(bytes: Uint8Array): void {
    if (!this.isClosed) this.write(bytes)
  }

  /** Acts once all earlier bytes have passed. */
  after(act: () => void): void {
    if (this.isClosed) return
    if (this.isClear) act()
    else this.parked = [...this.parked, { bytes: undefined, due: 0, onPassed: act }]
  }

  resume(): void {
    if (this.isClosed || !this.isClear || this.to.heldBytes > 0) return
    if (this.owner.wantsMore?.() ?? true) this.from.resume()
  }

  close(): void {
    this.isClosed = true
    this.parked = nothing
    this.forget?.()
    this.forget = undefined
  }

  private take(bytes: number): number {
    const { meter } = this.tunnel
    return this.direction === 'up' ? meter.takeSent(bytes) : meter.takeReceived(bytes)
  }

  private write(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const hasRoom = this.to.write(bytes)
    this.valve.passed()
    if (!hasRoom) this.from.pause()
  }

  private park(piece: Parked): void {
    this.parked = [...this.parked, piece]
    this.from.pause()
    this.wait()
  }

  private wait(): void {
    const { allowance } = this.tunnel.meter
    this.forget ??= allowance.onChange(() => this.goOn())
    if (allowance.isUsedUp) this.owner.onExhausted()
  }

  /** The allowance changed. Continued waiting moves to the end, for fairness. */
  private goOn(): void {
    const { allowance } = this.tunnel.meter
    if (this.isClosed) return
    if (allowance.hasSome) {
      this.forget?.()
      this.forget = undefined
      if (this.passParked()) {
        this.resume()
        this.owner.onCleared?.()
      }
    } else if (allowance.isUsedUp) this.owner.onExhausted()
  }

  /** False if something still waits or the tunnel has ended. */
  private passParked(): boolean {
    this.tunnel.activeAt = this.clock()
    for (let [first] = this.parked; first; [first] = this.parked) {
      const taken = first.due > 0 ? this.take(first.due) : 0
      first.due -= taken
      if (first.bytes) {
        this.write(first.bytes.subarray(0, taken))
        first.bytes = first.bytes.subarray(taken)
      }
      if (first.due > 0) {
        this.wait()
        return false
      }
      this.parked = this.parked.length > 1 ? this.parked.slice(1) : nothing
      first.onPassed?.()
      if (this.isClosed) return false
    }
    return true
  }
}

/** Both sides have ended: closing includes the half-close. One that does not read gets 30 s for its backlog. */
function leave(side: Side): void {
  if (side.heldBytes > 0) side.close()
  else side.release()
}

/** What one side of a relay passes to it. Pipes copy what they keep. */
class RelayEnd implements SideOwner {
  readonly borrows = true

  constructor(
    private readonly relay: Relay,
    private readonly isClient: boolean,
  ) {}

  onData(bytes: Uint8Array): void {
    this.relay.pass(bytes, this.isClient)
  }

  onEnd(): void {
    this.relay.noteEnd(this.isClient)
  }

  onDrain(): void {
    this.relay.drain(this.isClient)
  }

  onClose(): void {
    this.relay.noteClose(this.isClient)
  }
}

/**
 * Relays both directions through this process until one side is gone or the allowance is used up. Classes without
 * closures keep idle tunnels small.
 */
export class Relay implements PipeOwner {
  private readonly up: Pipe
  private readonly down: Pipe
  private hasClientEnded = false
  private hasOriginEnded = false
  private isOver = false

  constructor(
    private readonly client: Side,
    private readonly tunnel: ProxyTunnel,
    clock: () => number,
  ) {
    this.up = new Pipe('up', client, tunnel, clock, this)
    this.down = new Pipe('down', client, tunnel, clock, this)
  }

  /** The arguments were received before the relay started. */
  start(fromClient: Uint8Array, fromOrigin: Uint8Array): void {
    const { client, tunnel, up, down } = this
    tunnel.relay = this
    client.own(new RelayEnd(this, true))
    tunnel.origin.own(new RelayEnd(this, false))
    if (client.isClosed) this.lose()
    else if (tunnel.origin.isClosed) this.loseOrigin()
    else {
      // A stream delivers the bytes that it holds as soon as it is resumed: those behind these.
      if (fromClient.length > 0) up.relay(fromClient)
      if (fromOrigin.length > 0) down.relay(fromOrigin)
      up.resume()
      down.resume()
    }
  }

  pass(bytes: Uint8Array, isClient: boolean): void {
    const { tunnel, up, down } = this
    if (isClient) return up.relay(bytes)
    const isLast = tunnel.origin.socket?.isEnding === true && down.isClear && !this.hasOriginEnded
    down.relay(bytes, undefined, isLast)
  }

  noteEnd(isClient: boolean): void {
    if (isClient) this.hasClientEnded = true
    else this.hasOriginEnded = true
    this.endSides()
  }

  /** A side has written its backlog: the other one may be read again. */
  drain(isClient: boolean): void {
    if (isClient) this.down.resume()
    else this.up.resume()
  }

  noteClose(isClient: boolean): void {
    if (isClient) this.lose()
    else this.loseOrigin()
  }

  onExhausted(): void {
    this.exhaust()
  }

  onCleared(): void {
    this.endSides()
  }

  private endSides(): void {
    const { client, tunnel, up, down } = this
    if (this.isOver) return
    tunnel.isHalfOpen = this.hasClientEnded || this.hasOriginEnded
    if (!this.hasClientEnded || !this.hasOriginEnded || !up.isClear || !down.isClear) {
      if (this.hasClientEnded && up.isClear) tunnel.origin.finish()
      if (this.hasOriginEnded && down.isClear) client.finish()
      return
    }
    this.end()
    leave(tunnel.origin)
    leave(client)
  }

  private exhaust(): void {
    if (this.isOver) return
    this.end()
    this.tunnel.origin.abort()
    this.client.close()
  }

  private lose(): void {
    if (this.isOver) return
    this.end()
    this.tunnel.origin.abort()
  }

  private loseOrigin(): void {
    if (this.isOver) return
    this.end()
    this.client.close()
  }

  cut(): void {
    this.tunnel.meter.cut()
    this.end()
    this.client.abort()
    this.tunnel.origin.abort()
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.up.close()
    this.down.close()
    this.tunnel.finish()
  }
}
