import { formatAuthority } from '../../src/dataplane/gateway/ways-in/authority.ts'
import { HttpRequestReader } from '../../src/dataplane/gateway/ways-in/http1/request.ts'
import {
  HttpResponseReader,
  type ResponseContext,
  type ResponseEvent,
  toHeadText,
} from '../../src/dataplane/gateway/ways-in/http1/response.ts'
import type { ClientAddress, ClientEvent, Verdict } from '../../src/dataplane/gateway/ways-in/request.ts'
import { Socks5Reader } from '../../src/dataplane/gateway/ways-in/socks5/handshake.ts'
import { extensions } from '../../src/dataplane/gateway/ways-in/table.ts'

/** A client at the gateway's own port, and one at a customer's. */
export const atMainPort: ClientAddress = { source: '192.0.2.9', ownPort: undefined }
export const atOwnPort: ClientAddress = { source: '192.0.2.9', ownPort: 21_000 }

export const admitted: Verdict = { isAdmitted: true }
export const wrongLogin: Verdict = { isAdmitted: false, refusal: 'bad_credentials' }

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
  const reader = new HttpRequestReader(atMainPort, extensions)
  const lines: string[] = []
  let isOpen = false
  for (const piece of pieces) {
    let events = reader.feed(insideBuffer(piece))
    for (;;) {
      for (const event of events) lines.push(formatRequestEvent(event))
      const last = events.at(-1)
      if (last?.type === 'request' && last.request.asks === 'tunnel' && !refusesTunnels) isOpen = true
      if (!reader.isWaiting || isOpen || events.length === 0) break
      events = reader.next()
    }
  }
  return [...joinBodies(lines), ...(isOpen ? [`rest ${toText(reader.rest())}`] : [])]
}

function formatRequestEvent(event: ClientEvent): string {
  if (event.type === 'body') return `body ${toText(event.bytes)}`
  if (event.type === 'refuse') return `refuse ${toText(event.bytes).slice(9, 12)} ${event.code}`
  if (event.type !== 'request') return event.type
  const { request } = event
  if (request.asks === 'datagrams' || request.asks === 'streams' || request.asks === 'check') return request.asks
  const { claim } = request
  const who = claim.kind === 'password' ? ` as ${claim.credentials.username}:${claim.credentials.password}` : ''
  const where = `${request.target ? formatAuthority(request.target) : '*'}${who}`
  if (request.asks !== 'forward') return `${request.asks === 'tunnel' ? 'tunnel' : 'udp'} ${where}`
  const head = toText(request.head)
  const marks = [/^expect:/im.test(head) && 'continue', request.upgrade && 'upgrade', !request.keepAlive && 'close']
  return ['request', where, ...marks.filter((mark) => mark !== false), `\n${head}`].join(' ')
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
  return event.type === 'body' ? `body ${toText(event.bytes)}` : `${event.type}\n${toText(toHeadText(event.head))}`
}

/** Events of the SOCKS reader. Credentials are accepted, unless the name is `nobody`. */
export function summarizeSocks(pieces: readonly Uint8Array[], client = atMainPort): string[] {
  const reader = new Socks5Reader(client)
  const lines: string[] = []
  const describeEvents = (events: readonly ClientEvent[]): void => {
    for (const event of events) {
      lines.push(formatSocksEvent(event))
      if (event.type !== 'login' || event.asker.claim.kind !== 'password') continue
      const isKnown = event.asker.claim.credentials.username !== 'nobody'
      const { bytes, isLast } = reader.answer(isKnown ? admitted : wrongLogin)
      lines.push(`${isLast ? 'deny' : 'accept'} ${toHex(bytes)}`)
      if (!isLast) describeEvents(reader.next())
    }
  }
  for (const piece of pieces) describeEvents(reader.feed(insideBuffer(piece)))
  const rest = toText(reader.rest())
  return rest === '' ? lines : [...lines, `rest ${rest}`]
}

function formatSocksEvent(event: ClientEvent): string {
  if (event.type === 'reply') return `reply ${toHex(event.bytes)}`
  if (event.type === 'refuse') return `refuse ${toHex(event.bytes)} ${event.code}`
  if (event.type === 'request') {
    const { request } = event
    return request.asks === 'tunnel' ? `connect ${formatAuthority(request.target)}` : 'associate'
  }
  const claim = event.type === 'login' ? event.asker.claim : undefined
  if (claim?.kind !== 'password') return event.type
  return `credentials ${claim.credentials.username}:${claim.credentials.password}`
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
