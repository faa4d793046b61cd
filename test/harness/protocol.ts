import { formatAuthority } from '../../src/dataplane/gateway/ways-in/authority.ts'
import { type HttpEvent, HttpRequestReader } from '../../src/dataplane/gateway/ways-in/http1/request.ts'
import {
  HttpResponseReader,
  type ResponseContext,
  type ResponseEvent,
} from '../../src/dataplane/gateway/ways-in/http1/response.ts'
import { Socks5Reader, type SocksEvent } from '../../src/dataplane/gateway/ways-in/socks5/handshake.ts'

/** One byte for each character, so that a test can write any byte as `\xff`. */
export const toBytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0) & 255)

export const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Splits at the given offsets, in any order; an offset past the end is the end. Pieces may be empty. */
export function splitAt(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const cuts = positions.map((position) => Math.min(position, bytes.length)).toSorted((a, b) => a - b)
  return [0, ...cuts].map((from, index) => bytes.slice(from, cuts[index] ?? bytes.length))
}

export const byteByByte = (bytes: Uint8Array): Uint8Array[] => Array.from(bytes, (byte) => Uint8Array.of(byte))

/**
 * Events of the request reader for these pieces, one line each, bodies joined. A request on a kept connection is
 * followed by the next. A CONNECT is opened, unless the test refuses it as a 407 does.
 */
export function summarizeRequests(pieces: readonly Uint8Array[], refusesTunnels = false): string[] {
  const reader = new HttpRequestReader()
  const lines: string[] = []
  let isOpen = false
  for (const piece of pieces) {
    let events = reader.feed(insideBuffer(piece))
    for (;;) {
      for (const event of events) lines.push(formatRequestEvent(event))
      if (events.at(-1)?.type === 'tunnel' && !refusesTunnels) isOpen = true
      if (!reader.isWaiting || isOpen || events.length === 0) break
      events = reader.next()
    }
  }
  return [...joinBodies(lines), ...(isOpen ? [`rest ${toText(reader.rest())}`] : [])]
}

function formatRequestEvent(event: HttpEvent): string {
  if (event.type === 'body') return `body ${toText(event.bytes)}`
  if (event.type === 'refuse') return `refuse ${event.status} ${event.code}`
  if (event.type === 'end') return 'end'
  const who = event.credentials ? ` as ${event.credentials.username}:${event.credentials.password}` : ''
  const where = `${formatAuthority(event.target)}${who}`
  if (event.type === 'tunnel' || event.type === 'udp') return `${event.type} ${where}`
  const marks = [event.wantsContinue && 'continue', event.upgrade && 'upgrade', !event.keepAlive && 'close']
  return ['request', where, ...marks.filter((mark) => mark !== false), `\n${toText(event.head)}`].join(' ')
}

/** Events of the response reader for these pieces; with `closes` the origin then closes. */
export function summarizeResponse(of: ResponseContext, pieces: readonly Uint8Array[], closes = false): string[] {
  const reader = new HttpResponseReader(of)
  const events = pieces.flatMap((piece) => reader.feed(insideBuffer(piece)).map(formatResponseEvent))
  const rest = toText(reader.rest())
  if (closes) events.push(...reader.close().map(formatResponseEvent))
  return [...joinBodies(events), ...(rest === '' ? [] : [`rest ${rest}`])]
}

function formatResponseEvent(event: ResponseEvent): string {
  if (event.type === 'broken') return `broken: ${event.message}`
  if (event.type === 'end') return event.keepAlive ? 'end, kept alive' : 'end, close'
  return event.type === 'body' ? `body ${toText(event.bytes)}` : `${event.type}\n${toText(event.bytes)}`
}

/** Events of the SOCKS reader. Credentials are accepted, unless the name is `nobody`. */
export function summarizeSocks(pieces: readonly Uint8Array[], allowAnonymous = false): string[] {
  const reader = new Socks5Reader({ allowAnonymous })
  const lines: string[] = []
  const describeEvents = (events: readonly SocksEvent[]): void => {
    for (const event of events) {
      lines.push(formatSocksEvent(event))
      if (event.type !== 'credentials') continue
      const isKnown = event.credentials.username !== 'nobody'
      lines.push(`${isKnown ? 'accept' : 'deny'} ${toHex(isKnown ? reader.accept() : reader.deny())}`)
      if (isKnown) describeEvents(reader.next())
    }
  }
  for (const piece of pieces) describeEvents(reader.feed(insideBuffer(piece)))
  const rest = toText(reader.rest())
  return rest === '' ? lines : [...lines, `rest ${rest}`]
}

function formatSocksEvent(event: SocksEvent): string {
  if (event.type === 'reply') return `reply ${toHex(event.bytes)}`
  if (event.type === 'refuse') return `refuse ${toHex(event.bytes)} ${event.code}`
  if (event.type === 'connect') return `connect ${formatAuthority(event.target)}`
  if (event.type === 'associate') return 'associate'
  return `credentials ${event.credentials.username}:${event.credentials.password}`
}

function joinBodies(lines: readonly string[]): string[] {
  const joined: string[] = []
  for (const line of lines) {
    if (line.startsWith('body ') && joined.at(-1)?.startsWith('body ')) joined.push(`${joined.pop()}${line.slice(5)}`)
    else joined.push(line)
  }
  return joined
}

/**
 * A copy between other bytes of the same buffer, as sockets deliver them: it exposes a reader that ignores the offset.
 */
function insideBuffer(piece: Uint8Array): Uint8Array {
  const buffer = new Uint8Array(piece.length + 6).fill(0x58)
  buffer.set(piece, 3)
  return buffer.subarray(3, 3 + piece.length)
}
