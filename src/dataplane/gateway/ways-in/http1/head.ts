/** `name` is lower case; `label` is as received; `value` is trimmed. */
export type HeaderField = { readonly name: string; readonly label: string; readonly value: string }
export type HeaderFields = readonly HeaderField[]

type HeadLimits = {
  readonly startLineBytes: number
  readonly headBytes: number
  readonly fields: number
  /** RFC 9112, 2.2: empty lines allowed before the start line. */
  readonly blankLinesBefore: number
  /** RFC 9112 tolerance for responses: bare LF (2.2) and blanks before a colon (5.1). */
  readonly mends: boolean
}

type LineProgress = 'more' | 'line' | 'too_long' | 'malformed'
type HeadProgress = 'more' | 'start' | 'done' | 'start_line_too_long' | 'head_too_large' | 'malformed'

const cr = 13
const lf = 10
const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** RFC 9110, 5.6.2. */
export const isToken = (text: string): boolean => tokenPattern.test(text)

export const toLatin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/**
 * Incremental CRLF line parser. Rejects bare CR or LF and control bytes other than tab, which allow request smuggling
 * (RFC 9112, 2.2 and 11.2).
 */
export class LineReader {
  /** Latin-1. */
  text = ''
  /** Position after it in the last chunk. */
  next = 0
  private partial = ''
  private afterCr = false

  constructor(private readonly takesBareLf = false) {}

  read(chunk: Uint8Array, from: number, max: number): LineProgress {
    const before = this.partial.length
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      if (this.afterCr) {
        if (byte !== lf) return 'malformed'
        return this.finish(at + 1)
      }
      if (byte === cr) {
        this.keep(chunk, from, at)
        this.afterCr = true
      } else if (byte === lf && this.takesBareLf) {
        this.keep(chunk, from, at)
        return this.finish(at + 1)
      } else if ((byte < 0x20 && byte !== 9) || byte === 0x7f) {
        return 'malformed'
      } else if (before + at - from >= max) {
        return 'too_long'
      }
    }
    if (!this.afterCr) this.keep(chunk, from, chunk.length)
    this.next = chunk.length
    return 'more'
  }

  private keep(chunk: Uint8Array, from: number, to: number): void {
    this.partial += Buffer.from(chunk.buffer, chunk.byteOffset + from, to - from).toString('latin1')
  }

  private finish(next: number): 'line' {
    this.text = this.partial
    this.next = next
    this.partial = ''
    this.afterCr = false
    return 'line'
  }
}

/** Incremental parser of a head (RFC 9112, 2.1): 'start' after the first line, 'done' at the end. */
export class HeadReader {
  startLine = ''
  fields: HeaderField[] = []
  /** Position after the parsed bytes in the last chunk. */
  next = 0
  private readonly lines: LineReader
  private hasStart = false
  private blankLines = 0
  private spent = 0

  constructor(private readonly limits: HeadLimits) {
    this.lines = new LineReader(limits.mends)
  }

  read(chunk: Uint8Array, from: number): HeadProgress {
    this.next = from
    for (;;) {
      const left = this.limits.headBytes - this.spent
      const progress = this.lines.read(chunk, this.next, this.hasStart ? left : this.limits.startLineBytes)
      if (progress === 'too_long') return this.hasStart ? 'head_too_large' : 'start_line_too_long'
      if (progress === 'malformed') return 'malformed'
      this.next = this.lines.next
      if (progress === 'more') return 'more'
      const outcome = this.takeLine(this.lines.text)
      if (outcome !== 'more') return outcome
    }
  }

  private takeLine(line: string): HeadProgress {
    this.spent += line.length + 2
    if (this.spent > this.limits.headBytes) return 'head_too_large'
    if (!this.hasStart) return this.takeStart(line)
    if (line === '') return 'done'
    const field = readField(this.limits.mends ? line.replace(/^([^ \t:]+)[ \t]+:/, '$1:') : line)
    if (!field) return 'malformed'
    if (this.fields.length === this.limits.fields) return 'head_too_large'
    this.fields.push(field)
    return 'more'
  }

