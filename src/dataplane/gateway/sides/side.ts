import type { After } from '../../../core/time.ts'
import type { Conversed, Dialler } from '../dial/upstream.ts'
import type { Delivery, DeliveryWatch } from '../metering/tunnel-meter.ts'
import type { SideSocket } from './side-socket.ts'
import type { Sockets } from './sockets.ts'

export type SideOwner = {
  /** The memory is the receiver's: no copy is needed, unless it borrows. */
  onData(bytes: Uint8Array): void
  /** It uses the bytes during onData() only, and copies what it keeps: a copy for each read costs a tenth of bulk. */
  readonly borrows?: true
  /** The peer has half-closed. */
  onEnd(): void
  /** Held bytes are written. */
  onDrain(): void
  onClose(): void
}

/** Shared by all sides of an engine. */
export type SideAround = {
  readonly after: After
  /** Called with the backlog of a slow peer. */
  readonly noteHeld: (bytes: number) => void
}

/** Shared by empty sides, to keep idle connections small. */
const nothing: never[] = []

/** After the last answer, the peer's bytes are discarded up to these limits. */
const lingerMs = 2000
const maxDiscarded = 1024 * 1024
/** Time for a peer to read its backlog. */
const flushMs = 30_000

/** A socket with a write backlog of at most one read: callers pause while write() is false. */
export class Side {
  /** Bytes taken by the kernel. */
  written = 0
  heldBytes = 0
  isClosed = false
  /** This side has half-closed. */
  isFinished = false
  /** The limit of unsent bytes in the kernel was raised (`Valve`). */
  hasUnsentRoom = false
  /** Notified of the close after the owner. */
  delivery: Delivery | undefined
  socket: SideSocket | undefined
  private held: Uint8Array[] = nothing
  private ending: 'no' | 'finish' | 'close' | 'release' = 'no'
  private isPaused = false
  private cancels: readonly (() => void)[] = nothing

  constructor(
    private owner: SideOwner,
    private readonly around: SideAround,
  ) {}

  attach(socket: SideSocket): void {
    this.socket = socket
    socket.setNoDelay(true)
  }

  own(owner: SideOwner): void {
    this.owner = owner
  }

  /** A stream: the descriptor is that of its connection. */
  get isShared(): boolean {
    return this.socket?.isShared === true
  }

  get descriptor(): number {
    return this.socket?.fd ?? -1
  }

  watch(sockets: Sockets): DeliveryWatch | undefined {
    return this.socket?.follow ? this.socket.follow() : sockets.watch(this.descriptor)
  }

  /** The local port that the client connected to. */
  get arrivedAt(): number {
    return this.socket?.localPort ?? 0
  }

  /** The local address that the client connected to; undefined over TLS. */
  get localAddress(): string | undefined {
    return this.socket?.localAddress
  }

  /** Returns false while there is a backlog. */
  write(bytes: Uint8Array): boolean {
    if (this.isClosed || this.ending !== 'no' || !this.socket) return true
    const gone = this.heldBytes > 0 ? 0 : this.push(bytes)
    if (gone === bytes.length) return !this.socket.isHolding
    // A copy: the bytes may be borrowed. slice() of a Buffer would be none.
    if (this.held === nothing) this.held = []
    this.held.push(new Uint8Array(bytes.subarray(gone)))
    this.heldBytes += bytes.length - gone
    this.around.noteHeld(this.heldBytes)
    return false
  }

  /** Half-closes after the backlog is written. */
  finish(): void {
    if (this.ending === 'no') this.ending = 'finish'
    this.endWhenEmpty()
  }

  /** Closes after the backlog is written. */
  release(): void {
    if (this.ending !== 'close') this.ending = 'release'
    this.endWhenEmpty()
  }

  /**
   * Closes after the backlog is written, then discards incoming bytes for a moment: closing with unread bytes would
   * reset the connection and lose the answer.
   */
  close(): void {
    if (this.isClosed || this.ending === 'close') return
    this.ending = 'close'
    this.own(new Discarding(this))
    this.resume()
    this.cancels = [this.around.after(lingerMs, () => this.letGo()), this.around.after(flushMs, () => this.abort())]
    this.endWhenEmpty()
  }

