import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import type { Sockets } from '../../sides/sockets.ts'
import { ConnectionDelivery, StreamDelivery } from '../../sides/stream-delivery.ts'
import { followTls } from '../../sides/tls-client.ts'
import {
  toBinaryFrame,
  toCloseFrame,
  toPongFrame,
  type WebSocketEvent,
  WebSocketReader,
} from '../../ways-in/websocket/frames.ts'
import { type AnswerWriter, createDeadline, type Deadline, stallMs } from '../answer.ts'
import { CarriedClient, type CarriedDeps, type Carrier } from './client.ts'

/** Payload of a frame: a frame that the socket takes in part is held, and each costs a system call. */
const frameBytes = 64 * 1024
/** Delivery is known for so many bytes of a frame. */
const noteBytes = 16 * 1024
/**
 * From the last byte to the Close frame, unless the client ends first. A v2ray client that reads the frame drops up to
 * 512 KiB that its program has not read yet. v2ray's own server waits 1 s.
 */
const graceMs = 2000
/** For the client's answer to the Close frame. */
const closeMs = 30_000

/** A WebSocket of a device: the rest of an HTTP/1 connection. */
export class WebSocketCarrier implements TlsOwner, Carrier {
  readonly isShared = false
  readonly protocol = 'websocket'
  private readonly reader = new WebSocketReader()
  private readonly connection: ConnectionDelivery
  private delivery: StreamDelivery | undefined
  private readonly client: CarriedClient
  private readonly deadline: Deadline
  private hasShutDown = false
  private hasSentClose = false
  private hasClientEnded = false
  private isEnding = false

  constructor(
    private readonly tls: TlsSocket,
    /** Of the connection; everything before has been written. */
    private readonly writer: AnswerWriter,
    device: string,
    deps: CarriedDeps & { readonly sockets: Sockets },
  ) {
    this.connection = new ConnectionDelivery(() => followTls(tls, deps.sockets))
    this.client = new CarriedClient(this, device, deps)
    this.deadline = createDeadline(deps.after)
    tls.owner = this
  }

  /** `early` came in the request, `rest` behind it. */
  start(head: Uint8Array, early: Uint8Array, rest: Uint8Array): void {
    this.writer.push(head)
    this.client.receive(early)
    if (rest.length > 0) this.onSocketData(rest)
  }

  get source(): string {
    return this.tls.source
  }

  get fd(): number {
    return this.tls.fd
  }

  follow(): DeliveryWatch | undefined {
    if (this.delivery) return this.delivery
    const watch = this.connection.share()
    this.delivery = watch && new StreamDelivery(watch, () => this.connection.release())
    return this.delivery
  }

  // --- from the connection ---

  onSocketData(bytes: Uint8Array): void {
    if (this.isLeaving) return
    if (!this.reader.feed(bytes, this.take) && !this.client.isClosed && !this.isLeaving) this.tls.terminate()
  }

  onSocketDrain(): void {
    if (!this.writer.flush()) return
    if (this.hasSentClose) this.endWhenSent()
    else if (this.hasShutDown) this.awaitClient()
    else this.client.drained()
  }

  onSocketEnd(): void {
    this.hasClientEnded = true
    this.client.receiveEnd()
  }

  onSocketClose(): void {
    this.deadline.clear()
    this.writer.close()
    this.client.lose()
    this.connection.close()
  }

  private readonly take = (event: WebSocketEvent): void => {
    if (event.type === 'bytes') this.client.receive(event.bytes)
    // A client that does not read gets no more pongs.
    else if (event.type === 'ping' && this.writer.isSent) this.writer.push(toPongFrame(event.bytes))
    else if (event.type === 'close') this.onSocketEnd()
  }

  // --- from the engine ---

  write(bytes: Uint8Array): number {
    let at = 0
    while (at < bytes.length && this.writer.isSent && !this.tls.isClosed && !this.hasShutDown) {
      const part = bytes.subarray(at, at + frameBytes)
      const frame = toBinaryFrame(part)
      const payloadAt = this.writer.position + frame.length - part.length
      this.writer.push(frame)
      for (let noted = 0; noted < part.length; noted += noteBytes) {
        const end = Math.min(part.length, noted + noteBytes)
        this.delivery?.note(payloadAt + end, end - noted)
      }
      at += part.length
    }
    return at
  }

  shutdown(): void {
    if (this.hasShutDown) return
    this.hasShutDown = true
    if (this.writer.isSent) this.awaitClient()
  }

  end(): void {
    const isFirst = !this.isEnding
    this.isEnding = true
    this.shutdown()
    if (this.isLeaving || this.hasSentClose) this.sendClose()
    else if (isFirst && !this.writer.isSent) this.deadline.set(stallMs, () => this.tls.terminate())
  }

  /** Both sides have ended. */
  private get isLeaving(): boolean {
    return this.isEnding && this.hasClientEnded
  }

  private awaitClient(): void {
    this.deadline.set(graceMs, () => this.sendClose())
  }

  private sendClose(): void {
    if (!this.hasSentClose) {
      this.hasSentClose = true
      this.writer.push(toCloseFrame())
      this.deadline.set(closeMs, () => this.tls.terminate())
    }
    this.endWhenSent()
  }

  private endWhenSent(): void {
    if (this.isEnding && this.writer.isSent) this.tls.end()
  }

  terminate(): void {
    this.tls.terminate()
  }

  pause(): void {
    this.tls.pause()
  }

  resume(): void {
    this.tls.resume()
  }
}
