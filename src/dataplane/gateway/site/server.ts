import { STATUS_CODES } from 'node:http'
import { type MaybePromise, whenReady } from '../../../core/maybe-promise.ts'
import type { After } from '../../../core/time.ts'
import type { FindBody } from '../../../node-protocol/state.ts'
import { prefixesOf, Seat, Seats } from '../../tls/seats.ts'
import type { TlsOwner, TlsSocket } from '../../tls/tls-socket.ts'
import { createCustomerCheck } from '../access/admission.ts'
import type { DeliveryWatch } from '../metering/tunnel-meter.ts'
import { readAuthority } from '../protocol/authority.ts'
import { HeldBytes, joinBytes } from '../protocol/bytes.ts'
import { ChunkReader } from '../protocol/http-chunks.ts'
import { type Framing, HeadReader, isHop, isToken, readTokens, toLatin1, valuesOf } from '../protocol/http-head.ts'
import { readFraming } from '../protocol/http-request.ts'
import type { Field } from '../protocol/http2/hpack.ts'
import { readParts } from '../protocol/http2/request.ts'
import type { Http2Stream, StreamOwner } from '../protocol/http2/stream.ts'
import { followTls, noteHandshake, type Sockets, type TlsClient } from '../relay/sockets.ts'
import {
  maxAnswerBytes,
  plainAnswer,
  type SiteAnswer,
  type SiteContent,
  type SiteRequest,
  type SiteSource,
  toContent,
} from './content.ts'

/** Time limits: for a request's head, for its body, between two requests, and without progress of an answer. */
const requestMs = 10_000
const bodyMs = 30_000
const idleMs = 30_000
const stallMs = 30_000
/** After the last answer, the client's bytes are discarded for this long. */
const lingerMs = 2000
/** A lookup at the shop begins when the answer has been sent, so that its work does not delay the answer. */
const lookUpAfterMs = 25
const maxDiscarded = 256 * 1024
const maxHeldBytes = 256 * 1024
const maxBodyBytes = 1024 * 1024
/** Bodies of all requests that are being received. */
const maxBodiesBytes = 64 * 1024 * 1024
const headLimits = { startLineBytes: 8192, headBytes: 16_384, fields: 100, blankLinesBefore: 1, mends: false }
const allowed: Field = ['allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']
const udpPath = '/.well-known/masque/udp/'
const nothing = new Uint8Array(0)

export type SiteServerDeps = {
  readonly content: SiteContent
  /** Whether the values of Proxy-Authorization are those of a customer or of another gateway. Does not wait. */
  readonly isCustomer: (authorization: readonly string[], source: string) => boolean
  /** The server name of clients that are not shown the site. */
  readonly challengeHost: string | undefined
  /** Serves a customer's connection. The bytes that were read come first. */
  readonly handOver: (client: TlsClient) => void
  readonly sockets: Sockets
  readonly after: After
  readonly onFault: (fault: unknown) => void
}

export type LookUp = (question: FindBody, source: string) => void

/** The site of a gateway as data, for the threads that do TLS. */
export type SiteTerms = {
  readonly source: SiteSource
  readonly challengeHost: string | undefined
  /** Of the known customers. */
  readonly table: SharedArrayBuffer
  readonly seed: bigint
}

/** Opens the site on this thread. */
export function openSite(
  terms: SiteTerms,
  deps: Pick<SiteServerDeps, 'sockets' | 'after' | 'onFault'> & {
    readonly take: (client: TlsClient) => void
    readonly lookUp: LookUp
  },
) {
  let { table } = terms
  const sha256 = (text: string) => Bun.SHA256.hash(text) as Uint8Array
  const { seed, challengeHost } = terms
  const isCustomer = createCustomerCheck({
    table: () => table,
    seed,
    sha256,
    lookUp: (question, source) => void deps.after(lookUpAfterMs, () => deps.lookUp(question, source)),
  })
  const site = new SiteServer({
    ...deps,
    handOver: deps.take,
    content: toContent(terms.source),
    isCustomer,
    challengeHost,
  })
  return {
    site,
    moveTable: (moved: SharedArrayBuffer): void => {
      table = moved
    },
  }
}

