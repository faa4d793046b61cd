import { formatAuthority, readAuthority, type Target } from './authority.ts'
import { type Credentials, readBasic } from './basic-auth.ts'
import { HeldBytes, joinBytes } from './bytes.ts'
import { ChunkReader } from './http-chunks.ts'
import {
  type Field,
  type Framing,
  HeadReader,
  isHop,
  isToken,
  readLength,
  readTokens,
  toLatin1,
  valuesOf,
} from './http-head.ts'
import { readPlainConnect } from './plain-connect.ts'

/** A no to a malformed or unsupported request: the answer's status, its X-Turnpike-Error and its text. */
type HttpRefusal = {
  readonly type: 'refuse'
  readonly status: number
  readonly code: string
  readonly message: string
}

export type HttpVersion = '1.0' | '1.1'

/** A request line read (RFC 9112, 3): where to, and for a forwarded request the path the origin is asked for. */
type RequestLine = {
  readonly method: string
  readonly target: Target
  /** The origin-form of the target (RFC 9112, 3.2.1); undefined for CONNECT. */
  readonly path: string | undefined
  readonly version: HttpVersion
}

const refuse = (status: number, code: string, message: string): HttpRefusal => ({
  type: 'refuse',
  status,
  code,
  message,
})

const malformed = (message: string): HttpRefusal => refuse(400, 'bad_request', message)

export function readRequestLine(line: string): RequestLine | HttpRefusal {
  const [method = '', uri = '', protocol = '', ...more] = line.split(' ')
  if (more.length > 0 || !isToken(method) || !/^[\x21-\x7e]+$/.test(uri)) return malformed('malformed request line')
  const version = readVersion(protocol)
  if (version !== '1.0' && version !== '1.1') return version
  // TRACE shows a client what reached the origin, which no browser may ask for and no proxy needs to carry (RFC 9110,
  // 9.3.8).
  if (method === 'TRACE') return refuse(501, 'method_unsupported', 'TRACE is not carried')
  const where = method === 'CONNECT' ? readConnectTarget(uri) : readAbsolute(method, uri)
  return where.type === 'refuse' ? where : { method, target: where.target, path: where.path, version }
}

/** RFC 9110, 2.5 and 15.6.6: another major version is answered 505, the HTTP/2 preface (RFC 9113, 3.4) with it. */
function readVersion(protocol: string): HttpVersion | HttpRefusal {
  if (protocol === 'HTTP/1.1') return '1.1'
  if (protocol === 'HTTP/1.0') return '1.0'
  if (/^HTTP\/\d\.\d$/.test(protocol))
    return refuse(505, 'version_unsupported', 'only HTTP/1.1 and HTTP/1.0 are spoken here')
  return malformed('malformed request line')
}

type Where = { readonly type: 'where'; readonly target: Target; readonly path: string | undefined }

/** RFC 9112, 3.2.3: CONNECT names host and port and nothing else; there is no port it could mean by default. */
function readConnectTarget(uri: string): Where | HttpRefusal {
  const target = readAuthority(uri)
  return target ? { type: 'where', target, path: undefined } : malformed('CONNECT needs host:port')
}

