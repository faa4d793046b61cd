import type { After, Clock } from '../../../core/time.ts'
import type { TlsOwner, TlsSocket } from '../../tls/tls-socket.ts'
import { type DeliveryWatch, nothingShown } from '../metering/tunnel-meter.ts'
import type { Field } from '../protocol/http2/hpack.ts'
import { translateRequest, translateResponse } from '../protocol/http2/request.ts'
import { Http2Session } from '../protocol/http2/session.ts'
import type { Http2Stream } from '../protocol/http2/stream.ts'
import { followTls, noteHandshake, type Sockets, type TlsClient } from './sockets.ts'

/** A connection without a request is closed after this long. */
const idleMs = 120_000
const maxResponseHeadBytes = 65_536

const nothing = new Uint8Array(0)

/** Bytes of the engine's response, and their end in the plaintext of the TLS connection. */
type Mark = { readonly end: number; readonly bytes: number }

/** Tracks which bytes of one stream the client's machine has acknowledged. */
class StreamDelivery implements DeliveryWatch {
  private marks: Mark[] = []
  private acknowledged = 0
  private written = 0

  constructor(private readonly connection: DeliveryWatch) {}

  note(end: number, bytes: number): void {
    this.marks.push({ end, bytes })
    this.written += bytes
  }

  transmission() {
    const seen = this.connection.transmission()
    let count = 0
    for (const { end, bytes } of this.marks) {
      if (end > seen.acknowledged) break
      this.acknowledged += bytes
      count += 1
    }
    if (count > 0) this.marks = this.marks.slice(count)
    const { acknowledged, written: sent } = this
    return { ...nothingShown, acknowledged, sent, isOver: seen.isOver }
  }

  // The connection belongs to other streams too.
  shutdown(): void {}
  close(): void {}
}

/** One request of an HTTP/2 client, served by the engine as an HTTP/1 connection. */
class StreamClient implements TlsClient, TlsOwner {
  owner: TlsOwner | undefined
  isClosed = false
  private responseHead = ''
  private hasResponse = false
  private isPaused = false
  private delivery: StreamDelivery | undefined

  constructor(
    readonly source: string,
    private readonly stream: Http2Stream,
    private readonly session: Http2Session,
    private readonly connectionWatch: () => DeliveryWatch | undefined,
    private pending: Uint8Array,
    private readonly isTunnel: boolean,
  ) {
    stream.owner = this
    stream.pause()
  }

  follow(): DeliveryWatch | undefined {
    const watch = this.connectionWatch()
    this.delivery ??= watch && new StreamDelivery(watch)
    return this.delivery
  }

  // --- from the stream ---

  onSocketData(bytes: Uint8Array): void {
    this.owner?.onSocketData(bytes)
  }

  onSocketDrain(): void {
    this.owner?.onSocketDrain()
  }

  onSocketEnd(): void {
    // The end of a request's body is in its length; only a tunnel is half-closed.
    if (this.isTunnel) this.owner?.onSocketEnd()
  }

  onSocketClose(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.owner?.onSocketClose()
  }

  // --- from the engine ---

  write(bytes: Uint8Array): number {
    if (this.hasResponse) return this.send(bytes)
    this.responseHead += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    const end = this.responseHead.indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.responseHead.length > maxResponseHeadBytes) this.stream.reset('internal')
      return bytes.length
    }
    const translated = translateResponse(this.responseHead.slice(0, end))
    const after = this.responseHead.length - end - 4
    this.responseHead = ''
    if (!translated) {
      this.stream.reset('internal')
      return bytes.length
    }
    const rest = bytes.subarray(bytes.length - after)
    if (translated.status < 200) return bytes.length - rest.length + this.write(rest)
    this.hasResponse = true
    this.respond(translated.fields, bytes.length - rest.length)
    return bytes.length - rest.length + (rest.length > 0 ? this.send(rest) : 0)
  }

  private respond(fields: readonly Field[], headBytes: number): void {
    this.stream.respond(fields, false)
    this.delivery?.note(this.session.queuedBytes, headBytes)
  }

  private send(bytes: Uint8Array): number {
    const taken = this.stream.write(bytes)
    if (taken > 0) this.delivery?.note(this.session.queuedBytes, taken)
    return taken
  }

  shutdown(): void {
    if (this.hasResponse) this.stream.shutdown()
    else this.stream.reset('internal')
  }

  end(): void {
    if (this.hasResponse) this.stream.end()
    else this.stream.reset('internal')
  }

  terminate(): void {
    this.stream.reset('connect')
  }

  pause(): void {
    this.isPaused = true
    this.stream.pause()
  }

  resume(): void {
    this.isPaused = false
    const head = this.pending
    this.pending = nothing
    if (head.length > 0) this.owner?.onSocketData(head)
    if (!this.isPaused) this.stream.resume()
  }

  setNoDelay(): void {}
}

export type Http2ClientsDeps = {
  readonly sockets: Sockets
  /** Gives a request to the engine. */
  readonly take: (client: TlsClient) => void
  readonly after: After
  /** Monotonic. */
  readonly clock: Clock
}

/** HTTP/2 connections of clients. */
export class Http2Clients {
  private readonly sessions = new Set<Http2Session>()
  private isDraining = false
  /** Requests since the start. */
  requests = 0

  constructor(private readonly deps: Http2ClientsDeps) {}

  /** Open connections. */
  get open(): number {
    return this.sessions.size
  }

  take(tls: TlsSocket): void {
    const { sockets, after, clock } = this.deps
    noteHandshake(tls, sockets)
    tls.setNoDelay(true)
    let watch: DeliveryWatch | undefined
    const connectionWatch = (): DeliveryWatch | undefined => (watch ??= followTls(tls, sockets))
    let cancelIdle = after(idleMs, () => session.drain())
    const session: Http2Session = new Http2Session({
      wire: tls,
      role: 'server',
      clock,
      onRequest: (stream, fields, isEnd) => {
        cancelIdle()
        this.request(tls.source, session, stream, fields, isEnd, connectionWatch)
      },
      onIdle: () => {
        cancelIdle = after(idleMs, () => session.drain())
      },
      onClosed: () => {
        cancelIdle()
        this.sessions.delete(session)
      },
    })
    this.sessions.add(session)
    tls.owner = session
    if (this.isDraining) session.drain()
  }

  /** Another process has taken over: clients connect to it for further requests. */
  drain(): void {
    this.isDraining = true
    for (const session of this.sessions) session.drain()
  }

  private request(
    source: string,
    session: Http2Session,
    stream: Http2Stream,
    fields: readonly Field[],
    isEnd: boolean,
    connectionWatch: () => DeliveryWatch | undefined,
  ): void {
    this.requests += 1
    const translated = translateRequest(fields, !isEnd)
    if (translated.type === 'malformed') stream.reset('protocol')
    else if (translated.type === 'refuse') {
      stream.respond([[':status', String(translated.status)]], true)
      stream.end()
    } else {
      const isTunnel = translated.type === 'tunnel'
      this.deps.take(new StreamClient(source, stream, session, connectionWatch, translated.head, isTunnel))
    }
  }
}
