import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'

/** Bounds the bytes that upload connections hold, in all and for one device. */
export class ReadAheadRoom {
  private total = 0
  private readonly byDevice = new Map<string, number>()

  constructor(private readonly max: { readonly all: number; readonly ofDevice: number }) {}

  get bytes(): number {
    return this.total
  }

  /** False, and nothing changes, if there is no room. */
  take(device: string, bytes: number): boolean {
    const own = (this.byDevice.get(device) ?? 0) + bytes
    if (own > this.max.ofDevice || this.total + bytes > this.max.all) return false
    this.total += bytes
    this.byDevice.set(device, own)
    return true
  }

  giveBack(device: string, bytes: number): void {
    const own = (this.byDevice.get(device) ?? 0) - bytes
    this.total -= bytes
    if (own > 0) this.byDevice.set(device, own)
    else this.byDevice.delete(device)
  }
}

type FollowedTls = TlsSocket & { readonly follow?: () => DeliveryWatch | undefined }
/** `countedFor`: the device whose room it takes. */
type Part = { readonly bytes: Uint8Array; readonly countedFor: string | undefined }

/**
 * An HTTP/1.1 connection with packets of XHTTP. Xray's client reads no answers there and leaves used connections to its
 * garbage collector, which closes them. With unread answers that is a reset, and the kernel of the client then discards
 * what it has not sent yet. So the connection reads ahead while the packet waits for its turn, and its owner learns of
 * the close only after all bytes that came before it.
 */
export class UploadConnection implements TlsSocket, TlsOwner {
  owner: TlsOwner | undefined
  isClosed = false
  /** For the reactor: bytes before a reset are still wanted. */
  readsToEnd = true
  readonly follow: (() => DeliveryWatch | undefined) | undefined
  private parts: Part[] = []
  private isPaused = false
  private isReading = true
  private isDelivering = false
  /** The client has half-closed. */
  private hasEnded = false
  private hasToldEnd = false
  /** The connection is gone. */
  private isLost = false
  /** Reads ahead for this device. */
  private device: string | undefined
  private isRoomy = true

  constructor(
    private readonly tls: FollowedTls,
    private readonly room: ReadAheadRoom,
  ) {
    this.owner = tls.owner
    tls.owner = this
    this.follow = tls.follow && (() => tls.follow?.())
  }

  get source(): string {
    return this.tls.source
  }

  get fd(): number {
    return this.tls.fd
  }

  get protocol(): 'h2' | 'http/1.1' {
    return this.tls.protocol
  }

  get serverName(): string | undefined {
    return this.tls.serverName
  }

  get handshakeBytes(): number {
    return this.tls.handshakeBytes
  }

  set handshakeBytes(bytes: number) {
    this.tls.handshakeBytes = bytes
  }

  get overhead(): number {
    return this.tls.overhead
  }

  get isHolding(): boolean {
    return this.tls.isHolding === true
  }

  /** The packet is a customer's. */
  readAhead(device: string): void {
    this.device = device
    this.isRoomy = true
    this.steer()
  }

  /** The packet has ended. */
  stopReadingAhead(): void {
    this.device = undefined
    this.steer()
  }

  /** Bytes that the owner got and does not need yet come first when it resumes. */
  giveBack(bytes: Uint8Array): void {
    if (bytes.length > 0) this.parts.unshift({ bytes: new Uint8Array(bytes), countedFor: undefined })
  }

  // --- from the connection ---

  onSocketData(bytes: Uint8Array): void {
    if (this.isClosed) return
    const isHeld = this.isPaused || this.isDelivering || this.parts.length > 0
    const { device } = this
    const countedFor = isHeld && device !== undefined && this.room.take(device, bytes.length) ? device : undefined
    this.parts.push({ bytes, countedFor })
    if (isHeld && countedFor === undefined) this.isRoomy = false
    this.deliver()
  }

  onSocketDrain(): void {
    this.owner?.onSocketDrain()
  }

  onSocketEnd(): void {
    this.hasEnded = true
    this.deliver()
  }

  onSocketClose(): void {
    this.isLost = true
    if (this.parts.length === 0) return this.close()
    // The client reads no answers any more.
    this.owner?.onSocketDrain()
    this.deliver()
  }

  private deliver(): void {
    if (this.isDelivering) return
    this.isDelivering = true
    for (let [next] = this.parts; next && !this.isPaused && !this.isClosed; [next] = this.parts) {
      this.parts.shift()
      this.uncount(next)
      this.owner?.onSocketData(next.bytes)
    }
    this.isDelivering = false
    if (this.isClosed || this.parts.length > 0) return this.steer()
    if (this.hasEnded && !this.hasToldEnd && !this.isPaused) {
      this.hasToldEnd = true
      this.owner?.onSocketEnd()
    }
    if (this.isLost) this.close()
    else this.steer()
  }

  /** Reads or pauses. */
  private steer(): void {
    const isWanted = !this.isPaused || (this.device !== undefined && this.isRoomy)
    if (isWanted === this.isReading || this.isLost) return
    this.isReading = isWanted
    if (isWanted) this.tls.resume()
    else this.tls.pause()
  }

  private uncount({ bytes, countedFor }: Part): void {
    if (countedFor !== undefined) this.room.giveBack(countedFor, bytes.length)
    this.isRoomy = true
  }

  private close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.drop()
    this.owner?.onSocketClose()
  }

  private drop(): void {
    for (const part of this.parts) this.uncount(part)
    this.parts = []
  }

  // --- from the owner ---

  write(bytes: Uint8Array): number {
    return this.isLost ? bytes.length : this.tls.write(bytes)
  }

  announceEnd(): void {
    this.tls.announceEnd?.()
  }

  shutdown(): void {
    if (!this.isLost) this.tls.shutdown()
  }

  end(): void {
    this.drop()
    if (this.isLost) this.close()
    else this.tls.end()
  }

  terminate(): void {
    this.drop()
    if (this.isLost) this.close()
    else this.tls.terminate()
  }

  pause(): void {
    this.isPaused = true
    this.steer()
  }

  resume(): void {
    this.isPaused = false
    this.deliver()
  }

  setNoDelay(yes: boolean): void {
    this.tls.setNoDelay(yes)
  }
}
