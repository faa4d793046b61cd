import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import { prefixesOf, Seat } from '../../tls/seats.ts'
import type { TlsOwner, TlsSocket } from '../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../metering/tunnel-meter.ts'
import type { Sockets } from '../sides/sockets.ts'
import { followTls, noteHandshake, type TlsClient } from '../sides/tls-client.ts'
import { readAuthority } from '../ways-in/authority.ts'
import { HeldBytes, joinBytes } from '../ways-in/bytes.ts'
import { ChunkReader } from '../ways-in/http1/chunks.ts'
import { type Framing, HeadReader, isHop, isToken, readTokens, toLatin1, valuesOf } from '../ways-in/http1/head.ts'
import { readPlainConnect } from '../ways-in/http1/plain-connect.ts'
import { readFraming } from '../ways-in/http1/request.ts'
import type { Field } from '../ways-in/http2/hpack.ts'
import type { ClientParser } from '../ways-in/request.ts'
import { readUpgrade } from '../ways-in/websocket/upgrade.ts'
import { readXhttpRequest, splitPath } from '../ways-in/xhttp/request.ts'
import { AnswerWriter, bodyMs, createDeadline, type Deadline, maxBodyBytes, RequestBody, stallMs } from './answer.ts'
import { Http1Exchange } from './carried/http1-exchange.ts'
import { UploadConnection } from './carried/upload-connection.ts'
import { WebSocketCarrier } from './carried/websocket.ts'
import { plainAnswer, type SiteAnswer, type SiteRequest } from './content.ts'
import type { FairBudget } from './fair-budget.ts'
import { reasonPhrase } from './reason-phrase.ts'
import type { VisitedSite } from './visited-site.ts'

/** Time limits for a request's head, and between two requests. */
const requestMs = 10_000
const idleMs = 30_000
/** The same behind a request of a device's stream: its next request may be lost with the connection. */
const carriedIdleMs = 120_000
/** After the last answer, the client's bytes are discarded for this long. */
const lingerMs = 2000
const maxDiscarded = 256 * 1024
const maxHeldBytes = 256 * 1024
const headLimits = { startLineBytes: 8192, headBytes: 16_384, fields: 100, blankLinesBefore: 1, mends: false }
const nothing = new Uint8Array(0)
const sha1 = (text: string): Uint8Array => Bun.SHA1.hash(text) as Uint8Array

type RequestLine = { readonly method: string; readonly target: string; readonly version: '1.0' | '1.1' }

function readLine(line: string): RequestLine | number {
  const [method = '', target = '', protocol = '', ...more] = line.split(' ')
  if (more.length > 0 || !isToken(method) || !/^[\x21-\x7e]+$/.test(target)) return 400
  if (protocol === 'HTTP/1.1' || protocol === 'HTTP/1.0')
    return { method, target, version: protocol === 'HTTP/1.1' ? '1.1' : '1.0' }
  return /^HTTP\/\d\.\d$/.test(protocol) ? 505 : 400
}