/** RFC 9112, 3.2.2: whoever uses a proxy sends the whole URI. */
function readAbsolute(method: string, uri: string): Where | HttpRefusal {
  if (uri.startsWith('/') || uri === '*') {
    return refuse(400, 'not_a_proxy_request', 'this is a proxy: send the whole URI, or CONNECT')
  }
  if (/^https:/i.test(uri)) return refuse(400, 'use_connect', 'https goes through CONNECT')
  const match = /^http:\/\/([^/?#]*)([^#]*)$/i.exec(uri)
  const target = match && readAuthority(match[1] ?? '', 80)
  return match && target
    ? { type: 'where', target, path: toOriginForm(method, match[2] ?? '') }
    : malformed('malformed target URI')
}

/** An empty path is `/`; for OPTIONS without a query the last proxy asks for `*` (RFC 9112, 3.2.4). */
function toOriginForm(method: string, pathAndQuery: string): string {
  if (pathAndQuery === '') return method === 'OPTIONS' ? '*' : '/'
  return pathAndQuery.startsWith('/') ? pathAndQuery : `/${pathAndQuery}`
}

/** What the fields of a request say, decided once. */
type RequestHead = {
  readonly type: 'head'
  readonly credentials: Credentials | undefined
  /** What another gateway shows instead. */
  readonly ticket: string | undefined
  readonly framing: Framing
  readonly keepAlive: boolean
  readonly wantsContinue: boolean
  readonly upgrade: boolean
  /** What the Connection field names besides. */
  readonly named: ReadonlySet<string>
}

export function readRequestHead(line: RequestLine, fields: readonly Field[]): RequestHead | HttpRefusal {
  const named = readTokens(fields, 'connection')
  if (!named) return malformed('malformed Connection field')
  const problem = checkHost(line, fields)
  if (problem) return problem
  const framing = readFraming(line, fields)
  if (framing.kind === 'refused') return framing.refusal
  const credentials = readProxyAuthorization(fields)
  if (credentials?.type === 'refuse') return credentials
  const expectation = readExpectation(line, fields, framing)
  if (typeof expectation !== 'boolean') return expectation
  if (line.method === 'OPTIONS' && valuesOf(fields, 'max-forwards').includes('0')) {
    return refuse(501, 'method_unsupported', 'this proxy does not answer OPTIONS itself')
  }
  return {
    type: 'head',
    credentials: credentials?.credentials,
    ticket: credentials?.ticket,
    framing,
    // RFC 9112, 9.3: a proxy keeps no connection open for an HTTP/1.0 client.
    keepAlive: line.version === '1.1' && !named.has('close'),
    wantsContinue: expectation,
    upgrade: asksForUpgrade(line, fields, framing, named),
    named,
  }
}

/**
 * RFC 9112, 3.2: one Host that is an authority, whatever it names; the target URI decides (3.2.2). It may be missing
 * from HTTP/1.0, and from CONNECT, where hand-written clients leave it out and the target is whole without it.
 */
function checkHost(line: RequestLine, fields: readonly Field[]): HttpRefusal | undefined {
  const hosts = valuesOf(fields, 'host')
  const mayLack = line.version === '1.0' || line.path === undefined
  if (hosts.length > 1) return malformed('more than one Host')
  if (hosts.length === 0 && !mayLack) return malformed('Host is missing')
  return hosts.every((host) => readAuthority(host, 80)) ? undefined : malformed('malformed Host')
}

type RefusedFraming = { readonly kind: 'refused'; readonly refusal: HttpRefusal }

/** RFC 9112, 6.3, at its strictest: a request whose length two readers could see differently is refused. */
function readFraming(line: RequestLine, fields: readonly Field[]): Framing | RefusedFraming {
  const no = (refusal: HttpRefusal): RefusedFraming => ({ kind: 'refused', refusal })
  const lengths = valuesOf(fields, 'content-length')
  const codings = valuesOf(fields, 'transfer-encoding')
  if (lengths.length + codings.length > 1) return no(malformed('more than one length'))
  if (codings.length === 1) {
    if (line.path === undefined) return no(malformed('CONNECT has no body'))
    if (line.version === '1.0') return no(malformed('HTTP/1.0 knows no Transfer-Encoding'))
    return readCoding(codings[0] ?? '')
  }
  if (lengths.length === 0) return { kind: 'none' }
  const bytes = readLength(lengths[0] ?? '')
  if (bytes === undefined) return no(malformed('malformed Content-Length'))
  if (bytes > 0 && line.path === undefined) return no(malformed('CONNECT has no body'))
  return { kind: 'length', bytes }
}

/** RFC 9112, 6.1: a coding that is not understood is answered 501, a body whose end is not marked by `chunked` 400. */
function readCoding(value: string): Framing | RefusedFraming {
  if (value.toLowerCase() === 'chunked') return { kind: 'chunked' }
  const isOther = /^[\w!#$%&'*+.^`|~-]+[ \t]*,[ \t]*chunked$/i.test(value) && !/^chunked\b/i.test(value)
  const refusal = isOther
    ? refuse(501, 'transfer_coding_unsupported', 'no transfer coding but chunked is carried')
    : malformed('malformed Transfer-Encoding')
  return { kind: 'refused', refusal }
}

type Authorization = {
  readonly type: 'read'
  readonly credentials?: Credentials | undefined
  readonly ticket?: string | undefined
}

/** The scheme of one gateway that asks another. What follows is not read here. */
const hopPattern = /^Turnpike-Hop (.{1,600})$/

/** RFC 9110, 11.7.2. What is not Basic, or is badly written, is asked for again with 407. */
function readProxyAuthorization(fields: readonly Field[]): Authorization | HttpRefusal | undefined {
  const values = valuesOf(fields, 'proxy-authorization')
  if (values.length === 0) return undefined
  if (values.length > 1) return malformed('more than one Proxy-Authorization')
  const ticket = hopPattern.exec(values[0] ?? '')?.[1]
  if (ticket !== undefined) return { type: 'read', ticket }
  const credentials = readBasic(values[0] ?? '')
  if (!credentials)
    return refuse(407, 'bad_credentials', 'Proxy-Authorization must be Basic with a name and a password')
  return { type: 'read', credentials }
}

/** RFC 9110, 10.1.1: true when the client waits for a 100 before its body. Ignored from HTTP/1.0 and without a body. */
function readExpectation(line: RequestLine, fields: readonly Field[], framing: Framing): boolean | HttpRefusal {
  const values = valuesOf(fields, 'expect')
  if (values.some((value) => value.toLowerCase() !== '100-continue')) {
    return refuse(417, 'expectation_failed', 'no expectation but 100-continue can be met')
  }
  return values.length > 0 && hasBody(framing) && line.version === '1.1'
}

const hasBody = (framing: Framing): boolean =>
  framing.kind === 'chunked' || (framing.kind === 'length' && framing.bytes > 0)

/**
 * RFC 9110, 7.8: asked for by Upgrade and by Connection, in HTTP/1.1. With a body, or for h2c (whose settings are a
 * hop-by-hop field and whose upgrade RFC 9113 gave up), the field is dropped and the request goes on without it.
 */
function asksForUpgrade(line: RequestLine, fields: readonly Field[], framing: Framing, named: ReadonlySet<string>) {
  const asked = valuesOf(fields, 'upgrade')
  return (
    line.version === '1.1' &&
    named.has('upgrade') &&
    !hasBody(framing) &&
    asked.length === 1 &&
    /^[\w!#$%&'*+.^`|~/-]+$/.test(asked[0] ?? '') &&
    !/^h2c/i.test(asked[0] ?? '')
  )
}

/**
 * The head the origin gets: fields in the client's order and spelling, less those of this hop; Host, length and
 * Connection written anew from what was read, each where the client had it. Nothing is added that tells of the client
 * or of this proxy.
 */
export function toOriginHead(line: RequestLine, head: RequestHead, fields: readonly Field[]): Uint8Array {
  const regenerated = new Map([
    ['host', `Host: ${formatAuthority(line.target, 80)}`],
    ...toFramingField(head.framing),
    ['connection', `Connection: ${head.upgrade ? 'upgrade' : 'close'}`] as const,
  ])
  const lines = [`${line.method} ${line.path ?? '/'} HTTP/1.1`]
  if (!fields.some((field) => field.name === 'host')) lines.push(takeFrom(regenerated, 'host'))
  for (const field of fields) {
    if (regenerated.has(field.name)) lines.push(takeFrom(regenerated, field.name))
    else if (isPassed(field, head)) lines.push(`${field.label}: ${toOriginValue(line, field)}`)
  }
  return toLatin1(`${[...lines, ...regenerated.values()].join('\r\n')}\r\n\r\n`)
}

function toFramingField(framing: Framing): (readonly [string, string])[] {
  if (framing.kind === 'length') return [['content-length', `Content-Length: ${framing.bytes}`]]
  return framing.kind === 'chunked' ? [['transfer-encoding', 'Transfer-Encoding: chunked']] : []
}

function takeFrom(lines: Map<string, string>, name: string): string {
  const line = lines.get(name) ?? ''
  lines.delete(name)
  return line
}

/** The fields written anew are never copied, whichever of them a second line repeats. */
function isPassed(field: Field, head: RequestHead): boolean {
  if (field.name === 'host' || field.name === 'content-length') return false
  if (field.name === 'upgrade') return head.upgrade
  if (field.name === 'expect') return head.wantsContinue
  return !isHop(field.name, head.named)
}

/** RFC 9110, 7.6.2: each proxy on the way of an OPTIONS counts Max-Forwards down. */
function toOriginValue(line: RequestLine, field: Field): string {
  const forwards = line.method === 'OPTIONS' && field.name === 'max-forwards' ? readLength(field.value) : undefined
  return forwards === undefined ? field.value : String(forwards - 1)
}

export type HttpEvent =
  /**
   * CONNECT: everything after the head stays in rest(). Refused, and `keepAlive`, next() reads on as if nothing had
   * been asked.
   */
  | {
      readonly type: 'tunnel'
      readonly target: Target
      readonly credentials: Credentials | undefined
      /** What another gateway shows instead of credentials. */
      readonly ticket?: string | undefined
      readonly keepAlive: boolean
    }
  /** A request to forward. `head` is what the origin gets. */
  | {
      readonly type: 'request'
      readonly target: Target
      readonly credentials: Credentials | undefined
      readonly method: string
      readonly version: HttpVersion
      readonly head: Uint8Array
      readonly wantsContinue: boolean
      readonly upgrade: boolean
      readonly keepAlive: boolean
    }
  /** A piece of the body in the framing the origin gets. It may be a view of the chunk that was fed. */
  | { readonly type: 'body'; readonly bytes: Uint8Array }
  /** The request is complete. With `keepAlive` the next one is read after next(). */
  | { readonly type: 'end' }
  /** The client is to be answered and its connection closed; nothing more is read. */
  | HttpRefusal

type RequestLimits = {
  readonly requestLineBytes: number
  readonly headBytes: number
  readonly fields: number
  /** Bytes sent ahead of their turn: early data of a tunnel, requests pipelined behind another. */
  readonly heldBytes: number
}

const shippedLimits: RequestLimits = {
  requestLineBytes: 8 * 1024,
  headBytes: 16 * 1024,
  fields: 100,
  heldBytes: 256 * 1024,
}

const noLimits: Partial<RequestLimits> = {}

/**
 * Reads what a client sends on one connection (RFC 9112). Bytes in, events out, the same events however the bytes are
 * split. It stops by itself after each request and after CONNECT; what came behind is held until next() or rest().
 */
export class HttpRequestReader {
  /** How many of the client's bytes the request has come to so far, as they came. */
  taken = 0
  private readonly limits: RequestLimits
  private readonly held: HeldBytes
  private state: 'head' | 'length' | 'chunks' | 'waiting' | 'closed' = 'head'
  /** Absent before the first byte of a head. */
  private head: HeadReader | undefined
  private line: RequestLine | undefined
  private chunks: ChunkReader | undefined
  private left = 0
  private keepAlive = true
  private upgrade = false

  constructor(limits: Partial<RequestLimits> = noLimits) {
    this.limits = limits === noLimits ? shippedLimits : { ...shippedLimits, ...limits }
    this.held = new HeldBytes(this.limits.heldBytes)
  }

  feed(chunk: Uint8Array): HttpEvent[] {
    const out: HttpEvent[] = []
    let at = this.state === 'head' && !this.head ? this.readPlain(chunk, out) : 0
    while (at < chunk.length && this.state !== 'waiting' && this.state !== 'closed') {
      if (this.state === 'head') at = this.readHead(chunk, at, out)
      else if (this.state === 'length') at = this.passLength(chunk, at, out)
      else at = this.readChunks(chunk, at, out)
    }
    this.taken += at
    if (this.state === 'waiting' && at < chunk.length && !this.held.add(chunk.subarray(at))) {
      this.close(malformed('too much was sent ahead of its turn'), out)
    }
    return out
  }

  /**
   * True when a request or a CONNECT was read whole: next() or rest() may be called, and reading from the client is
   * best paused.
   */
  get isWaiting(): boolean {
    return this.state === 'waiting'
  }

  /** Reads the next request, beginning with what was held. On a connection that is not kept alive there is none. */
  next(): HttpEvent[] {
    if (this.state === 'closed') return []
    if (this.state !== 'waiting') throw new Error('the request before is not complete')
    if (!this.keepAlive) return this.drop()
    this.state = 'head'
    this.taken = 0
    this.head = undefined
    return this.feed(this.held.take())
  }

  /** What came after the head of a CONNECT or of a request to upgrade; given once. */
  rest(): Uint8Array {
    return this.held.take()
  }

  private newHead(): HeadReader {
    return new HeadReader({
      startLineBytes: this.limits.requestLineBytes,
      headBytes: this.limits.headBytes,
      fields: this.limits.fields,
      blankLinesBefore: 1,
      mends: false,
    })
  }

  /** A CONNECT like nearly all others. Nothing is taken of any other request. */
  private readPlain(chunk: Uint8Array, out: HttpEvent[]): number {
    const plain = this.limits === shippedLimits ? readPlainConnect(chunk) : undefined
    if (!plain) return 0
    out.push({ type: 'tunnel', target: plain.target, credentials: plain.credentials, keepAlive: true })
    this.keepAlive = true
    this.upgrade = false
    this.state = 'waiting'
    return plain.next
  }

  private readHead(chunk: Uint8Array, from: number, out: HttpEvent[]): number {
    this.head ??= this.newHead()
    const { head } = this
    const progress = head.read(chunk, from)
    if (progress === 'start') this.takeLine(head, out)
    else if (progress === 'done') this.takeHead(head, out)
    else if (progress !== 'more') this.close(toRefusal(progress), out)
    return head.next
  }

  private takeLine({ startLine }: HeadReader, out: HttpEvent[]): void {
    const line = readRequestLine(startLine)
    if ('type' in line) this.close(line, out)
    else this.line = line
  }

  private takeHead({ fields }: HeadReader, out: HttpEvent[]): void {
    const line = this.line
    if (!line) return
    const head = readRequestHead(line, fields)
    if (head.type === 'refuse') {
      this.close(head, out)
      return
    }
    const { credentials, ticket, wantsContinue, upgrade, keepAlive, framing } = head
    const { method, target, version } = line
    this.keepAlive = keepAlive
    this.upgrade = upgrade
    if (line.path === undefined) {
      out.push({ type: 'tunnel', target, credentials, keepAlive, ...(ticket !== undefined && { ticket }) })
      this.state = 'waiting'
      return
    }
    const bytes = toOriginHead(line, head, fields)
    out.push({ type: 'request', target, credentials, method, version, head: bytes, wantsContinue, upgrade, keepAlive })
    if (framing.kind === 'chunked') this.beginChunks()
    else this.beginLength(framing.kind === 'length' ? framing.bytes : 0, out)
  }

  private beginChunks(): void {
    this.chunks = new ChunkReader({ reencode: true, mends: false })
    this.state = 'chunks'
  }

  private beginLength(bytes: number, out: HttpEvent[]): void {
    this.left = bytes
    if (bytes > 0) this.state = 'length'
    else this.finish(out)
  }

  private passLength(chunk: Uint8Array, from: number, out: HttpEvent[]): number {
    const to = Math.min(chunk.length, from + this.left)
    out.push({ type: 'body', bytes: chunk.subarray(from, to) })
    this.left -= to - from
    if (this.left === 0) this.finish(out)
    return to
  }

  private readChunks(chunk: Uint8Array, from: number, out: HttpEvent[]): number {
    const reader = this.chunks
    if (!reader) return chunk.length
    const parts: Uint8Array[] = []
    const next = reader.read(chunk, from, parts)
    if (parts.length > 0) out.push({ type: 'body', bytes: joinBytes(parts) })
    if (reader.state === 'fault') this.close(malformed(reader.problem), out)
    if (reader.state === 'done') this.finish(out)
    return next
  }

  /** RFC 9112, 9.6: nothing behind a request that closes is looked at, unless it is what an upgrade begins with. */
  private finish(out: HttpEvent[]): void {
    out.push({ type: 'end' })
    this.state = this.keepAlive || this.upgrade ? 'waiting' : 'closed'
  }

  private close(refusal: HttpRefusal, out: HttpEvent[]): void {
    out.push(refusal)
    this.drop()
  }

  private drop(): HttpEvent[] {
    this.held.take()
    this.state = 'closed'
    return []
  }
}

function toRefusal(fault: 'start_line_too_long' | 'head_too_large' | 'malformed'): HttpRefusal {
  if (fault === 'start_line_too_long') return refuse(414, 'uri_too_long', 'the request line is too long')
  if (fault === 'head_too_large') return refuse(431, 'head_too_large', 'the header fields are too many or too long')
  return malformed('malformed header')
}
