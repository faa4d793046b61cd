import { HeldBytes, joinBytes } from '../bytes.ts'
import { ChunkReader } from './chunks.ts'
import {
  type FieldPair,
  type Framing,
  type HeaderField,
  type HeaderFields,
  HeadReader,
  type HttpVersion,
  isHop,
  readLength,
  readTokens,
  toLatin1,
  valuesOf,
} from './head.ts'

/** The request that is answered. */
export type ResponseContext = {
  readonly method: string
  readonly clientKeepAlive: boolean
  readonly upgrade: boolean
  /** HTTP/1.0 clients get no chunks and no interim responses. Default 1.1. */
  readonly clientVersion?: HttpVersion
}

type StatusLine = { readonly version: HttpVersion; readonly status: number; readonly reason: string }

/** RFC 9112, 4: the reason may be missing. */
function readStatusLine(line: string): StatusLine | undefined {
  const match = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: (.*))?$/.exec(line)
  if (!match) return undefined
  return { version: match[1] === '0' ? '1.0' : '1.1', status: Number(match[2]), reason: match[3] ?? '' }
}

/** Undefined if the lengths are contradictory (RFC 9112, 6.3). */
function readAnswerFraming(line: StatusLine, fields: HeaderFields, method: string): Framing | undefined {
  const codings = valuesOf(fields, 'transfer-encoding')
  const lengths = new Set(valuesOf(fields, 'content-length'))
  const length = readLength([...lengths][0] ?? '')
  if (lengths.size > 1 || (lengths.size === 1 && length === undefined)) return undefined
  if (method === 'HEAD' || line.status < 200 || line.status === 204 || line.status === 304) return { kind: 'none' }
  if (codings.length > 0) {
    const isChunked = codings.length === 1 && codings[0]?.toLowerCase() === 'chunked' && line.version === '1.1'
    return isChunked ? { kind: 'chunked' } : undefined
  }
  return length === undefined ? { kind: 'until_close' } : { kind: 'length', bytes: length }
}

/** Without hop-by-hop, `Proxy-*` and `X-Turnpike-*` fields. */
export type ResponseHead = {
  readonly status: number
  readonly reason: string
  readonly fields: readonly FieldPair[]
  /** For HTTP/1 only. */
  readonly connection: 'keep-alive' | 'close' | 'upgrade' | undefined
}

/** In HTTP/1.1. */
export function toHeadText({ status, reason, fields, connection }: ResponseHead): Uint8Array {
  const lines = [`HTTP/1.1 ${status} ${reason}`]
  for (const [label, value] of fields) lines.push(`${label}: ${value}`)
  if (connection) lines.push(`Connection: ${connection}`)
  return toLatin1(`${lines.join('\r\n')}\r\n\r\n`)
}

export type ResponseEvent =
  /** 1xx, 101 excepted, is interim. With 101 both directions are raw from here; rest() has what followed. */
  | { readonly type: 'head' | 'interim' | 'switch'; readonly head: ResponseHead }
  /** Body bytes in the client's framing; may be a view of the input. */
  | { readonly type: 'body'; readonly bytes: Uint8Array }
  | { readonly type: 'end'; readonly keepAlive: boolean }
  /** Before 'head' the client gets 502, afterwards its connection is closed. */
  | { readonly type: 'broken'; readonly message: string }

const limits = { startLineBytes: 8 * 1024, headBytes: 64 * 1024, fields: 256, blankLinesBefore: 0, mends: true }
const maxInterim = 16
/** More than one read, which is the most that can follow a 101. */
const maxHeldBytes = 1024 * 1024

/**
 * Incremental parser of an origin's response, rewritten for the client. A body that ends with the connection does so
 * for the client too, so that a cut stays visible.
 */
export class HttpResponseReader {
  private readonly held = new HeldBytes(maxHeldBytes)
  private state: 'head' | 'length' | 'chunks' | 'until_close' | 'switched' | 'done' = 'head'
  private head = new HeadReader(limits)
  private line: StatusLine | undefined
  private chunks: ChunkReader | undefined
  private left = 0
  private interim = 0
  private keepAlive = false

  constructor(private readonly context: ResponseContext) {}

  feed(chunk: Uint8Array): ResponseEvent[] {
    const out: ResponseEvent[] = []
    let at = 0
    while (at < chunk.length && this.state !== 'done' && this.state !== 'switched') {
      if (this.state === 'head') at = this.readHead(chunk, at, out)
      else if (this.state === 'chunks') at = this.readChunks(chunk, at, out)
      else at = this.passBytes(chunk, at, out)
    }
    if (this.state === 'switched' && !this.held.add(chunk.subarray(at))) {
      this.fail('too much came before the switch was made', out)
    }
    return out
  }

  /** The origin closed: ends a body without length, breaks any other. */
  close(): ResponseEvent[] {
    const out: ResponseEvent[] = []
    if (this.state === 'until_close') this.finish(out)
    else if (this.state === 'head') this.fail('the origin closed before it had answered', out)
    else if (this.state === 'length' || this.state === 'chunks') this.fail('the origin closed within its answer', out)
    return out
  }

  /** Bytes after a 101; returned once. */
  rest(): Uint8Array {
    return this.held.take()
  }