/** The origin-form of a target (RFC 9112, 3.2). An absolute URI's host takes the place of Host. */
function readTarget({ method, target }: RequestLine): { readonly path: string; readonly host?: string } | undefined {
  if (method === 'CONNECT') return readAuthority(target) ? { path: '' } : undefined
  if (target.startsWith('/')) return { path: target }
  if (target === '*') return method === 'OPTIONS' ? { path: target } : undefined
  const match = /^https?:\/\/([^/?#]+)([^#]*)$/i.exec(target)
  if (!match || !readAuthority(match[1] ?? '', 443)) return undefined
  const rest = match[2] ?? ''
  return { path: rest.startsWith('/') ? rest : `/${rest}`, host: match[1] ?? '' }
}

type Draft = Omit<SiteRequest, 'body'> & {
  readonly version: '1.0' | '1.1'
  readonly framing: Framing
  readonly keepAlive: boolean
  readonly wantsContinue: boolean
}

/** A request's head, or the status of a refusal. */
function readDraft(line: RequestLine, { fields }: HeadReader, source: string): Draft | number {
  const where = readTarget(line)
  const named = readTokens(fields, 'connection')
  const hosts = valuesOf(fields, 'host')
  if (!where || !named || hosts.length > 1 || !hosts.every((host) => readAuthority(host, 443))) return 400
  if (hosts.length === 0 && line.version === '1.1') return 400
  const framing = readFraming({ path: where.path || undefined, version: line.version }, fields)
  if ('type' in framing) return framing.status
  const expectations = valuesOf(fields, 'expect')
  if (expectations.some((value) => value.toLowerCase() !== '100-continue')) return 417
  return {
    method: line.method,
    path: where.path,
    host: where.host ?? hosts[0] ?? '',
    fields: fields.flatMap(({ name, value }): Field[] => (isHop(name, named) ? [] : [[name, value]])),
    source,
    version: line.version,
    framing,
    keepAlive: line.version === '1.1' && !named.has('close'),
    wantsContinue: expectations.length > 0 && line.version === '1.1',
  }
}

const toLabel = (name: string): string => name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase())

/** The key of a protocol without HTTP is within fewer first bytes. */
const maxFirstBytes = 64

/** An HTTP/1 connection of a visitor, until a request has a customer's credentials. */
export class SiteVisitor implements TlsOwner {
  private state: 'head' | 'body' | 'busy' | 'carried' | 'closing' | 'closed' = 'head'
  private head = new HeadReader(headLimits)
  private line: RequestLine | undefined
  /** Bytes of the current head, for the engine. */
  private raw: Uint8Array[] = []
  private draft: Draft | undefined
  /** Bytes of the connection so far. */
  private received = 0
  private body: RequestBody
  private chunks: ChunkReader | undefined
  private left = 0
  private readonly held = new HeldBytes(maxHeldBytes)
  private readonly writer: AnswerWriter
  private discarded = 0
  private aborter: AbortController | undefined
  /** A request of a device's stream. */
  private exchange: Http1Exchange | undefined
  /** The client has half-closed. */
  private hasEnded = false
  private readonly deadline: Deadline
  readonly seat: Seat

  constructor(
    private tls: TlsSocket,
    private readonly site: VisitedSite,
  ) {
    noteHandshake(tls, site.deps.sockets)
    tls.setNoDelay(true)
    const prefixes = prefixesOf(tls.source)
    const open = (budget: FairBudget) => budget.open(prefixes.clientPrefix, () => this.tls.terminate())
    this.writer = new AnswerWriter(tls, open(site.answers))
    this.body = new RequestBody(open(site.bodies))
    this.deadline = createDeadline(site.deps.after)
    this.seat = new Seat(prefixes, () => {
      site.forget(this)
      this.tls.terminate()
    })
    this.deadline.set(requestMs, () => this.closeInOrder())
  }

  get isClosed(): boolean {
    return this.state === 'closed'
  }

  /** Between two requests. */
  private get isResting(): boolean {
    return this.state === 'head' && this.raw.length === 0
  }

  drain(): void {
    if (this.isResting) this.closeInOrder()
  }

  onSocketData(bytes: Uint8Array): void {
    this.site.touch(this)
    if (this.state === 'carried') this.exchange?.receive(bytes)
    else if (this.state === 'closing') this.discard(bytes)
    else if (this.state !== 'busy' && !this.handOverProven(bytes) && !this.handOverKeyed(bytes)) this.feed(bytes)
    else if (this.state === 'busy' && !this.held.add(bytes)) this.tls.terminate()
  }

  onSocketDrain(): void {
    this.site.touch(this)
    const isSent = this.writer.flush()
    if (this.state === 'carried' && isSent) this.exchange?.drain()
    else if (this.state === 'busy') this.awaitProgress()
    else if (this.state === 'closing' && isSent) this.tls.shutdown()
  }

  onSocketEnd(): void {
    // A client may half-close after its request, not within it.
    this.hasEnded = true
    if (this.state === 'carried') this.tls.terminate()
    else if (this.state !== 'busy') this.tls.end()
  }

  onSocketClose(): void {
    this.exchange?.lose()
    this.leave()
    this.writer.close()
    this.aborter?.abort()
  }

  private leave(): void {
    this.state = 'closed'
    this.deadline.clear()
    this.body.release()
    this.site.forget(this)
  }

  /**
   * Fast path: a customer whose credentials were right before begins with a plain CONNECT. The site reads those of all
   * others field by field, which costs four times as much. No key of a VPN device begins like CONNECT.
   */
  private handOverProven(bytes: Uint8Array): boolean {
    if (this.received > 0 || this.hasEnded) return false
    const credentials = readPlainConnect(bytes)?.credentials
    if (!credentials || !this.site.isProven(credentials)) return false
    this.handOver(bytes)
    return true
  }

  /**
   * Gives a connection that begins with the key of a VPN device to the engine. The site reads the bytes of all others
   * as they come, so that its answers depend on no key.
   */
  private handOverKeyed(bytes: Uint8Array): boolean {
    const before = this.received
    this.received += bytes.length
    if (before >= maxFirstBytes || this.hasEnded) return false
    const first = joinBytes([...this.raw, bytes])
    // Nothing was answered yet.
    const parser = first.length === this.received ? this.site.findKeyed(first, this.tls.source) : undefined
    if (parser) this.handOver(bytes, parser)
    return parser !== undefined
  }

  // --- reading ---

  private feed(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length && (this.state === 'head' || this.state === 'body'))
      at = this.state === 'head' ? this.readHead(bytes, at) : this.readBody(bytes, at)
    if (at < bytes.length && this.state === 'busy' && !this.held.add(bytes.subarray(at))) this.tls.terminate()
  }

  private readHead(bytes: Uint8Array, from: number): number {
    if (!this.line && this.raw.length === 0) this.deadline.set(requestMs, () => this.closeInOrder())
    const progress = this.head.read(bytes, from)
    const { next } = this.head
    if (progress === 'start') {
      const line = readLine(this.head.startLine)
      if (typeof line === 'number') this.refuse(line)
      else this.line = line
    } else if (progress === 'start_line_too_long') this.refuse(414)
    else if (progress === 'head_too_large') this.refuse(431)
    else if (progress === 'malformed') this.refuse(400)
    if (this.state !== 'head') return bytes.length
    this.raw.push(new Uint8Array(bytes.subarray(from, next)))
    if (progress !== 'done' || !this.line) return next
    return this.takeHead(this.line, bytes, next)
  }

  private takeHead(line: RequestLine, bytes: Uint8Array, next: number): number {
    const { fields } = this.head
    if (this.site.isCustomer((name) => valuesOf(fields, name), line.target)) {
      // The engine would not learn of an earlier half-close.
      if (this.hasEnded) this.closeInOrder()
      else this.handOver(bytes.subarray(next))
      return bytes.length
    }
    this.raw = []
    const draft = readDraft(line, this.head, this.tls.source)
    if (typeof draft === 'number') {
      this.refuse(draft)
      return bytes.length
    }
    if (this.takeCarried(draft, bytes, next)) return bytes.length
    this.draft = draft
    const { framing } = draft
    this.left = framing.kind === 'length' ? framing.bytes : 0
    this.chunks = framing.kind === 'chunked' ? new ChunkReader({ reencode: false, mends: false }) : undefined
    if (this.left > maxBodyBytes) this.refuse(413)
    else if (this.left === 0 && !this.chunks) this.serve(draft)
    else {
      this.state = 'body'
      this.deadline.set(bodyMs, () => this.closeInOrder())
      if (draft.wantsContinue) this.writer.push(toLatin1('HTTP/1.1 100 Continue\r\n\r\n'))
    }
    return this.isClosing() ? bytes.length : next
  }

  /** Gives a request of a device's stream to its session. False if it is another. */
  private takeCarried(draft: Draft, bytes: Uint8Array, next: number): boolean {
    const { tls, site, writer } = this
    const { path, rest } = splitPath(draft.path)
    const device = draft.version === '1.1' && !this.hasEnded ? site.findPath(path) : undefined
    if (device === undefined) return false
    const { fields } = this.head
    const read = (name: string) => valuesOf(fields, name)
    const upgrade = rest.length === 0 ? readUpgrade(draft.method, read, sha1) : undefined
    if (!site.isOn(upgrade ? 'websocket' : 'xhttp')) return false
    if (upgrade) {
      this.leave()
      const carrier = new WebSocketCarrier(tls, writer, device, { ...site.carried, sockets: site.deps.sockets })
      carrier.start(toHead(101, upgrade.fields, true), upgrade.early, new Uint8Array(bytes.subarray(next)))
      return true
    }
    const request = readXhttpRequest(draft.method, draft.path, draft.fields)
    if (!request) return false
    this.deadline.clear()
    this.state = 'carried'
    site.forget(this)
    const connection = request.kind === 'packet' ? this.toUpload() : undefined
    const exchange = new Http1Exchange(draft.framing, {
      tls: this.tls,
      upload: connection && { connection, device },
      writer,
      sockets: site.deps.sockets,
      toHead: (status, answer, isChunked) => {
        const framed: Field[] = isChunked ? [...answer, ['transfer-encoding', 'chunked']] : [...answer]
        return toHead(status, [...framed, ['date', new Date().toUTCString()]], draft.keepAlive && !site.isDraining)
      },
      onDone: (left) => this.comeBack(draft.keepAlive, left),
      onCutShort: () => this.closeInOrder(),
    })
    this.exchange = exchange
    if (connection) connection.giveBack(bytes.subarray(next))
    else if (bytes.length > next) exchange.receive(bytes.subarray(next))
    site.xhttp.take(device, request, exchange)
    return true
  }

  /** A packet has come: more will. */
  private toUpload(): UploadConnection {
    if (this.tls instanceof UploadConnection) return this.tls
    const connection = new UploadConnection(this.tls, this.site.readAhead, this.site.deps.after)
    this.tls = connection
    this.writer.socket = connection
    return connection
  }

  /** The exchange of a device's stream has ended. */
  private comeBack(keeps: boolean, rest: Uint8Array): void {
    this.exchange = undefined
    if (this.isClosed) return
    this.site.readmit(this)
    this.state = 'busy'
    if (rest.length > 0 && !this.held.add(rest)) return this.tls.terminate()
    const written = this.finish(keeps && !this.site.isDraining)
    if (written instanceof Promise) void written.catch(() => this.tls.terminate())
    else if (this.isResting) this.deadline.set(carriedIdleMs, () => this.closeInOrder())
  }

  private readBody(bytes: Uint8Array, from: number): number {
    const parts: Uint8Array[] = []
    const { chunks, draft } = this
    let next = Math.min(bytes.length, from + this.left)
    if (chunks) next = chunks.read(bytes, from, parts)
    else parts.push(bytes.subarray(from, next))
    if (!chunks) this.left -= next - from
    if (!parts.every((part) => this.body.add(part))) this.refuse(413)
    else if (chunks?.state === 'fault') this.refuse(400)
    else if (draft && (chunks ? chunks.state === 'done' : this.left === 0)) this.serve(draft)
    return this.isClosing() ? bytes.length : next
  }

  private isClosing(): boolean {
    return this.state === 'closing' || this.state === 'closed'
  }

  /** The engine reads the head again, and decides. */
  private handOver(rest: Uint8Array, parser?: ClientParser): void {
    const { tls, site } = this
    const { handOver, sockets } = site.deps
    // What the site has sent counts as sent before the customer's bytes.
    tls.handshakeBytes += this.writer.written
    this.leave()
    if (tls instanceof UploadConnection) tls.readsToEnd = false
    handOver(new ReadAhead(tls, joinBytes([...this.raw, rest]), sockets, parser))
  }

  // --- answering ---

  private serve(draft: Draft): void {
    this.state = 'busy'
    const aborter = new AbortController()
    this.aborter = aborter
    this.deadline.set(stallMs, () => aborter.abort())
    const body = this.body.take()
    const answer = this.site.answer({ ...draft, body }, aborter.signal)
    const written = whenReady(answer, (ready) => this.respond(ready, draft))
    if (written instanceof Promise) {
      this.tls.pause()
      void written.catch((fault: unknown) => this.fail(fault, aborter.signal))
    }
  }

  private fail(fault: unknown, signal: AbortSignal): void {
    this.site.noteFault(fault, signal)
    this.tls.terminate()
  }

  private respond(answer: SiteAnswer, draft: Draft): MaybePromise<void> {
    const { body } = answer
    const isHead = draft.method === 'HEAD'
    const { fields, hasBody } = this.site.complete(answer, isHead)
    const keeps = draft.keepAlive && !this.site.isDraining
    const head = toHead(answer.status, fields, keeps)
    this.writer.push(hasBody && body instanceof Uint8Array ? joinBytes([head, body]) : head)
    if (hasBody && !(body instanceof Uint8Array)) this.writer.pushFile(body)
    return this.finish(keeps)
  }

  private awaitProgress(): void {
    this.deadline.set(stallMs, () => this.tls.terminate())
  }

  private finish(keeps: boolean): MaybePromise<void> {
    if (this.isClosed) return
    if (!keeps) return this.closeInOrder()
    if (!this.writer.isSent) {
      // Backpressure: no further requests from a client that does not read.
      this.awaitProgress()
      return this.writer.drained().then(() => this.finish(keeps))
    }
    this.state = 'head'
    this.line = undefined
    this.head = new HeadReader(headLimits)
    this.deadline.set(idleMs, () => this.closeInOrder())
    const next = this.held.take()
    this.tls.resume()
    if (next.length > 0) this.feed(next)
    this.closeAfterEnd()
  }

  /** All requests that came before the client's half-close have been answered. */
  private closeAfterEnd(): void {
    if (this.hasEnded && this.state !== 'busy') this.closeInOrder()
  }

  private refuse(status: number): void {
    const answer = plainAnswer(status)
    const { fields } = this.site.complete(answer, false)
    this.site.requests += 1
    this.writer.push(
      joinBytes([toHead(status, fields, false), answer.body instanceof Uint8Array ? answer.body : nothing]),
    )
    this.closeInOrder()
  }

  /** Closes after the backlog is written, then discards incoming bytes: unread bytes would reset the connection. */
  private closeInOrder(): void {
    if (this.isClosing()) return
    this.state = 'closing'
    this.raw = []
    this.body.release()
    this.tls.resume()
    if (this.writer.isSent) this.tls.shutdown()
    this.deadline.set(lingerMs, () => this.letGo())
  }

  private letGo(): void {
    if (this.writer.isSent) this.tls.end()
    else this.awaitProgress()
  }

  private discard(bytes: Uint8Array): void {
    this.discarded += bytes.length
    if (this.discarded > maxDiscarded) this.tls.terminate()
  }
}