  private takeStart(line: string): HeadProgress {
    if (line === '' && this.blankLines < this.limits.blankLinesBefore) {
      this.blankLines += 1
      return 'more'
    }
    this.hasStart = true
    this.startLine = line
    return 'start'
  }
}

/** RFC 9112, 5: rejects obsolete folding (5.2) and a blank before the colon (5.1). */
export function readField(line: string): HeaderField | undefined {
  const colon = line.indexOf(':')
  if (colon < 1) return undefined
  const label = line.slice(0, colon)
  if (!isToken(label)) return undefined
  return { name: label.toLowerCase(), label, value: trimBlanks(line.slice(colon + 1)) }
}

/** Spaces and tabs only, unlike trim(). */
function trimBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from += 1
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1
  return text.slice(from, to)
}

const isBlank = (code: number): boolean => code === 32 || code === 9

export type HttpVersion = '1.0' | '1.1'

/** Body length; `until_close` for responses only. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until_close' }

/** Hop-by-hop fields (RFC 9110, 7.6.1). */
const hops = new Set(['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'])

/** Fields forbidden in trailers (RFC 9110, 6.5.1). */
const endToEndOnly =
  'content-length host authorization expect max-forwards cookie set-cookie range content-encoding content-type ' +
  'content-range cache-control www-authenticate'
const neverTrailing = new Set([...hops, ...endToEndOnly.split(' ')])

export const isForbiddenTrailer = (name: string): boolean => neverTrailing.has(name) || name.startsWith('proxy-')

/** Hop-by-hop fields, all `Proxy-*`, and those named by Connection. */
export const isHop = (name: string, named: ReadonlySet<string>): boolean =>
  hops.has(name) || name.startsWith('proxy-') || named.has(name)

export const valuesOf = (fields: HeaderFields, name: string): string[] =>
  fields.filter((field) => field.name === name).map((field) => field.value)

/** Lower-case members of a list field (RFC 9110, 5.6.1). Undefined if one is not a token. */
export function readTokens(fields: HeaderFields, name: string): ReadonlySet<string> | undefined {
  const members = valuesOf(fields, name)
    .flatMap((value) => value.split(',').map(trimBlanks))
    .filter((member) => member !== '')
  return members.every(isToken) ? new Set(members.map((member) => member.toLowerCase())) : undefined
}

/** Digits without leading zeros, below 10^15. */
export const readLength = (text: string): number | undefined =>
  /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : undefined

/** Reason phrases (RFC 9110, 15). */
const phrases: Readonly<Record<number, string>> = {
  200: 'Connection established',
  400: 'Bad Request',
  402: 'Payment Required',
  403: 'Forbidden',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

/** A field as it is written, and its value. */
export type FieldPair = readonly [label: string, value: string]

/** The gateway's own response, without its form in a version of HTTP. A 200 answers CONNECT (RFC 9110, 9.3.6). */
export function toAnswer(status: number, code: string | undefined, message: string, extra: readonly FieldPair[] = []) {
  const fields: FieldPair[] = []
  const body = status === 200 ? '' : Buffer.from(`${message}\n`).toString('latin1')
  if (status === 407) fields.push(['Proxy-Authenticate', 'Basic realm="Turnpike"'])
  if (code !== undefined) fields.push(['X-Turnpike-Error', toFieldText(code)])
  for (const [name, value] of extra) fields.push([toFieldText(name), toFieldText(value)])
  if (status !== 200)
    fields.push(['Content-Type', 'text/plain; charset=utf-8'], ['Content-Length', String(body.length)])
  return { status, fields, body }
}

/** An answer in HTTP/1.1. A 200 has neither length nor body. */
export function toText({ status, fields, body }: ReturnType<typeof toAnswer>, close = true, isHead = false) {
  const lines = [`HTTP/1.1 ${status} ${phrases[status] ?? 'Refused'}`]
  for (const [label, value] of fields) lines.push(`${label}: ${value}`)
  if (status !== 200) lines.push(`Connection: ${close ? 'close' : 'keep-alive'}`)
  return toLatin1(`${lines.join('\r\n')}\r\n\r\n${isHead ? '' : body}`)
}

/** Prevents header injection. */
const toFieldText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?')