  /** Closes unless there is a backlog. */
  letGo(): void {
    if (!this.isClosed && this.heldBytes === 0) this.socket?.end()
  }

  /** Resets at once; drops the backlog. */
  abort(): void {
    this.held = nothing
    this.heldBytes = 0
    if (!this.isClosed) this.socket?.terminate()
  }

  pause(): void {
    if (this.isPaused || this.isClosed) return
    this.isPaused = true
    this.socket?.pause()
  }

  resume(): void {
    if (!this.isPaused || this.isClosed) return
    this.isPaused = false
    this.socket?.resume()
  }

  private push(bytes: Uint8Array): number {
    const gone = Math.max(0, this.socket?.write(bytes) ?? 0)
    this.written += gone
    return gone
  }

  private endWhenEmpty(): void {
    if (this.isClosed || this.heldBytes > 0 || this.ending === 'no') return
    const wasFinished = this.isFinished
    this.isFinished = true
    // Closing includes the half-close.
    if (this.ending === 'release') this.socket?.end()
    else if (!wasFinished) this.socket?.shutdown()
  }

  onSocketDrain(): void {
    if (this.isClosed) return
    if (!this.writeHeld()) return
    this.endWhenEmpty()
    this.owner.onDrain()
  }

  /** Writes the backlog, as far as the socket takes it. True if it is empty. */
  private writeHeld(): boolean {
    const { held } = this
    for (let at = 0; at < held.length; at += 1) {
      const bytes = held[at] ?? empty
      const gone = this.push(bytes)
      this.heldBytes -= gone
      if (gone === bytes.length) continue
      held[at] = bytes.subarray(gone)
      held.splice(0, at)
      return false
    }
    this.held = nothing
    return true
  }

  onSocketClose(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.held = nothing
    this.heldBytes = 0
    for (const cancel of this.cancels) cancel()
    this.owner.onClose()
    this.delivery?.onClosed(this.delivery)
  }

  get borrows(): boolean {
    return this.owner.borrows === true
  }

  onSocketData(bytes: Uint8Array): void {
    this.owner.onData(bytes)
  }

  onSocketEnd(): void {
    this.owner.onEnd()
  }

  /** Moves the backlog to another writer. */
  takeHeld(): Uint8Array | undefined {
    const held = this.heldBytes > 0 ? Buffer.concat(this.held) : undefined
    this.held = nothing
    this.heldBytes = 0
    return held
  }
}

const empty = new Uint8Array(0)

export const ignoringOwner: SideOwner = { onData() {}, onEnd() {}, onDrain() {}, onClose() {} }

/** Discards incoming bytes until the peer closes or exceeds the limit. */
class Discarding implements SideOwner {
  private discarded = 0

  constructor(private readonly side: Side) {}

  onData(bytes: Uint8Array): void {
    this.discarded += bytes.length
    if (this.discarded > maxDiscarded) this.side.abort()
  }

  onEnd(): void {
    this.side.letGo()
  }

  onDrain(): void {}
  onClose(): void {}
}

/** Runs an upstream proxy's handshake over a side. */
export const createConverse =
  (after: After): Dialler<Side>['converse'] =>
  (side, talk, maxMs) =>
    new Promise((resolve) => {
      const give = (conversed: Conversed): void => {
        cancel()
        // Only the first result counts.
        side.own(ignoringOwner)
        side.pause()
        if ('refusal' in conversed) side.abort()
        resolve(conversed)
      }
      const cancel = after(maxMs, () => give(silent))
      side.own({
        ...ignoringOwner,
        onData(bytes) {
          for (const step of talk.feed(bytes)) {
            if (step.type === 'write') side.write(step.bytes)
            else give(step.type === 'open' ? { early: step.rest } : step)
          }
        },
        onEnd: () => give(hungUp),
        onClose: () => give(hungUp),
      })
      side.write(talk.begin())
      if (side.isClosed) give(hungUp)
      else side.resume()
    })

/** Either may be the destination's fault: the exit is checked, not blamed. */
const silent: Conversed = { refusal: 'connect_timeout', isDoubtful: true }
const hungUp: Conversed = { refusal: 'exit_failed', isDoubtful: true }
