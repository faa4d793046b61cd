import type { Target } from './authority.ts'
import type { Credentials } from './basic-auth.ts'
import { HeldBytes, joinBytes } from './held-bytes.ts'
import { ChunkReader } from './http-chunks.ts'
import { HeadReader } from './http-head.ts'
import { readPlainConnect } from './plain-connect.ts'
import { readRequestHead, toOriginHead } from './request-head.ts'
import {
  type HttpRefusal,
  type HttpVersion,
  malformed,
  type RequestLine,
  readRequestLine,
  refuse,
} from './request-line.ts'

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

export type RequestLimits = {
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
