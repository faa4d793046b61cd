import type { After } from '../../../../core/time.ts'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import type { BudgetShare, FairBudget } from '../fair-budget.ts'

/** The least and the most that a buffer for small parts takes. */
const [minBufferBytes, maxBufferBytes] = [1024, 16 * 1024]
/** More would hold up the other connections of the reactor. */
const maxBytesPerTurn = 64 * 1024

type FollowedTls = TlsSocket & { readonly follow?: () => DeliveryWatch | undefined }
/** The first `length` bytes of `buffer`, which has room for more. */
type Part = { readonly buffer: Uint8Array; length: number }

/**
 * An HTTP/1.1 connection with packets of XHTTP. Xray's client reads no answers there and leaves used connections to its
 * garbage collector, which closes them. With unread answers that is a reset, and the kernel of the client then discards
 * what it has not sent yet. So the connection reads ahead while the packet waits for its turn, and its owner learns of
 * the close only after all bytes that came before it. Records of one byte are joined: an object for each would cost 100
 * times its byte.
 */
export class UploadConnection implements TlsSocket, TlsOwner {
  owner: TlsOwner | undefined
  isClosed = false
  /** For the reactor: bytes before a reset are still wanted. */
  readsToEnd = true
  readonly follow: (() => DeliveryWatch | undefined) | undefined
  private parts: Part[] = []
  /** Of the buffers of `parts`. */
  private held = 0
  /** What of it the room has. */
  private counted = 0
  private share: { readonly device: string; readonly room: BudgetShare } | undefined
  private cancelTurn: (() => void) | undefined
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
    private readonly room: FairBudget,
    private readonly after: After,
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
    if (this.share?.device !== device) {
      this.share?.room.resize(0)
      this.counted = 0
      this.share = { device, room: this.room.open(device, () => this.terminate()) }
    }
    this.count()
    this.steer()
  }

  /** The packet has ended. */
  stopReadingAhead(): void {
    this.device = undefined
    this.steer()
  }

  /** Bytes that the owner got and does not need yet come first when it resumes. */
  giveBack(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.parts.unshift({ buffer: new Uint8Array(bytes), length: bytes.length })
    this.held += bytes.length
  }

  // --- from the connection ---

  onSocketData(bytes: Uint8Array): void {
    if (this.isClosed) return
    if (this.isPaused || this.isDelivering || this.parts.length > 0) {
      this.join(bytes)
      this.count()
    } else this.hold(bytes, bytes.length)
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

  private hold(buffer: Uint8Array, length: number): void {
    this.parts.push({ buffer, length })
    this.held += buffer.length
  }

  private join(bytes: Uint8Array): void {
    const last = this.parts.at(-1)
    if (last && last.length + bytes.length <= last.buffer.length) {
      last.buffer.set(bytes, last.length)
      last.length += bytes.length
      return
    }
    const capacity = Math.min(maxBufferBytes, Math.max(minBufferBytes, this.held))
    if (bytes.length * 2 >= capacity) return this.hold(bytes, bytes.length)
    const buffer = new Uint8Array(capacity)
    buffer.set(bytes)
    this.hold(buffer, bytes.length)
  }

  private deliver(): void {
    if (this.isDelivering || this.cancelTurn) return this.steer()
    this.isDelivering = true
    let left = maxBytesPerTurn
    for (let [next] = this.parts; next && left > 0 && !this.isPaused && !this.isClosed; [next] = this.parts) {
      this.parts.shift()
      this.held -= next.buffer.length
      left -= next.length
      this.owner?.onSocketData(next.buffer.subarray(0, next.length))
    }
    this.isDelivering = false
    this.count()
    if (this.isClosed) return
    if (this.parts.length > 0) {
      if (!this.isPaused) this.askForTurn()
      return this.steer()
    }
    if (this.hasEnded && !this.hasToldEnd && !this.isPaused) {
      this.hasToldEnd = true
      this.owner?.onSocketEnd()
    }
    if (this.isLost) this.close()
    else this.steer()
  }

  private askForTurn(): void {
    this.cancelTurn = this.after(0, () => {
      this.cancelTurn = undefined
      this.deliver()
    })
  }

  /** Reads or pauses. */
  private steer(): void {
    const isHolding = this.isPaused || this.parts.length > 0
    const isWanted = !isHolding || (this.device !== undefined && this.isRoomy)
    if (isWanted === this.isReading || this.isLost) return
    this.isReading = isWanted
    if (isWanted) this.tls.resume()
    else this.tls.pause()
  }

  /** Tells the room what is held. What it has no room for is what came last before the pause. */
  private count(): void {
    const { share, held } = this
    this.isRoomy = !share || held === this.counted || share.room.resize(held)
    if (this.isRoomy) this.counted = share ? held : 0
    else share?.room.resize(this.counted)
  }

  private close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.drop()
    this.owner?.onSocketClose()
  }

  private drop(): void {
    this.cancelTurn?.()
    this.cancelTurn = undefined
    this.parts = []
    this.held = 0
    this.count()
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
