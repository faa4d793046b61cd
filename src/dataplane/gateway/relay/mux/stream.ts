import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import { ignoringOwner, Side, type SideAround } from '../../sides/side.ts'
import type { SideSocket } from '../../sides/side-socket.ts'
import type { ConnectionDelivery } from '../../sides/stream-delivery.ts'
import { StreamDelivery } from '../../sides/stream-delivery.ts'

/** What a sub-stream needs of its connection. */
export type StreamCarrier = {
  readonly localPort: number
  readonly fd: number
  readonly delivery: ConnectionDelivery
  /** Sends bytes of a stream. Returns the bytes taken, and where they end in the connection. */
  sendStream(stream: MuxStream, bytes: Uint8Array): { readonly taken: number; readonly end: number }
  sendEnd(id: number, hasFailed: boolean): void
  noteHeld(change: number): void
  forget(id: number): void
}

/** A TCP sub-stream of a client's connection, used like a socket. */
export class MuxStream implements SideSocket {
  readonly isShared = true
  readonly side: Side
  isClosed = false
  private held: Uint8Array[] = []
  private heldBytes = 0
  private isPaused = true
  private hasRemoteEnded = false
  private hasToldEnd = false
  private hasLocalEnded = false
  private delivery: StreamDelivery | undefined

  constructor(
    readonly id: number,
    private readonly carrier: StreamCarrier,
    around: SideAround,
  ) {
    this.side = new Side(ignoringOwner, around)
    this.side.attach(this)
    this.side.pause()
  }

  get localPort(): number {
    return this.carrier.localPort
  }

  get fd(): number {
    return this.carrier.fd
  }

  follow(): DeliveryWatch | undefined {
    if (this.delivery) return this.delivery
    const watch = this.carrier.delivery.share()
    this.delivery = watch && new StreamDelivery(watch, () => this.carrier.delivery.release())
    return this.delivery
  }

  // --- from the connection ---

  receive(bytes: Uint8Array): void {
    if (this.isClosed || this.hasRemoteEnded || bytes.length === 0) return
    if (!this.isPaused && this.heldBytes === 0) return this.side.onSocketData(bytes)
    this.held.push(new Uint8Array(bytes))
    this.hold(bytes.length)
  }

  /** The client sends no more, or with `hasFailed` also reads no more. */
  receiveEnd(hasFailed: boolean): void {
    // A second end shows that the client has forgotten the stream.
    if (hasFailed || this.hasRemoteEnded) return this.finish()
    this.hasRemoteEnded = true
    this.tellEnd()
  }

  wake(): void {
    if (!this.isClosed) this.side.onSocketDrain()
  }

  /** The connection is gone. */
  lose(): void {
    this.finish()
  }

  // --- from the engine ---

  write(bytes: Uint8Array): number {
    if (this.isClosed || this.hasLocalEnded) return 0
    const { taken, end } = this.carrier.sendStream(this, bytes)
    if (taken > 0) this.delivery?.note(end, taken)
    return taken
  }

  shutdown(): void {
    if (this.isClosed || this.hasLocalEnded) return
    this.hasLocalEnded = true
    this.carrier.sendEnd(this.id, false)
  }

  end(): void {
    this.shutdown()
    this.finish()
  }

  terminate(): void {
    if (!this.isClosed && !this.hasLocalEnded) this.carrier.sendEnd(this.id, true)
    this.finish()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    while (this.held.length > 0 && !this.isPaused && !this.isClosed) {
      const bytes = this.held.shift()
      if (!bytes) break
      this.hold(-bytes.length)
      this.side.onSocketData(bytes)
    }
    this.tellEnd()
  }

  setNoDelay(): void {}

  private hold(change: number): void {
    this.heldBytes += change
    this.carrier.noteHeld(change)
  }

  private tellEnd(): void {
    if (!this.hasRemoteEnded || this.hasToldEnd || this.isPaused || this.heldBytes > 0 || this.isClosed) return
    this.hasToldEnd = true
    this.side.onSocketEnd()
  }

  private finish(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.held = []
    this.hold(-this.heldBytes)
    this.carrier.forget(this.id)
    this.side.onSocketClose()
  }
}
