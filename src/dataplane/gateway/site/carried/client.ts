import type { After } from '../../../../core/time.ts'
import type { TlsOwner } from '../../../tls/tls-socket.ts'
import type { KeyCheck } from '../../access/key-check.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import { joinBytes } from '../../ways-in/bytes.ts'
import { KeyReader } from '../../ways-in/key-reader.ts'
import type { ClientParser } from '../../ways-in/request.ts'
import type { BudgetShare, FairBudget } from '../fair-budget.ts'

/** What carries a device's stream: a WebSocket, or requests of XHTTP. */
export type Carrier = {
  readonly source: string
  readonly fd: number
  /** Other streams use the same connection. */
  readonly isShared: boolean
  readonly protocol: 'websocket' | 'xhttp'
  /** Returns the bytes taken. */
  write(bytes: Uint8Array): number
  shutdown(): void
  end(): void
  terminate(): void
  pause(): void
  resume(): void
  follow(): DeliveryWatch | undefined
  /** No engine has followed it. */
  untrack?(): void
  /** The stream has the device's key. */
  admit?(): void
}

export type CarriedDeps = {
  readonly findKeyed: KeyCheck['findKeyed']
  /** Serves a customer's stream. The bytes that were read come first. */
  readonly handOver: (client: TlsClient) => void
  readonly after: After
  /** Requests that know a device's path, have shown no key and hold a place: by device, one each. */
  readonly waiting: FairBudget
}

/** The key of a protocol is within fewer first bytes. */
const maxFirstBytes = 64
/** Time for the key. */
const keyMs = 10_000
const nothing = new Uint8Array(0)

/**
 * A device's stream as a client of the engine, from the bytes on that have the device's key. A stream whose first
 * bytes have no key, or that of another device than its path, is reset.
 */
export class CarriedClient implements TlsClient {
  owner: TlsOwner | undefined
  isClosed = false
  readonly isUnread = true
  parser: ClientParser | undefined
  private pending: Uint8Array = nothing
  private isPaused = false
  private hasEnded = false
  private hasToldEnd = false
  private isFollowed = false
  private readonly share: BudgetShare
  private readonly cancelDeadline: () => void

  constructor(
    private readonly carrier: Carrier,
    private readonly device: string,
    private readonly deps: CarriedDeps,
  ) {
    const terminate = (): void => this.carrier.terminate()
    this.share = deps.waiting.open(device, terminate)
    this.cancelDeadline = deps.after(this.share.resize(1) ? keyMs : 0, terminate)
  }

  get source(): string {
    return this.carrier.source
  }

  get fd(): number {
    return this.carrier.fd
  }

  get isShared(): boolean {
    return this.carrier.isShared
  }

  // --- from the carrier ---

  receive(bytes: Uint8Array): void {
    if (this.isClosed || bytes.length === 0) return
    if (!this.parser) {
      this.pending = joinBytes([this.pending, new Uint8Array(bytes)])
      this.readKey()
    } else if (this.isPaused || this.pending.length > 0) {
      this.pending = joinBytes([this.pending, new Uint8Array(bytes)])
    } else this.owner?.onSocketData(bytes)
  }

  receiveEnd(): void {
    this.hasEnded = true
    if (this.parser) this.tellEnd()
    else this.carrier.terminate()
  }

  drained(): void {
    this.owner?.onSocketDrain()
  }

  /** The carrier is gone. */
  lose(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.cancelDeadline()
    this.share.resize(0)
    this.pending = nothing
    this.owner?.onSocketClose()
    if (!this.isFollowed) this.carrier.untrack?.()
  }

  // --- from the engine ---

  write(bytes: Uint8Array): number {
    return this.isClosed ? 0 : this.carrier.write(bytes)
  }

  shutdown(): void {
    this.carrier.shutdown()
  }

  end(): void {
    this.carrier.end()
  }

  terminate(): void {
    this.carrier.terminate()
  }

  pause(): void {
    this.isPaused = true
    this.carrier.pause()
  }

  resume(): void {
    this.isPaused = false
    const { pending } = this
    this.pending = nothing
    if (pending.length > 0) this.owner?.onSocketData(pending)
    this.tellEnd()
    if (!this.isPaused && !this.isClosed) this.carrier.resume()
  }

  setNoDelay(): void {}

  follow(): DeliveryWatch | undefined {
    this.isFollowed = true
    return this.carrier.follow()
  }

  private readKey(): void {
    const found = this.deps.findKeyed(this.pending)
    if (found?.device === this.device) {
      this.cancelDeadline()
      this.share.resize(0)
      this.carrier.admit?.()
      this.parser = new KeyReader({ source: this.source, ownPort: undefined }, found.protocol, this.carrier.protocol)
      this.isPaused = true
      this.carrier.pause()
      this.deps.handOver(this)
    } else if (found || this.pending.length >= maxFirstBytes) this.carrier.terminate()
  }

  private tellEnd(): void {
    if (!this.hasEnded || this.hasToldEnd || this.isPaused || this.pending.length > 0 || this.isClosed) return
    this.hasToldEnd = true
    this.owner?.onSocketEnd()
  }
}
