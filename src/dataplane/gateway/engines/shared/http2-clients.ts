import type { After, Clock } from '../../../../core/time.ts'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import type { Sockets } from '../../sides/sockets.ts'
import { ConnectionDelivery, StreamDelivery, type StreamPlace } from '../../sides/stream-delivery.ts'
import { followTls, noteHandshake, type TlsClient } from '../../sides/tls-client.ts'
import type { SiteServer } from '../../site/server.ts'
import { joinBytes } from '../../ways-in/bytes.ts'
import type { FieldPair } from '../../ways-in/http1/head.ts'
import { PaddedWrites, PaddingReader } from '../../ways-in/http2/padding.ts'
import { readStreamRequest, StreamParser, toRefusedAnswer } from '../../ways-in/http2/request.ts'
import { Http2Session } from '../../ways-in/http2/session.ts'
import type { Http2Stream } from '../../ways-in/http2/stream.ts'
import type { ProxyRequest, Verdict } from '../../ways-in/request.ts'
import { extensions } from '../../ways-in/table.ts'

/** A connection without an open request is closed after this long. */
const idleMs = 120_000
/** A new connection is closed if no request with valid credentials has come within this time. */
const firstAdmissionMs = 10_000
/** Frames that a request of XHTTP and its answer cost beside its bytes. */
const framesOfRequest = 8
/** Refused requests in a row before the connection is closed. */
const maxRefusals = 20

const nothing = new Uint8Array(0)

/** One stream of an HTTP/2 connection as a client: its first bytes are the header block. */
class StreamClient implements TlsClient, TlsOwner {
  owner: TlsOwner | undefined
  isClosed = false
  /** The whole header block, or what is there of it. */
  private block: Uint8Array = nothing
  private hasBlock = false
  private delivery: StreamDelivery | undefined
  /** Of a client of NaïveProxy. */
  private readonly padding: { readonly reader: PaddingReader; readonly writes: PaddedWrites } | undefined
  /** To do once a padded frame is sent. */
  private afterFlush: 'nothing' | 'shutdown' | 'end' = 'nothing'

  constructor(
    private readonly tls: Pick<TlsSocket, 'source' | 'fd'>,
    readonly parser: StreamParser,
    private readonly stream: Http2Stream,
    private readonly session: Http2Session,
    private readonly connection: ConnectionDelivery,
    isPadded: boolean,
  ) {
    this.padding = isPadded ? this.openPadding() : undefined
    stream.owner = this
    stream.pause()
  }

  get source(): string {
    return this.tls.source
  }

  readonly isShared = true

  /** Of the connection: its acknowledged bytes prove that the client reads, if the stream's window let bytes pass. */
  get fd(): number {
    return this.tls.fd
  }

  follow(): DeliveryWatch | undefined {
    if (this.delivery) return this.delivery
    const watch = this.connection.share()
    this.delivery = watch && new StreamDelivery(watch, () => this.connection.release())
    return this.delivery
  }

  // --- from the stream ---

  onSocketData(bytes: Uint8Array): void {
    if (!this.padding) return this.owner?.onSocketData(bytes)
    for (const part of this.padding.reader.feed(bytes)) this.owner?.onSocketData(part)
  }

  onSocketDrain(): void {
    if (this.padding && !this.padding.writes.flush()) return
    if (this.afterFlush === 'shutdown') this.stream.shutdown()
    else if (this.afterFlush === 'end') this.stream.end()
    else this.owner?.onSocketDrain()
  }

  onSocketEnd(): void {
    this.owner?.onSocketEnd()
  }

  onSocketClose(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.owner?.onSocketClose()
  }

  // --- from the engine ---

  write(bytes: Uint8Array): number {
    const rest = this.hasBlock ? bytes : this.takeBlock(bytes)
    const taken = rest.length > 0 ? this.writeBody(rest) : 0
    return bytes.length - rest.length + taken
  }

  private writeBody(bytes: Uint8Array): number {
    if (this.padding) return this.padding.writes.take(bytes)
    const taken = this.stream.write(bytes)
    if (taken > 0) this.noteTaken(taken)
    return taken
  }

  private readonly noteTaken = (bytes: number): void => this.delivery?.note(this.session.queuedBytes, bytes)

  private openPadding() {
    const write = (bytes: Uint8Array): number => this.stream.write(bytes)
    return { reader: new PaddingReader(), writes: new PaddedWrites(Math.random, write, this.noteTaken) }
  }

