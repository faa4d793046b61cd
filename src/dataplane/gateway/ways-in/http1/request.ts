import { type ConnectTarget, formatAuthority, readAuthority } from '../authority.ts'
import { HeldBytes, joinBytes } from '../bytes.ts'
import { refusalOf } from '../refusals.ts'
import {
  type Answer,
  type Asker,
  type Claim,
  type ClientAddress,
  type ClientEvent,
  type ClientParser,
  claimOf,
  type Extension,
  type ProxyRequest,
  type Verdict,
} from '../request.ts'
import { type Credentials, readBasic } from './basic-auth.ts'
import { ChunkReader } from './chunks.ts'
import {
  type FieldPair,
  type Framing,
  type HeaderField,
  type HeaderFields,
  HeadReader,
  type HttpVersion,
  isHop,
  isToken,
  readLength,
  readTokens,
  toAnswer,
  toLatin1,
  toText,
  valuesOf,
} from './head.ts'
import { readPlainConnect } from './plain-connect.ts'
import { type ResponseHead, toHeadText } from './response.ts'

/** The response to a malformed or unsupported request; `code` goes into X-Turnpike-Error. */
export type HttpRefusal = {
  readonly type: 'refuse'
  readonly status: number
  readonly code: string
  readonly message: string
}

/** A parsed request line (RFC 9112, 3). */
type RequestLine = {
  readonly method: string
  readonly target: ConnectTarget
  /** Origin-form (RFC 9112, 3.2.1); undefined for CONNECT. */
  readonly path: string | undefined
  readonly version: HttpVersion
  /** A request for this proxy itself, whose path has the target. */
  readonly extension?: Extension
}

export function refuse(status: number, code: string, message: string): HttpRefusal {
  return { type: 'refuse', status, code, message }
}

export const malformed = (message: string): HttpRefusal => refuse(400, 'bad_request', message)

