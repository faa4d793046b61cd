import type { TlsSocket } from '../../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import type { Sockets } from '../../sides/sockets.ts'
import { ConnectionDelivery, StreamDelivery } from '../../sides/stream-delivery.ts'
import { followTls } from '../../sides/tls-client.ts'
import { HeldBytes, joinBytes } from '../../ways-in/bytes.ts'
import { ChunkReader } from '../../ways-in/http1/chunks.ts'
import { type Framing, toLatin1 } from '../../ways-in/http1/head.ts'
import type { Field } from '../../ways-in/http2/hpack.ts'
import type { AnswerWriter } from '../answer.ts'
import type { Exchange, ExchangeOwner } from './exchange.ts'
import type { UploadConnection } from './upload-connection.ts'

/** Bytes of a chunk of the answer: a chunk that the socket takes in part is held. */
const chunkBytes = 16 * 1024
/** Bytes that came before the pause of reading took effect. */
const maxHeldBytes = 512 * 1024
const crlf = toLatin1('\r\n')
const lastChunk = toLatin1('0\r\n\r\n')
const nothing = new Uint8Array(0)

type Visitor = {
  readonly tls: TlsSocket
  readonly writer: AnswerWriter
  readonly sockets: Sockets
  /** Of a packet: its connection reads ahead once it is a customer's. */
  readonly upload?: { readonly connection: UploadConnection; readonly device: string } | undefined
  /** The head of an answer, in chunks if it has a body. */
  toHead(status: number, fields: readonly Field[], isChunked: boolean): Uint8Array
  /** Both bodies have ended. `rest` follows on the connection. */
  onDone(rest: Uint8Array): void
  /** The answer has ended within the request. */
  onCutShort(): void
}

/** One request and its answer on an HTTP/1.1 connection. */
export class Http1Exchange implements Exchange {
  owner: ExchangeOwner | undefined
  readonly isShared = false
  private readonly chunks: ChunkReader | undefined
  private left: number
  private readonly held = new HeldBytes(maxHeldBytes)
  private isPaused = true
  private isOver = false
  private hasBodyEnded = false
  private hasAnswered = false
  private rest: Uint8Array = nothing
  private readonly connection: ConnectionDelivery
  private delivery: StreamDelivery | undefined

  constructor(
    framing: Framing,
    private readonly visitor: Visitor,
  ) {
    const { tls, sockets } = visitor
    this.left = framing.kind === 'length' ? framing.bytes : 0
    this.chunks = framing.kind === 'chunked' ? new ChunkReader({ reencode: false, mends: false }) : undefined
    this.connection = new ConnectionDelivery(() => followTls(tls, sockets))
    tls.pause()
  }

  get source(): string {
    return this.visitor.tls.source
  }

  get fd(): number {
    return this.visitor.tls.fd
  }

  // --- from the connection ---

  receive(bytes: Uint8Array): void {
    if (this.isPaused || this.hasBodyEnded) {
      if (!this.held.add(bytes)) this.visitor.tls.terminate()
    } else this.readBody(bytes)
  }

  drain(): void {
    this.owner?.onDrain()
  }

  /** The connection is gone. */
  lose(): void {
    if (this.isOver) return
    this.isOver = true
    this.owner?.onClose()
    this.connection.close()
  }

  private readBody(bytes: Uint8Array): void {
    const parts: Uint8Array[] = []
    const { chunks } = this
    let next = Math.min(bytes.length, this.left)
    if (chunks) next = chunks.read(bytes, 0, parts)
    else parts.push(bytes.subarray(0, next))
    if (!chunks) this.left -= next
    for (const part of parts) if (part.length > 0 && !this.isOver) this.owner?.onBody(part)
    if (this.isOver) return
    if (chunks?.state === 'fault') return this.visitor.tls.terminate()
    if (chunks ? chunks.state !== 'done' : this.left > 0) return
    this.hasBodyEnded = true
    const { tls, upload } = this.visitor
    if (upload) {
      // The next packet waits there.
      tls.pause()
      upload.connection.giveBack(bytes.subarray(next))
    } else {
      this.rest = new Uint8Array(bytes.subarray(next))
      // A paused connection would not notice that the client closes it.
      tls.resume()
    }
    this.owner?.onBodyEnd()
    this.finish()
  }

  // --- from the session ---

  // The site has let go of the connection; `waiting` bounds how many.
  admit(): void {
    const { upload } = this.visitor
    if (!this.isOver) upload?.connection.readAhead(upload.device)
  }

  respond(status: number, fields: readonly Field[], isEnd: boolean): void {
    const all = isEnd ? [...fields, ['content-length', '0'] as const] : fields
    this.visitor.writer.push(this.visitor.toHead(status, all, !isEnd))
    this.hasAnswered = isEnd
    if (isEnd) this.finish()
  }

  write(bytes: Uint8Array): number {
    const { writer } = this.visitor
    let at = 0
    while (at < bytes.length && writer.isSent && !this.isOver && !this.hasAnswered) {
      const part = bytes.subarray(at, at + chunkBytes)
      writer.push(joinBytes([toLatin1(`${part.length.toString(16)}\r\n`), part, crlf]))
      this.delivery?.note(writer.position, part.length)
      at += part.length
    }
    return at
  }

  follow(): DeliveryWatch | undefined {
    if (this.delivery) return this.delivery
    const watch = this.connection.share()
    this.delivery = watch && new StreamDelivery(watch, () => this.connection.release())
    return this.delivery
  }

  end(): void {
    if (this.hasAnswered || this.isOver) return
    this.visitor.writer.push(lastChunk)
    this.hasAnswered = true
    this.finish()
  }

  terminate(): void {
    if (!this.isOver) this.visitor.tls.terminate()
  }

  pause(): void {
    this.isPaused = true
    if (!this.isOver && !this.hasBodyEnded) this.visitor.tls.pause()
  }

  resume(): void {
    if (!this.isPaused || this.isOver) return
    this.isPaused = false
    if (this.hasBodyEnded) return
    const held = this.held.take()
    const isBodyless = !this.chunks && this.left === 0
    if (held.length > 0 || isBodyless) this.readBody(held)
    if (!this.isPaused && !this.hasBodyEnded && !this.isOver) this.visitor.tls.resume()
  }

  private finish(): void {
    if (this.isOver || !this.hasAnswered) return
    const { visitor } = this
    this.isOver = true
    this.owner?.onClose()
    this.connection.close()
    visitor.upload?.connection.stopReadingAhead()
    if (this.hasBodyEnded) visitor.onDone(joinBytes([this.rest, this.held.take()]))
    else visitor.onCutShort()
  }
}