/** A web site on a gateway's TLS port. Requests with a customer's credentials go to the engine instead. */
export class SiteServer {
  private readonly seats = new Seats(0, () => 0)
  private readonly visitors = new Set<Visitor>()
  private bodiesBytes = 0
  private date = { second: 0, text: '' }
  isDraining = false
  /** Requests since the start. */
  requests = 0

  constructor(readonly deps: SiteServerDeps) {}

  /** Open HTTP/1 connections without a customer's request. */
  get open(): number {
    return this.visitors.size
  }

  /** Serves an HTTP/1 connection. */
  take(tls: TlsSocket): void {
    const visitor = new Visitor(tls, this)
    this.visitors.add(visitor)
    this.seats.add(visitor.seat)
    tls.owner = visitor
  }

  /** Serves a request of an HTTP/2 connection. False if it is a customer's. */
  takeStream(stream: Http2Stream, fields: readonly Field[], source: string): boolean {
    const read = (name: string) => fields.flatMap(([each, value]) => (each === name ? value : []))
    if (this.isCustomer(read, read(':path')[0] ?? '', source)) return false
    const request = readStreamRequest(fields)
    if (request) stream.owner = new StreamVisitor(stream, request, source, this)
    else stream.reset('protocol')
    return true
  }

  isFor(tls: TlsSocket): boolean {
    const { challengeHost } = this.deps
    return challengeHost === undefined || tls.serverName !== challengeHost
  }

  /** RFC 9298, 3: a client of connect-udp may send Authorization. */
  isCustomer(read: (name: string) => readonly string[], target: string, source: string): boolean {
    const ofProxy = read('proxy-authorization')
    const values = ofProxy.length === 0 && target.includes(udpPath) ? read('authorization') : ofProxy
    return values.length > 0 && this.deps.isCustomer(values, source)
  }

  /** Closes the least recently used HTTP/1 connection of the largest network. False if there is none. */
  makeRoom(): boolean {
    if (this.visitors.size === 0) return false
    this.seats.makeRoom()
    return true
  }

  touch(visitor: Visitor): void {
    if (this.visitors.has(visitor)) this.seats.touch(visitor.seat)
  }

  forget(visitor: Visitor): void {
    if (this.visitors.delete(visitor)) this.seats.remove(visitor.seat)
  }

  /** Another process has taken over: connections close after their current answer. */
  drain(): void {
    this.isDraining = true
    for (const visitor of this.visitors) visitor.drain()
  }

  /** False if there is no room for these bytes of a body; negative bytes are returned. */
  reserve(bytes: number): boolean {
    if (this.bodiesBytes + bytes > maxBodiesBytes) return false
    this.bodiesBytes += bytes
    return true
  }

  answer(request: SiteRequest, signal: AbortSignal): MaybePromise<SiteAnswer> {
    this.requests += 1
    const { method, path } = request
    if (method === 'CONNECT' || method === 'TRACE') return plainAnswer(405, undefined, allowed)
    if (path === '*') return { status: 200, fields: [], body: nothing }
    const answer = this.deps.content(request, signal)
    return answer instanceof Promise ? answer.catch((fault: unknown) => this.fail(fault)) : answer
  }

  private fail(fault: unknown): SiteAnswer {
    this.deps.onFault(fault)
    return plainAnswer(500)
  }

  /** Fields of an answer with its date and length; undefined length is unknown. */
  complete({ status, fields, body, length }: SiteAnswer, isHead: boolean) {
    const hasContent = status >= 200 && status !== 204 && status !== 304
    const known = body instanceof Uint8Array && !(isHead && length !== undefined) ? body.length : length
    const all: Field[] = [...fields, ['date', this.now()]]
    if (hasContent && known !== undefined) all.push(['content-length', String(known)])
    return { fields: all, length: hasContent ? known : 0, hasBody: hasContent && !isHead }
  }

