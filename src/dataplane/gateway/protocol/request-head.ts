import { formatAuthority, readAuthority } from './authority.ts'
import { type Credentials, readBasic } from './basic-auth.ts'
import { type Framing, isHop, readLength, readTokens, valuesOf } from './http-fields.ts'
import { type Field, toLatin1 } from './http-head.ts'
import { type HttpRefusal, malformed, type RequestLine, refuse } from './request-line.ts'

/** What the fields of a request say, decided once. */
export type RequestHead = {
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
