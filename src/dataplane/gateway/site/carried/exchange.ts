import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import { StreamDelivery, type StreamPlace } from '../../sides/stream-delivery.ts'
import type { Field } from '../../ways-in/http2/hpack.ts'
import type { Http2Stream, StreamOwner } from '../../ways-in/http2/stream.ts'

export type ExchangeOwner = {
  onBody(bytes: Uint8Array): void
  /** The request's body is whole. */
  onBodyEnd(): void
  /** There is room to write again. */
  onDrain(): void
  onClose(): void
}

/** A request and its answer, whose bodies come and go in parts. It begins paused. */
export type Exchange = {
  owner: ExchangeOwner | undefined
  readonly source: string
  readonly fd: number
  /** Other exchanges use the same connection. */
  readonly isShared: boolean
  /** It is a customer's: its connection is not evicted for a visitor's. */
  admit(): void
  /** `isEnd`: the answer has no body. */
  respond(status: number, fields: readonly Field[], isEnd: boolean): void
  /** Returns the bytes taken of the answer's body. */
  write(bytes: Uint8Array): number
  /** Tracks the delivery of the answer's body. Call before the first write. */
  follow(): DeliveryWatch | undefined
  /** Ends the answer. */
  end(): void
  terminate(): void
  pause(): void
  resume(): void
}

/** The part of an exchange that an upload needs; its connection may be in another reactor. */
export type UploadExchange = Pick<Exchange, 'owner' | 'admit' | 'respond' | 'end' | 'terminate' | 'pause' | 'resume'>

/** A stream of an HTTP/2 connection. */
export class Http2Exchange implements Exchange, StreamOwner {
  owner: ExchangeOwner | undefined
  readonly isShared = true
  private delivery: StreamDelivery | undefined
  private isAdmitted = false
  private isPaused = true

  constructor(
    private readonly stream: Http2Stream,
    private readonly place: StreamPlace,
    readonly source: string,
  ) {
    stream.owner = this
    stream.pause()
  }

  admit(): void {
    this.place.noteAdmitted()
    this.isAdmitted = true
    this.stream.wait(this.isPaused)
  }

  get fd(): number {
    return this.place.fd
  }

  respond(status: number, fields: readonly Field[], isEnd: boolean): void {
    this.stream.respond([[':status', String(status)], ...fields], isEnd)
  }

  write(bytes: Uint8Array): number {
    const taken = this.stream.write(bytes)
    if (taken > 0) this.delivery?.note(this.place.position(), taken)
    return taken
  }

  follow(): DeliveryWatch | undefined {
    if (this.delivery) return this.delivery
    const { delivery } = this.place
    const watch = delivery.share()
    this.delivery = watch && new StreamDelivery(watch, () => delivery.release())
    return this.delivery
  }

  end(): void {
    this.stream.end()
  }

  terminate(): void {
    this.stream.reset('cancel')
  }

  pause(): void {
    this.isPaused = true
    this.stream.pause()
    if (this.isAdmitted) this.stream.wait(true)
  }

  resume(): void {
    this.isPaused = false
    this.stream.wait(false)
    this.stream.resume()
  }

  onSocketData(bytes: Uint8Array): void {
    this.owner?.onBody(bytes)
  }

  onSocketEnd(): void {
    this.owner?.onBodyEnd()
  }

  onSocketDrain(): void {
    this.owner?.onDrain()
  }

  onSocketClose(): void {
    this.owner?.onClose()
  }
}