  private now(): string {
    const second = Math.floor(Date.now() / 1000)
    if (second !== this.date.second) this.date = { second, text: new Date(second * 1000).toUTCString() }
    return this.date.text
  }
}

// --- one answer ---

/** Where the body of an answer is written. */
type Sink = {
  /** False if the rest waits for drained(). */
  write(bytes: Uint8Array): boolean
  drained(): Promise<void>
  readonly isClosed: boolean
}

/** Writes a body. False if it was cut off. */
async function pump(sink: Sink, body: ReadableStream<Uint8Array>, length: number | undefined): Promise<boolean> {
  const reader = body.getReader()
  let sent = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return length === undefined || sent === length
      sent += value.length
      if (sent > (length ?? maxAnswerBytes)) return false
      if (!sink.write(value)) await sink.drained()
      if (sink.isClosed) return false
    }
  } catch {
    return false
  } finally {
    void reader.cancel().catch(() => {})
  }
}

/** Bytes of a request's body within the limits. */
class Body {
  private parts: Uint8Array[] = []
  private bytes = 0

  constructor(private readonly site: SiteServer) {}

  add(bytes: Uint8Array): boolean {
    if (this.bytes + bytes.length > maxBodyBytes || !this.site.reserve(bytes.length)) return false
    this.parts.push(new Uint8Array(bytes))
    this.bytes += bytes.length
    return true
  }

  take(): Uint8Array {
    const all = joinBytes(this.parts)
    this.release()
    return all
  }

  release(): void {
    this.site.reserve(-this.bytes)
    this.bytes = 0
    this.parts = []
  }
}

type Deadline = { set(ms: number, act: () => void): void; clear(): void }

function createDeadline(after: After): Deadline {
  let cancel: (() => void) | undefined
  const clear = (): void => {
    cancel?.()
    cancel = undefined
  }
  return {
    clear,
    set(ms, act) {
      clear()
      cancel = after(ms, act)
    },
  }
}

// --- HTTP/1 ---

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

/** An HTTP/1 connection of a visitor, until a request has a customer's credentials. */
class Visitor implements TlsOwner, Sink {
  private state: 'head' | 'body' | 'busy' | 'closing' | 'closed' = 'head'
  private head = new HeadReader(headLimits)
  private line: RequestLine | undefined
  /** Bytes of the current head, for the engine. */
  private raw: Uint8Array[] = []
  private draft: Draft | undefined
  private body: Body
  private chunks: ChunkReader | undefined
  private left = 0
  private readonly held = new HeldBytes(maxHeldBytes)
  private backlog: Uint8Array = nothing
  private written = 0
  private discarded = 0
  private wake: (() => void) | undefined
  private aborter: AbortController | undefined
  /** The client has half-closed. */
  private hasEnded = false
  /** The body of the current answer is sent in chunks. */
  private isChunked = false
  private readonly deadline: Deadline
  readonly seat: Seat

  constructor(
    private readonly tls: TlsSocket,
    private readonly site: SiteServer,
  ) {
    noteHandshake(tls, site.deps.sockets)
    tls.setNoDelay(true)
    this.body = new Body(site)
    this.deadline = createDeadline(site.deps.after)
    this.seat = new Seat(prefixesOf(tls.source), () => {
      site.forget(this)
      tls.terminate()
    })
    this.deadline.set(requestMs, () => this.closeInOrder())
  }

  get isClosed(): boolean {
    return this.state === 'closed'
  }

  drain(): void {
    if (this.state === 'head' && this.raw.length === 0) this.closeInOrder()
  }

  onSocketData(bytes: Uint8Array): void {
    this.site.touch(this)
    if (this.state === 'closing') this.discard(bytes)
    else if (this.state !== 'busy') this.feed(bytes)
    else if (!this.held.add(bytes)) this.tls.terminate()
  }