function toHead(status: number, fields: readonly Field[], keeps: boolean): Uint8Array {
  const lines = [`HTTP/1.1 ${status} ${reasonPhrase(status)}`]
  for (const [name, value] of fields) lines.push(`${toLabel(name)}: ${value}`)
  if (!keeps) lines.push('Connection: close')
  return toLatin1(`${lines.join('\r\n')}\r\n\r\n`)
}

/**
 * A TLS connection whose first bytes were read already; they are delivered when the engine begins to read. Methods, not
 * functions of each object: they would enlarge idle tunnels.
 */
class ReadAhead implements TlsClient, TlsOwner {
  owner: TlsOwner | undefined
  readonly isUnread = true
  private isPaused = true

  constructor(
    private readonly tls: TlsSocket,
    private pending: Uint8Array,
    private readonly sockets: Sockets,
    readonly parser: ClientParser | undefined,
  ) {
    tls.owner = this
    tls.pause()
  }

  follow(): DeliveryWatch | undefined {
    return followTls(this.tls, this.sockets)
  }

  get isClosed(): boolean {
    return this.tls.isClosed
  }

  get source(): string {
    return this.tls.source
  }

  get fd(): number {
    return this.tls.fd
  }

  get borrows(): boolean {
    return this.owner?.borrows === true
  }

  onSocketData(bytes: Uint8Array): void {
    this.owner?.onSocketData(bytes)
  }

  onSocketDrain(): void {
    this.owner?.onSocketDrain()
  }

  onSocketEnd(): void {
    this.owner?.onSocketEnd()
  }

  onSocketClose(): void {
    this.owner?.onSocketClose()
  }

  get isHolding(): boolean {
    return this.tls.isHolding === true
  }

  announceEnd(): void {
    this.tls.announceEnd?.()
  }

  write(bytes: Uint8Array): number {
    return this.tls.write(bytes)
  }

  shutdown(): void {
    this.tls.shutdown()
  }

  end(): void {
    this.tls.end()
  }

  terminate(): void {
    this.tls.terminate()
  }

  setNoDelay(yes: boolean): void {
    this.tls.setNoDelay(yes)
  }

  pause(): void {
    this.isPaused = true
    this.tls.pause()
  }

  resume(): void {
    this.isPaused = false
    const first = this.pending
    this.pending = nothing
    if (first.length > 0) this.owner?.onSocketData(first)
    if (!this.isPaused) this.tls.resume()
  }
}