export function readRequestLine(line: string, extensions: readonly Extension[] = []): RequestLine | HttpRefusal {
  const [method = '', uri = '', protocol = '', ...more] = line.split(' ')
  if (more.length > 0 || !isToken(method) || !/^[\x21-\x7e]+$/.test(uri)) return malformed('malformed request line')
  const version = readVersion(protocol)
  if (version !== '1.0' && version !== '1.1') return version
  if (method === 'TRACE') return traceRefused
  const path = uri.replace(/^https:\/\/[^/?#]*/i, '')
  for (const extension of method === 'GET' ? extensions : []) {
    const target = extension.readPath(path)
    if (target) return { method, target, path, version, extension }
  }
  const where = method === 'CONNECT' ? readConnectTarget(uri) : readAbsolute(method, uri)
  return where.type === 'refuse' ? where : { method, target: where.target, path: where.path, version }
}

/** RFC 9110, 9.3.8: TRACE would reveal what reached the origin. */
export const traceRefused = refuse(501, 'method_unsupported', 'TRACE is not supported')

/** RFC 9110, 2.5 and 15.6.6: other versions get 505, the HTTP/2 preface (RFC 9113, 3.4) included. */
function readVersion(protocol: string): HttpVersion | HttpRefusal {
  if (protocol === 'HTTP/1.1') return '1.1'
  if (protocol === 'HTTP/1.0') return '1.0'
  if (/^HTTP\/\d\.\d$/.test(protocol))
    return refuse(505, 'version_unsupported', 'only HTTP/1.1 and HTTP/1.0 are spoken here')
  return malformed('malformed request line')
}

type Where = { readonly type: 'where'; readonly target: ConnectTarget; readonly path: string | undefined }

/** RFC 9112, 3.2.3: CONNECT has no default port. */
function readConnectTarget(uri: string): Where | HttpRefusal {
  const target = readAuthority(uri)
  return target ? { type: 'where', target, path: undefined } : malformed('CONNECT needs host:port')
}

/** RFC 9112, 3.2.2: requests to a proxy carry the absolute URI. */
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

/** For OPTIONS without a path the last proxy sends `*` (RFC 9112, 3.2.4). */
export function toOriginForm(method: string, pathAndQuery: string): string {
  if (pathAndQuery === '') return method === 'OPTIONS' ? '*' : '/'
  return pathAndQuery.startsWith('/') ? pathAndQuery : `/${pathAndQuery}`
}

type RequestHead = {
  readonly type: 'head'
  readonly credentials: Credentials | undefined
  /** A hop ticket of another gateway, instead of credentials. */
  readonly ticket: string | undefined
  readonly framing: Framing
  readonly keepAlive: boolean
  readonly wantsContinue: boolean
  readonly upgrade: boolean
  /** HeaderField names listed in Connection. */
  readonly named: ReadonlySet<string>
}

export function readRequestHead(line: RequestLine, fields: HeaderFields): RequestHead | HttpRefusal {
  const named = readTokens(fields, 'connection')
  if (!named) return malformed('malformed Connection field')
  const problem = checkHost(line, fields)
  if (problem) return problem
  const framing = readFraming(line, fields)
  if ('type' in framing) return framing
  const authorization = readProxyAuthorization(line, fields)
  if ('type' in authorization) return authorization
  const expectation = readExpectation(line, fields, framing)
  if (typeof expectation !== 'boolean') return expectation
  if (line.method === 'OPTIONS' && valuesOf(fields, 'max-forwards').includes('0')) {
    return refuse(501, 'method_unsupported', 'this proxy does not answer OPTIONS itself')
  }
  return {
    type: 'head',
    credentials: authorization.credentials,
    ticket: authorization.ticket,
    framing,
    // RFC 9112, 9.3: no keep-alive for HTTP/1.0 clients.
    keepAlive: line.version === '1.1' && !named.has('close'),
    wantsContinue: expectation,
    upgrade: asksForUpgrade(line, fields, framing, named),
    named,
  }
}

/** RFC 9112, 3.2: at most one valid Host; the target URI decides (3.2.2). HTTP/1.0 and CONNECT may omit it. */
function checkHost(line: RequestLine, fields: HeaderFields): HttpRefusal | undefined {
  const hosts = valuesOf(fields, 'host')
  const mayLack = line.version === '1.0' || line.path === undefined
  if (hosts.length > 1) return malformed('more than one Host')
  if (hosts.length === 0 && !mayLack) return malformed('Host is missing')
  return hosts.every((host) => readAuthority(host, 80)) ? undefined : malformed('malformed Host')
}

/** RFC 9112, 6.3: rejects every ambiguous body length. */
export function readFraming(line: Pick<RequestLine, 'path' | 'version'>, fields: HeaderFields): Framing | HttpRefusal {
  const lengths = valuesOf(fields, 'content-length')
  const codings = valuesOf(fields, 'transfer-encoding')
  if (lengths.length + codings.length > 1) return malformed('more than one length')
  if (codings.length === 1) {
    if (line.path === undefined) return malformed('CONNECT has no body')
    if (line.version === '1.0') return malformed('HTTP/1.0 knows no Transfer-Encoding')
    return readCoding(codings[0] ?? '')
  }
  if (lengths.length === 0) return { kind: 'none' }
  const bytes = readLength(lengths[0] ?? '')
  if (bytes === undefined) return malformed('malformed Content-Length')
  if (bytes > 0 && line.path === undefined) return malformed('CONNECT has no body')
  return { kind: 'length', bytes }
}

/** RFC 9112, 6.1: 501 for an unknown coding, 400 if `chunked` is not last. */
function readCoding(value: string): Framing | HttpRefusal {
  if (value.toLowerCase() === 'chunked') return { kind: 'chunked' }
  const isOther = /^[\w!#$%&'*+.^`|~-]+[ \t]*,[ \t]*chunked$/i.test(value) && !/^chunked\b/i.test(value)
  return isOther
    ? refuse(501, 'transfer_coding_unsupported', 'no transfer coding but chunked is supported')
    : malformed('malformed Transfer-Encoding')
}

export type Authorization = { readonly credentials?: Credentials | undefined; readonly ticket?: string | undefined }

const hopPattern = /^Turnpike-Hop (.{1,600})$/

/**
 * RFC 9110, 11.7.2: anything but valid Basic credentials gets 407. A client of connect-udp may see an origin server in
 * the proxy (RFC 9298, 3) and send Authorization.
 */
function readProxyAuthorization(line: RequestLine, fields: HeaderFields): Authorization | HttpRefusal {
  const ofProxy = valuesOf(fields, 'proxy-authorization')
  const values = ofProxy.length === 0 && line.extension ? valuesOf(fields, 'authorization') : ofProxy
  return readAuthorization(values)
}

export function readAuthorization(values: readonly string[]): Authorization | HttpRefusal {
  if (values.length === 0) return {}
  if (values.length > 1) return malformed('more than one Proxy-Authorization')
  const ticket = hopPattern.exec(values[0] ?? '')?.[1]
  if (ticket !== undefined) return { ticket }
  const credentials = readBasic(values[0] ?? '')
  if (!credentials)
    return refuse(407, 'bad_credentials', 'Proxy-Authorization must be Basic with a name and a password')
  return { credentials }
}

/** RFC 9110, 10.1.1. Ignored for HTTP/1.0 and without a body. */
function readExpectation(line: RequestLine, fields: HeaderFields, framing: Framing): boolean | HttpRefusal {
  const values = valuesOf(fields, 'expect')
  if (values.some((value) => value.toLowerCase() !== '100-continue')) {
    return refuse(417, 'expectation_failed', 'no expectation but 100-continue can be met')
  }
  return values.length > 0 && hasBody(framing) && line.version === '1.1'
}

const hasBody = (framing: Framing): boolean =>
  framing.kind === 'chunked' || (framing.kind === 'length' && framing.bytes > 0)

/** RFC 9110, 7.8. Upgrade is dropped if there is a body, and for h2c, which RFC 9113 removed. */
function asksForUpgrade(line: RequestLine, fields: HeaderFields, framing: Framing, named: ReadonlySet<string>) {
  const upgrades = valuesOf(fields, 'upgrade')
  return (
    line.version === '1.1' &&
    named.has('upgrade') &&
    !hasBody(framing) &&
    upgrades.length === 1 &&
    /^[\w!#$%&'*+.^`|~/-]+$/.test(upgrades[0] ?? '') &&
    !/^h2c/i.test(upgrades[0] ?? '')
  )
}

/**
 * The head for the origin: the client's fields in order, without hop-by-hop ones; Host, length and Connection
 * regenerated in place. Nothing about the client or this proxy is added.
 */
export function toOriginHead(line: RequestLine, head: RequestHead, fields: HeaderFields): Uint8Array {
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

/** Regenerated fields are never copied. */
function isPassed(field: HeaderField, head: RequestHead): boolean {
  if (field.name === 'host' || field.name === 'content-length') return false
  if (field.name === 'upgrade') return head.upgrade
  if (field.name === 'expect') return head.wantsContinue
  return !isHop(field.name, head.named)
}

/** RFC 9110, 7.6.2: OPTIONS decrements Max-Forwards. */
function toOriginValue(line: RequestLine, field: HeaderField): string {
  const forwards = line.method === 'OPTIONS' && field.name === 'max-forwards' ? readLength(field.value) : undefined
  return forwards === undefined ? field.value : String(forwards - 1)
}

/** The claim in the fields; a ticket opens tunnels only. */
export function toClaim({ credentials, ticket }: Authorization, client: ClientAddress, isTunnel: boolean): Claim {
  if (credentials) return { kind: 'password', credentials }
  return ticket !== undefined && isTunnel ? { kind: 'ticket', ticket } : claimOf(client)
}

/** The request of a valid head. */
export function toProxyRequest(line: RequestLine, head: RequestHead, fields: HeaderFields, asker: Asker): ProxyRequest {
  const { method, target, version, extension } = line
  const { upgrade, keepAlive } = head
  if (extension) return extension.toRequest(target, asker)
  if (line.path === undefined) return { ...asker, asks: 'tunnel', target }
  return {
    ...asker,
    asks: 'forward',
    target,
    head: toOriginHead(line, head, fields),
    method,
    version,
    upgrade,
    keepAlive,
  }
}

/** The gateway's own answer to a request. */
export function toHttpAnswer(verdict: Verdict): ReturnType<typeof toAnswer> {
  if (verdict.refusal === undefined) return toAnswer(200, undefined, '', toldBy(verdict))
  const { status, message } = refusalOf(verdict.refusal)
  return toAnswer(status, verdict.refusal, message)
}

/** Header fields for an admitted client. */
export const toldBy = ({ leftFrom }: { readonly leftFrom?: string | undefined }): readonly FieldPair[] =>
  leftFrom === undefined ? [] : [['X-Turnpike-Left-From', leftFrom]]

const established = toText(toAnswer(200, undefined, ''))

/** `heldBytes`: early tunnel data or pipelined requests. */
const shippedLimits = { requestLineBytes: 8 * 1024, headBytes: 16 * 1024, fields: 100, heldBytes: 256 * 1024 }

const unknownClient: ClientAddress = { source: '', ownPort: undefined }
const nothing = new Uint8Array(0)

/**
 * Incremental parser of one client connection (RFC 9112). It stops after each request and CONNECT; further bytes are
 * kept for next() or rest().
 */
export class HttpRequestReader implements ClientParser {
  /** Bytes of the current request. */
  taken = 0
  private readonly client: ClientAddress
  private readonly extensions: readonly Extension[]
  /** The request that is to be answered. */
  private asked: ProxyRequest | undefined
  private told: readonly FieldPair[] = []
  private readonly limits: typeof shippedLimits
  private readonly held: HeldBytes
  private state: 'head' | 'length' | 'chunks' | 'waiting' | 'closed' = 'head'
  private head: HeadReader | undefined
  private line: RequestLine | undefined
  private chunks: ChunkReader | undefined
  private left = 0
  private keepAlive = true
  private upgrade = false

  constructor(
    client: ClientAddress = unknownClient,
    extensions: readonly Extension[] = [],
    limits?: Partial<typeof shippedLimits>,
  ) {
    this.client = client
    this.extensions = extensions
    this.limits = limits ? { ...shippedLimits, ...limits } : shippedLimits
    this.held = new HeldBytes(this.limits.heldBytes)
  }

  feed(chunk: Uint8Array): ClientEvent[] {
    const out: ClientEvent[] = []
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

  /** A request or CONNECT is complete; reading should pause. */
  get isWaiting(): boolean {
    return this.state === 'waiting'
  }

  /** Parses the next request, if the connection is kept alive. */
  next(): ClientEvent[] {
    if (this.state === 'closed') return []
    if (this.state !== 'waiting') throw new Error('the request before is not complete')
    if (!this.keepAlive) return this.drop()
    this.state = 'head'
    this.taken = 0
    this.head = undefined
    return this.feed(this.held.take())
  }

  /** Bytes after a CONNECT or upgrade head; returned once. */
  rest(): Uint8Array {
    return this.held.take()
  }

  answer(verdict: Verdict, mayKeep: boolean): Answer {
    const { asked } = this
    if (verdict.refusal === undefined) return { bytes: this.toAdmitted(verdict), isLast: false }
    // A gateway whose ticket was refused has nothing else to ask.
    const isLast = !mayKeep || !this.keepAlive || !this.isWaiting || asked?.claim.kind === 'ticket'
    return {
      bytes: toText(toHttpAnswer(verdict), isLast, asked?.asks === 'forward' && asked.method === 'HEAD'),
      isLast,
    }
  }

  toTimeout(): Uint8Array {
    return toText(toHttpAnswer({ isAdmitted: false, refusal: 'handshake_timeout' }))
  }

  toHead(head: ResponseHead): Uint8Array {
    const isFinal = head.status >= 200 || head.status === 101
    return toHeadText(isFinal ? { ...head, fields: [...head.fields, ...this.told] } : head)
  }

  /** The origin's response answers a forwarded request. */
  private toAdmitted(verdict: Extract<Verdict, { readonly refusal?: undefined }>): Uint8Array {
    const { asked } = this
    this.told = toldBy(verdict)
    if (asked?.asks === 'forward') return nothing
    if (asked?.asks === 'capsules' && asked.extension) return toUpgraded(asked.extension)
    return this.told.length === 0 ? established : toText(toHttpAnswer(verdict))
  }

  /** Fast path for the usual CONNECT; consumes nothing otherwise. */
  private readPlain(chunk: Uint8Array, out: ClientEvent[]): number {
    const plain = this.limits === shippedLimits ? readPlainConnect(chunk) : undefined
    if (!plain) return 0
    const { target, credentials } = plain
    this.ask({ ...this.toAsker({ credentials }, true), asks: 'tunnel', target }, out)
    this.keepAlive = true
    this.upgrade = false
    this.state = 'waiting'
    return plain.next
  }

  private readHead(chunk: Uint8Array, from: number, out: ClientEvent[]): number {
    const { requestLineBytes: startLineBytes, headBytes, fields } = this.limits
    this.head ??= new HeadReader({ startLineBytes, headBytes, fields, blankLinesBefore: 1, mends: false })
    const { head } = this
    const progress = head.read(chunk, from)
    if (progress === 'start') {
      const line = readRequestLine(head.startLine, this.extensions)
      if ('type' in line) this.close(line, out)
      else this.line = line
    } else if (progress === 'done') this.takeHead(head, out)
    else if (progress !== 'more') this.close(toRefusal(progress), out)
    return head.next
  }

  private takeHead({ fields }: HeadReader, out: ClientEvent[]): void {
    const line = this.line
    if (!line) return
    const head = readRequestHead(line, fields)
    if (head.type === 'refuse') return this.close(head, out)
    const { upgrade, keepAlive, framing } = head
    const { extension } = line
    this.keepAlive = keepAlive
    this.upgrade = upgrade
    if (extension && !(upgrade && framing.kind === 'none' && namesOnly(fields, extension)))
      return this.close(refuse(400, 'not_a_proxy_request', `this path needs Upgrade: ${extension.protocol}`), out)
    this.ask(toProxyRequest(line, head, fields, this.toAsker(head, line.path === undefined, extension)), out)
    if (extension || line.path === undefined) {
      this.state = 'waiting'
      return
    }
    if (framing.kind === 'chunked') {
      this.chunks = new ChunkReader({ reencode: true, mends: false })
      this.state = 'chunks'
      return
    }
    this.left = framing.kind === 'length' ? framing.bytes : 0
    if (this.left > 0) this.state = 'length'
    else this.finish(out)
  }

  private toAsker(authorization: Authorization, isTunnel: boolean, extension?: Extension): Asker {
    const { client } = this
    const claim = toClaim(authorization, client, isTunnel)
    return { wayIn: extension?.wayIn ?? 'http1', source: client.source, claim }
  }

  private ask(request: ProxyRequest, out: ClientEvent[]): void {
    this.asked = request
    out.push({ type: 'request', request })
  }

  private passLength(chunk: Uint8Array, from: number, out: ClientEvent[]): number {
    const to = Math.min(chunk.length, from + this.left)
    out.push({ type: 'body', bytes: chunk.subarray(from, to) })
    this.left -= to - from
    if (this.left === 0) this.finish(out)
    return to
  }

  private readChunks(chunk: Uint8Array, from: number, out: ClientEvent[]): number {
    const reader = this.chunks
    if (!reader) return chunk.length
    const parts: Uint8Array[] = []
    const next = reader.read(chunk, from, parts)
    if (parts.length > 0) out.push({ type: 'body', bytes: joinBytes(parts) })
    if (reader.state === 'fault') this.close(malformed(reader.problem), out)
    if (reader.state === 'done') this.finish(out)
    return next
  }

  /** RFC 9112, 9.6: bytes after a closing request are ignored, except for an upgrade. */
  private finish(out: ClientEvent[]): void {
    out.push({ type: 'end' })
    this.state = this.keepAlive || this.upgrade ? 'waiting' : 'closed'
  }

  private close(refusal: HttpRefusal, out: ClientEvent[]): void {
    const message = refusal.message.charAt(0).toUpperCase() + refusal.message.slice(1)
    out.push({
      type: 'refuse',
      bytes: toText(toAnswer(refusal.status, refusal.code, message)),
      code: refusal.code,
    })
    this.drop()
  }

  private drop(): ClientEvent[] {
    this.held.take()
    this.state = 'closed'
    return []
  }
}

/** The only upgrade that is asked for. */
const namesOnly = (fields: HeaderFields, { protocol }: Extension): boolean =>
  valuesOf(fields, 'upgrade').every((value) => value.toLowerCase() === protocol)

/** RFC 9110, 7.8. */
function toUpgraded({ protocol, fields }: Extension): Uint8Array {
  const lines = [`Connection: Upgrade`, `Upgrade: ${protocol}`, ...fields.map(([label, value]) => `${label}: ${value}`)]
  return toLatin1(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
}

function toRefusal(fault: 'start_line_too_long' | 'head_too_large' | 'malformed'): HttpRefusal {
  if (fault === 'start_line_too_long') return refuse(414, 'uri_too_long', 'the request line is too long')
  if (fault === 'head_too_large') return refuse(431, 'head_too_large', 'the header fields are too many or too long')
  return malformed('malformed header')
}