  onSocketDrain(): void {
    this.site.touch(this)
    const waiting = this.backlog
    this.backlog = nothing
    this.push(waiting)
    if (this.backlog.length > 0) return
    this.wake?.()
    if (this.state === 'closing') this.tls.shutdown()
  }

  onSocketEnd(): void {
    // A client may half-close after its request, not within it.
    this.hasEnded = true
    if (this.state !== 'busy') this.tls.end()
  }

  onSocketClose(): void {
    this.leave()
    this.wake?.()
    this.aborter?.abort()
  }

  private leave(): void {
    this.state = 'closed'
    this.deadline.clear()
    this.body.release()
    this.site.forget(this)
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
    if (this.site.isCustomer((name) => valuesOf(fields, name), line.target, this.tls.source)) {
      this.handOver(bytes.subarray(next))
      return bytes.length
    }
    this.raw = []
    const draft = readDraft(line, this.head, this.tls.source)
    if (typeof draft === 'number') {
      this.refuse(draft)
      return bytes.length
    }
    this.draft = draft
    const { framing } = draft
    this.left = framing.kind === 'length' ? framing.bytes : 0
    this.chunks = framing.kind === 'chunked' ? new ChunkReader({ reencode: false, mends: false }) : undefined
    if (this.left > maxBodyBytes) this.refuse(413)
    else if (this.left === 0 && !this.chunks) this.serve(draft)
    else {
      this.state = 'body'
      this.deadline.set(bodyMs, () => this.closeInOrder())
      if (draft.wantsContinue) this.push(toLatin1('HTTP/1.1 100 Continue\r\n\r\n'))
    }
    return this.isClosing() ? bytes.length : next
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
  private handOver(rest: Uint8Array): void {
    const { tls, site } = this
    const { handOver, sockets } = site.deps
    // What the site has sent counts as sent before the customer's bytes.
    tls.handshakeBytes += this.written
    this.leave()
    handOver(new ReadAhead(tls, joinBytes([...this.raw, rest]), () => followTls(tls, sockets)))
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
      void written.catch((fault: unknown) => this.fail(fault))
    }
  }

  private fail(fault: unknown): void {
    this.site.deps.onFault(fault)
    this.tls.terminate()
  }

  private respond(answer: SiteAnswer, draft: Draft): MaybePromise<void> {
    const { body } = answer
    const isHead = draft.method === 'HEAD'
    const { fields, length, hasBody } = this.site.complete(answer, isHead)
    const isChunked = hasBody && length === undefined && draft.version === '1.1'
    const keeps = draft.keepAlive && !this.site.isDraining && (!hasBody || length !== undefined || isChunked)
    const head = toHead(answer.status, fields, keeps, isChunked)
    if (this.isClosed || !hasBody || body instanceof Uint8Array) {
      answer.release?.()
      if (body instanceof ReadableStream) void body.cancel().catch(() => {})
      this.push(hasBody && body instanceof Uint8Array ? joinBytes([head, body]) : head)
      return this.finish(keeps)
    }
    this.push(head)
    this.isChunked = isChunked
    return pump(this, body, length).then((isWhole) => {
      answer.release?.()
      if (!isWhole) return this.tls.terminate()
      if (isChunked) this.push(toLatin1('0\r\n\r\n'))
      return this.finish(keeps)
    })
  }