  private readHead(chunk: Uint8Array, from: number, out: ResponseEvent[]): number {
    // An interim response replaces this.head.
    const head = this.head
    const progress = head.read(chunk, from)
    if (progress === 'start') {
      this.line = readStatusLine(this.head.startLine)
      if (!this.line) this.fail('the origin did not answer in HTTP/1.1', out)
    } else if (progress === 'done') this.takeHead(out)
    else if (progress !== 'more') this.fail('the head of the answer is malformed or too large', out)
    return head.next
  }

  private takeHead(out: ResponseEvent[]): void {
    const line = this.line
    if (!line) return
    // RFC 9110, 15.5.8: only this proxy may ask for proxy credentials.
    if (line.status === 407) this.fail('the origin asked for proxy credentials', out)
    else if (line.status === 101) this.takeSwitch(line, out)
    else if (line.status < 200) this.takeInterim(line, out)
    else this.takeFinal(line, out)
  }

  private takeSwitch(line: StatusLine, out: ResponseEvent[]): void {
    const head = this.context.upgrade && this.toHead(line, { kind: 'none' }, 'upgrade')
    if (!head) return this.fail('the origin switched protocols unasked', out)
    out.push({ type: 'switch', head })
    this.state = 'switched'
  }

  private takeInterim(line: StatusLine, out: ResponseEvent[]): void {
    const head = this.toHead(line, { kind: 'none' }, undefined)
    this.interim += 1
    if (!head || this.interim > maxInterim) return this.fail('malformed or too many interim answers', out)
    // RFC 9110, 15.2: HTTP/1.0 has no 1xx.
    if (this.context.clientVersion !== '1.0') out.push({ type: 'interim', head })
    this.head = new HeadReader(limits)
  }

  private takeFinal(line: StatusLine, out: ResponseEvent[]): void {
    const framing = readAnswerFraming(line, this.head.fields, this.context.method)
    if (!framing) return this.fail('the answer has no clear length', out)
    const isRaw = framing.kind === 'until_close' || (framing.kind === 'chunked' && this.context.clientVersion === '1.0')
    this.keepAlive = this.context.clientKeepAlive && !isRaw
    const head = this.toHead(line, framing, this.keepAlive ? 'keep-alive' : 'close')
    if (!head) return this.fail('malformed Connection field', out)
    out.push({ type: 'head', head })
    this.beginBody(framing, out)
  }

  private toHead(line: StatusLine, framing: Framing, connection: ResponseHead['connection']): ResponseHead | undefined {
    const { fields } = this.head
    const named = readTokens(fields, 'connection')
    if (!named) return undefined
    const isPassed = ({ name }: HeaderField): boolean => {
      if (name === 'upgrade') return connection === 'upgrade'
      return name !== 'content-length' && !name.startsWith('x-turnpike-') && !isHop(name, named)
    }
    const passed: FieldPair[] = []
    for (const field of fields) if (isPassed(field)) passed.push([field.label, field.value])
    const length = this.toLengthField(line, fields, framing)
    if (length) passed.push(length)
    return { status: line.status, reason: line.reason, fields: passed, connection }
  }

  /** HEAD and 304 keep the length (RFC 9110, 8.6); 1xx and 204 have none. */
  private toLengthField(line: StatusLine, fields: HeaderFields, framing: Framing): FieldPair | undefined {
    if (framing.kind === 'length') return ['Content-Length', String(framing.bytes)]
    if (framing.kind === 'chunked' && this.context.clientVersion !== '1.0') return ['Transfer-Encoding', 'chunked']
    if (framing.kind !== 'none' || line.status < 200 || line.status === 204) return undefined
    const isCoded = valuesOf(fields, 'transfer-encoding').length > 0
    const length = isCoded ? undefined : valuesOf(fields, 'content-length')[0]
    return length === undefined ? undefined : ['Content-Length', length]
  }

  private beginBody(framing: Framing, out: ResponseEvent[]): void {
    if (framing.kind === 'chunked') {
      this.chunks = new ChunkReader({ reencode: this.context.clientVersion !== '1.0', mends: true })
      this.state = 'chunks'
    } else if (framing.kind === 'until_close') {
      this.left = Number.POSITIVE_INFINITY
      this.state = 'until_close'
    } else {
      this.left = framing.kind === 'length' ? framing.bytes : 0
      if (this.left > 0) this.state = 'length'
      else this.finish(out)
    }
  }

  private passBytes(chunk: Uint8Array, from: number, out: ResponseEvent[]): number {
    const to = Math.min(chunk.length, from + this.left)
    out.push({ type: 'body', bytes: chunk.subarray(from, to) })
    this.left -= to - from
    if (this.left === 0) this.finish(out)
    return to
  }

  private readChunks(chunk: Uint8Array, from: number, out: ResponseEvent[]): number {
    const reader = this.chunks
    if (!reader) return chunk.length
    const parts: Uint8Array[] = []
    const next = reader.read(chunk, from, parts)
    if (parts.length > 0) out.push({ type: 'body', bytes: joinBytes(parts) })
    if (reader.state === 'fault') this.fail(reader.problem, out)
    if (reader.state === 'done') this.finish(out)
    return next
  }

  private finish(out: ResponseEvent[]): void {
    out.push({ type: 'end', keepAlive: this.keepAlive })
    this.state = 'done'
  }

  private fail(message: string, out: ResponseEvent[]): void {
    out.push({ type: 'broken', message })
    this.held.take()
    this.state = 'done'
  }
}