  /** Gathers the header block, which an allowance may have split. Returns what follows it. */
  private takeBlock(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, this.parser.blockBytes - this.block.length)
    this.block = joinBytes([this.block, part])
    if (this.block.length === this.parser.blockBytes) this.sendBlock(this.block, this.block.length)
    return bytes.subarray(part.length)
  }

  /** `counted`: its bytes for the engine. */
  sendBlock(block: Uint8Array, counted: number): void {
    this.hasBlock = true
    this.block = nothing
    this.stream.sendBlock(block, false)
    this.delivery?.note(this.session.queuedBytes, counted)
  }

  shutdown(): void {
    if (this.padding?.writes.isHolding) this.afterFlush = 'shutdown'
    else if (this.hasBlock) this.stream.shutdown()
    else this.stream.reset('internal')
  }

  end(): void {
    if (this.padding?.writes.isHolding) this.afterFlush = 'end'
    else if (this.hasBlock) this.stream.end()
    else this.stream.reset('internal')
  }

  terminate(): void {
    this.stream.reset('connect')
  }

  pause(): void {
    this.stream.pause()
  }

  resume(): void {
    this.stream.resume()
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
  /** Connections without an admitted request so far, and admitted ones without an open request; oldest first. */
  private readonly unadmitted = new Set<Http2Session>()
  private readonly idle = new Set<Http2Session>()
  private isDraining = false
  /** Requests since the start. */
  requests = 0

  constructor(private readonly deps: Http2ClientsDeps) {}

  /** Open connections. */
  get open(): number {
    return this.sessions.size
  }

  /** Connections that may be evicted. */
  get spare(): number {
    return this.unadmitted.size + this.idle.size
  }

  /** Evicts the oldest unadmitted connection, else the oldest idle one. False if all have an admitted request. */
  makeRoom(): boolean {
    const [spare] = this.unadmitted.size > 0 ? this.unadmitted : this.idle
    spare?.terminate()
    return spare !== undefined
  }

  /** With a site, requests without a customer's credentials get its answers, within its time limits. */
  take(tls: TlsSocket, site?: SiteServer): void {
    const { sockets, after, clock } = this.deps
    const { source } = tls
    noteHandshake(tls, sockets)
    tls.setNoDelay(true)
    const delivery = new ConnectionDelivery(() => followTls(tls, sockets))
    let refusals = 0
    const drainAfter = (ms: number): (() => void) => after(ms, () => session.drain())
    // Only an admitted request stops it, so that refused ones do not keep a connection open.
    let cancelTimer: (() => void) | undefined = drainAfter(firstAdmissionMs)
    const stopTimer = (): void => {
      cancelTimer?.()
      cancelTimer = undefined
      this.idle.delete(session)
    }
    const noteVerdict = ({ isAdmitted }: Verdict, request?: ProxyRequest): void => {
      if (isAdmitted && request?.claim.kind === 'ticket') session.trust()
      refusals = isAdmitted || session.isTrusted ? 0 : refusals + 1
      if (isAdmitted) this.unadmitted.delete(session)
      if (isAdmitted) stopTimer()
      else if (refusals >= maxRefusals) session.drain()
    }
    const noteAdmitted = (): void => {
      session.credit(framesOfRequest)
      noteVerdict({ isAdmitted: true })
    }
    const place: StreamPlace = { fd: tls.fd, delivery, position: () => session.queuedBytes, noteAdmitted }
    const session: Http2Session = new Http2Session({
      wire: tls,
      role: 'server',
      clock,
      onRequest: (stream, fields, isEnd) => {
        if (site) stopTimer()
        if (site?.takeStream(stream, fields, source, place)) return
        this.requests += 1
        const read = readOrRefuse(stream, fields, isEnd, source)
        if (!read) return noteVerdict(notAdmitted)
        const { request, bodyBytes, padding } = read
        const parser = new StreamParser(request, bodyBytes, (verdict) => noteVerdict(verdict, request), padding)
        this.deps.take(new StreamClient(tls, parser, stream, session, delivery, padding !== undefined))
      },
      onIdle: () => {
        if (cancelTimer) return
        cancelTimer = drainAfter(idleMs)
        this.idle.add(session)
      },
      onClosed: () => {
        stopTimer()
        this.unadmitted.delete(session)
        this.sessions.delete(session)
        delivery.close()
      },
    })
    this.sessions.add(session)
    this.unadmitted.add(session)
    tls.owner = session
    if (this.isDraining) session.drain()
  }

  /** Another process has taken over: clients connect to it for further requests. */
  drain(): void {
    this.isDraining = true
    for (const session of this.sessions) session.drain()
  }
}

const notAdmitted: Verdict = { isAdmitted: false, refusal: 'bad_credentials' }

/** The request of a stream; undefined if it is refused. */
function readOrRefuse(stream: Http2Stream, fields: readonly FieldPair[], isEnd: boolean, source: string) {
  const read = readStreamRequest(fields, !isEnd, { source, ownPort: undefined }, extensions)
  if (read.type === 'request') return read
  if (read.type === 'malformed') stream.reset('protocol')
  else refuseStream(stream, read)
  return undefined
}

function refuseStream(stream: Http2Stream, refused: Parameters<typeof toRefusedAnswer>[0]): void {
  const { block, body } = toRefusedAnswer(refused)
  stream.sendBlock(block, body.length === 0)
  if (body.length > 0) stream.write(body)
  stream.end()
}
