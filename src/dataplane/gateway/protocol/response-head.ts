import { type Framing, isHop, readLength, readTokens, valuesOf } from './http-fields.ts'
import { type Field, toLatin1 } from './http-head.ts'
import type { HttpVersion } from './request-line.ts'

/** What the answer answers, and to whom it goes. */
export type Asked = {
  readonly method: string
  readonly clientKeepAlive: boolean
  readonly upgrade: boolean
  /** An HTTP/1.0 client gets neither chunks nor interim answers. As shipped 1.1. */
  readonly clientVersion?: HttpVersion
}

export type StatusLine = { readonly version: HttpVersion; readonly status: number; readonly reason: string }

/** RFC 9112, 4: the reason may be missing, and with it the blank before it. */
export function readStatusLine(line: string): StatusLine | undefined {
  const match = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: (.*))?$/.exec(line)
  if (!match) return undefined
  return { version: match[1] === '0' ? '1.0' : '1.1', status: Number(match[2]), reason: match[3] ?? '' }
}

/** Undefined when the lengths contradict one another: where this answer ends nobody could say (RFC 9112, 6.3). */
export function readAnswerFraming(line: StatusLine, fields: readonly Field[], asked: Asked): Framing | undefined {
  const codings = valuesOf(fields, 'transfer-encoding')
  const lengths = new Set(valuesOf(fields, 'content-length'))
  const length = readLength([...lengths][0] ?? '')
  if (lengths.size > 1 || (lengths.size === 1 && length === undefined)) return undefined
  if (asked.method === 'HEAD' || line.status < 200 || line.status === 204 || line.status === 304)
    return { kind: 'none' }
  if (codings.length > 0) {
    const isChunked = codings.length === 1 && codings[0]?.toLowerCase() === 'chunked' && line.version === '1.1'
    return isChunked ? { kind: 'chunked' } : undefined
  }
  return length === undefined ? { kind: 'until_close' } : { kind: 'length', bytes: length }
}

/**
 * The head the client gets: the origin's fields less those of its hop, the length written anew, Connection as the
 * client's own connection goes on. `Proxy-*` and `X-Turnpike-*` are ours to say, never an origin's.
 */
export function toClientHead(
  line: StatusLine,
  fields: readonly Field[],
  framing: Framing,
  connection: 'keep-alive' | 'close' | 'upgrade' | undefined,
  asked: Asked,
): Uint8Array | undefined {
  const named = readTokens(fields, 'connection')
  if (!named) return undefined
  const isPassed = ({ name }: Field): boolean => {
    if (name === 'upgrade') return connection === 'upgrade'
    return name !== 'content-length' && !name.startsWith('x-turnpike-') && !isHop(name, named)
  }
  const lines = [`HTTP/1.1 ${line.status} ${line.reason}`]
  for (const field of fields) if (isPassed(field)) lines.push(`${field.label}: ${field.value}`)
  lines.push(...toLengthFields(line, fields, framing, asked))
  if (connection) lines.push(`Connection: ${connection}`)
  return toLatin1(`${lines.join('\r\n')}\r\n\r\n`)
}

/** An answer to HEAD and a 304 tell the length a body would have had (RFC 9110, 8.6); a 1xx and a 204 tell none. */
function toLengthFields(line: StatusLine, fields: readonly Field[], framing: Framing, asked: Asked): string[] {
  if (framing.kind === 'length') return [`Content-Length: ${framing.bytes}`]
  if (framing.kind === 'chunked' && asked.clientVersion !== '1.0') return ['Transfer-Encoding: chunked']
  if (framing.kind !== 'none' || line.status < 200 || line.status === 204) return []
  const length = valuesOf(fields, 'transfer-encoding').length === 0 ? valuesOf(fields, 'content-length')[0] : undefined
  return length === undefined ? [] : [`Content-Length: ${length}`]
}