  write(bytes: Uint8Array): boolean {
    this.deadline.set(stallMs, () => this.tls.terminate())
    if (!this.isChunked) this.push(bytes)
    else if (bytes.length > 0)
      this.push(joinBytes([toLatin1(`${bytes.length.toString(16)}\r\n`), bytes, toLatin1('\r\n')]))
    return this.backlog.length === 0
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  private push(bytes: Uint8Array): void {
    if (this.isClosed || bytes.length === 0) return
    const gone = this.backlog.length > 0 ? 0 : Math.max(0, this.tls.write(bytes))
    this.written += gone
    if (gone < bytes.length) this.backlog = joinBytes([this.backlog, bytes.subarray(gone)])
  }

  private finish(keeps: boolean): MaybePromise<void> {
    if (this.isClosed) return
    if (!keeps || this.hasEnded) return this.closeInOrder()
    if (this.backlog.length > 0) {
      // Backpressure: no further requests from a client that does not read.
      this.deadline.set(stallMs, () => this.tls.terminate())
      return this.drained().then(() => this.finish(keeps))
    }
    this.state = 'head'
    this.line = undefined
    this.head = new HeadReader(headLimits)
    this.deadline.set(idleMs, () => this.closeInOrder())
    const next = this.held.take()
    this.tls.resume()
    if (next.length > 0) this.feed(next)
  }

  private refuse(status: number): void {
    const answer = plainAnswer(status)
    const { fields } = this.site.complete(answer, false)
    this.site.requests += 1
    this.push(
      joinBytes([toHead(status, fields, false, false), answer.body instanceof Uint8Array ? answer.body : nothing]),
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
    if (this.backlog.length === 0) this.tls.shutdown()
    this.deadline.set(lingerMs, () => this.letGo())
  }

  private letGo(): void {
    if (this.backlog.length === 0) this.tls.end()
    else this.deadline.set(stallMs, () => this.tls.terminate())
  }

  private discard(bytes: Uint8Array): void {
    this.discarded += bytes.length
    if (this.discarded > maxDiscarded) this.tls.terminate()
  }
}

function toHead(status: number, fields: readonly Field[], keeps: boolean, isChunked: boolean): Uint8Array {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`]
  for (const [name, value] of fields) lines.push(`${toLabel(name)}: ${value}`)
  if (isChunked) lines.push('Transfer-Encoding: chunked')
  if (!keeps) lines.push('Connection: close')
  return toLatin1(`${lines.join('\r\n')}\r\n\r\n`)
}

/** A TLS connection whose first bytes were read already; they are delivered when the engine begins to read. */
class ReadAhead implements TlsClient, TlsOwner {
  owner: TlsOwner | undefined
  private isPaused = true

  constructor(
    private readonly tls: TlsSocket,
    private pending: Uint8Array,
    readonly follow: () => DeliveryWatch | undefined,
  ) {
    tls.owner = this
    tls.pause()
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

  onSocketData = (bytes: Uint8Array): void => this.owner?.onSocketData(bytes)
  onSocketDrain = (): void => this.owner?.onSocketDrain()
  onSocketEnd = (): void => this.owner?.onSocketEnd()
  onSocketClose = (): void => this.owner?.onSocketClose()

  write = (bytes: Uint8Array): number => this.tls.write(bytes)
  shutdown = (): void => this.tls.shutdown()
  end = (): void => this.tls.end()
  terminate = (): void => this.tls.terminate()
  setNoDelay = (yes: boolean): void => this.tls.setNoDelay(yes)

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

// --- HTTP/2 ---

/** Undefined if the request is malformed (RFC 9113, 8.1.1 and 8.3). */
function readStreamRequest(all: readonly Field[]): Omit<SiteRequest, 'body' | 'source'> | undefined {
  const parts = readParts(all)
  const method = parts?.pseudo.get(':method')
  if (!parts || method === undefined || !isToken(method)) return undefined
  const { pseudo, fields } = parts
  const [scheme, path] = [pseudo.get(':scheme'), pseudo.get(':path')]
  const host = pseudo.get(':authority') ?? fields.find(([name]) => name === 'host')?.[1] ?? ''
  const isPlainConnect = method === 'CONNECT' && !pseudo.has(':protocol')
  if (isPlainConnect ? scheme !== undefined || path !== undefined : !scheme || !path || !/^[\x21-\x7e]+$/.test(path))
    return undefined
  if (!isPlainConnect && !path?.startsWith('/') && !(method === 'OPTIONS' && path === '*')) return undefined
  const ended = fields.filter(([name]) => !isHop(name, new Set()) && name !== 'cookie')
  const cookies = fields.flatMap(([name, value]) => (name === 'cookie' ? value : []))
  if (cookies.length > 0) ended.push(['cookie', cookies.join('; ')])
  return { method, path: path ?? '', host, fields: ended }
}

/** A request of a visitor over HTTP/2. */
class StreamVisitor implements StreamOwner, Sink {
  private readonly body: Body
  private readonly aborter = new AbortController()
  private readonly deadline: Deadline
  private backlog: Uint8Array = nothing
  private wake: (() => void) | undefined
  private hasBegun = false

  constructor(
    private readonly stream: Http2Stream,
    private readonly request: Omit<SiteRequest, 'body' | 'source'>,
    private readonly source: string,
    private readonly site: SiteServer,
  ) {
    this.body = new Body(site)
    this.deadline = createDeadline(site.deps.after)
    this.deadline.set(bodyMs, () => stream.reset('cancel'))
    // The stream of a CONNECT stays open.
    if (request.method === 'CONNECT') this.serve()
  }

  get isClosed(): boolean {
    return this.stream.isClosed
  }

  onSocketData(bytes: Uint8Array): void {
    if (this.hasBegun || this.body.add(bytes)) return
    this.hasBegun = true
    this.body.release()
    void this.respond(plainAnswer(413))
  }

  onSocketEnd(): void {
    this.serve()
  }

  onSocketDrain(): void {
    const waiting = this.backlog
    this.backlog = nothing
    this.push(waiting)
    if (this.backlog.length === 0) this.wake?.()
  }

  onSocketClose(): void {
    this.deadline.clear()
    this.body.release()
    this.wake?.()
    this.aborter.abort()
  }

  private serve(): void {
    if (this.hasBegun) return
    this.hasBegun = true
    this.deadline.set(stallMs, () => this.aborter.abort())
    const { request, source, site } = this
    const answer = site.answer({ ...request, source, body: this.body.take() }, this.aborter.signal)
    const written = whenReady(answer, (ready) => this.respond(ready))
    if (written instanceof Promise)
      void written.catch((fault: unknown) => {
        site.deps.onFault(fault)
        this.stream.reset('internal')
      })
  }

  private respond(answer: SiteAnswer): MaybePromise<void> {
    const { body } = answer
    const { fields, length, hasBody } = this.site.complete(answer, this.request.method === 'HEAD')
    const isEmpty = !hasBody || (body instanceof Uint8Array && body.length === 0)
    this.stream.respond([[':status', String(answer.status)], ...fields], isEmpty)
    if (isEmpty || body instanceof Uint8Array) {
      answer.release?.()
      if (body instanceof ReadableStream) void body.cancel().catch(() => {})
      else if (!isEmpty) this.push(body)
      return this.backlog.length === 0 ? this.finish() : this.drained().then(() => this.finish())
    }
    return pump(this, body, length).then((isWhole) => {
      answer.release?.()
      if (!isWhole) return this.stream.reset('internal')
      return this.backlog.length === 0 ? this.finish() : this.drained().then(() => this.finish())
    })
  }

  private finish(): void {
    this.deadline.clear()
    this.stream.end()
  }

  write(bytes: Uint8Array): boolean {
    this.deadline.set(stallMs, () => this.stream.reset('cancel'))
    this.push(bytes)
    return this.backlog.length === 0
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
    })
  }

  private push(bytes: Uint8Array): void {
    if (this.isClosed || bytes.length === 0) return
    const gone = this.backlog.length > 0 ? 0 : this.stream.write(bytes)
    if (gone < bytes.length) this.backlog = joinBytes([this.backlog, bytes.subarray(gone)])
  }
}
