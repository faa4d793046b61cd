import { type ConnectTarget, formatAuthority } from '../../src/dataplane/gateway/ways-in/authority.ts'
import { CapsuleReader } from '../../src/dataplane/gateway/ways-in/connect-udp/capsules.ts'
import { ChunkReader } from '../../src/dataplane/gateway/ways-in/http1/chunks.ts'
import { HeadReader, valuesOf } from '../../src/dataplane/gateway/ways-in/http1/head.ts'
import { readFraming } from '../../src/dataplane/gateway/ways-in/http1/request.ts'
import { clientPreface } from '../../src/dataplane/gateway/ways-in/http2/frames.ts'
import type { Field } from '../../src/dataplane/gateway/ways-in/http2/hpack.ts'
import { PaddingReader } from '../../src/dataplane/gateway/ways-in/http2/padding.ts'
import { Http2Session } from '../../src/dataplane/gateway/ways-in/http2/session.ts'
import type { Http2Stream } from '../../src/dataplane/gateway/ways-in/http2/stream.ts'
import { TrustTunnelDatagrams } from '../../src/dataplane/gateway/ways-in/trusttunnel/udp.ts'
import { type MuxFrame, MuxReader } from '../../src/dataplane/gateway/ways-in/vless/mux.ts'
import { WebSocketReader } from '../../src/dataplane/gateway/ways-in/websocket/frames.ts'
import { readUpgrade } from '../../src/dataplane/gateway/ways-in/websocket/upgrade.ts'
import { readXhttpRequest, splitPath } from '../../src/dataplane/gateway/ways-in/xhttp/request.ts'
import { toText } from './protocol.ts'

/** Passes each piece on as memory that is reused afterwards, until `feed` returns false. */
function feedAll(pieces: readonly Uint8Array[], feed: (chunk: Uint8Array) => boolean): boolean {
  for (const piece of pieces) {
    const chunk = new Uint8Array(piece)
    if (!feed(chunk)) return false
    chunk.fill(0xee)
  }
  return true
}

type DatagramFeed = (chunk: Uint8Array, onPayload: (payload: Uint8Array, target?: ConnectTarget) => void) => boolean

/** Datagrams of a reader that keeps them apart. */
export function summarizeDatagrams(feed: DatagramFeed, pieces: readonly Uint8Array[]): string[] {
  const lines: string[] = []
  const isValid = feedAll(pieces, (chunk) =>
    feed(chunk, (payload, target) => {
      lines.push(`${target ? formatAuthority(target) : '*'} "${toText(payload)}"`)
    }),
  )
  return isValid ? lines : [...lines, 'refuse']
}

export const summarizeTrustTunnel = (pieces: readonly Uint8Array[]): string[] =>
  summarizeDatagrams(new TrustTunnelDatagrams().feed, pieces)

export function summarizeCapsules(pieces: readonly Uint8Array[]): string[] {
  const reader = new CapsuleReader()
  return summarizeDatagrams((chunk, onPayload) => reader.feed(chunk, onPayload), pieces)
}

export function summarizeMux(pieces: readonly Uint8Array[]): string[] {
  const reader = new MuxReader()
  const lines: string[] = []
  const isValid = feedAll(pieces, (chunk) => reader.feed(chunk, (frame) => void lines.push(formatFrame(frame))))
  return isValid ? lines : [...lines, 'refuse']
}

function formatFrame({ id, status, hasFailed, network, target, globalId, payload }: MuxFrame): string {
  const parts = [status, id, hasFailed && 'failed', network, target && formatAuthority(target), globalId]
  const text = payload ? `"${toText(payload)}"` : false
  return [...parts, text].filter((part) => part !== false && part !== undefined).join(' ')
}

/** Events of a WebSocket, with the bytes of messages joined. */
export function summarizeWebSocket(pieces: readonly Uint8Array[]): string[] {
  const reader = new WebSocketReader()
  const lines: string[] = []
  let bytes = ''
  const flush = (): void => {
    if (bytes !== '') lines.push(`bytes ${bytes}`)
    bytes = ''
  }
  const isOpen = feedAll(pieces, (chunk) =>
    reader.feed(chunk, (event) => {
      if (event.type === 'bytes') bytes += toText(event.bytes)
      else {
        flush()
        lines.push(event.type === 'ping' ? `ping ${toText(event.bytes)}` : 'close')
      }
    }),
  )
  flush()
  return isOpen ? lines : [...lines, 'over']
}

/** The bytes that NaïveProxy's padding leaves. */
export function summarizePadding(pieces: readonly Uint8Array[]): string[] {
  const reader = new PaddingReader()
  let text = ''
  feedAll(pieces, (chunk) => {
    for (const part of reader.feed(chunk)) text += toText(part)
    return true
  })
  return [text === '' ? 'nothing' : text.length < 40 ? `short ${text}` : `long ${text}`]
}

const siteLimits = { startLineBytes: 8192, headBytes: 16_384, fields: 100, blankLinesBefore: 1, mends: false }
const sha1 = (text: string): Uint8Array => Bun.SHA1.hash(text) as Uint8Array

/** A request of a device's path: a WebSocket, or one of XHTTP with its body. */
export function summarizeCarried(pieces: readonly Uint8Array[]): string[] {
  const head = new HeadReader(siteLimits)
  let body: ((chunk: Uint8Array) => void) | undefined
  let text = ''
  const lines: string[] = []
  const isWhole = feedAll(pieces, (chunk) => {
    let at = 0
    while (!body) {
      const progress = head.read(chunk, at)
      at = head.next
      if (progress === 'more') return true
      if (progress === 'start') continue
      if (progress !== 'done') {
        lines.push(progress)
        return false
      }
      body = takeCarriedHead(head, lines, (part) => void (text += toText(part)))
      if (!body) return false
    }
    body(chunk.subarray(at))
    return true
  })
  return [...lines, ...(text === '' ? [] : [`body ${text}`]), ...(isWhole ? [] : ['over'])]
}

function takeCarriedHead(head: HeadReader, lines: string[], onBody: (part: Uint8Array) => void) {
  const [method = '', target = '', protocol] = head.startLine.split(' ')
  const fields = head.fields.map(({ name, value }): Field => [name, value])
  const upgrade = readUpgrade(method, (name) => valuesOf(head.fields, name), sha1)
  const request = upgrade ?? readXhttpRequest(method, target, fields)
  const framing = readFraming({ path: target, version: '1.1' }, head.fields)
  if (!request || protocol !== 'HTTP/1.1' || 'type' in framing) {
    lines.push(`site ${splitPath(target).path}`)
    return undefined
  }
  lines.push(JSON.stringify(request))
  if (framing.kind !== 'chunked') return onBody
  const chunks = new ChunkReader({ reencode: false, mends: false })
  return (chunk: Uint8Array): void => {
    const parts: Uint8Array[] = []
    chunks.read(chunk, 0, parts)
    for (const part of parts) onBody(part)
    if (chunks.state === 'fault' && lines.at(-1) !== 'fault') lines.push('fault')
  }
}

/** Requests of an HTTP/2 connection with their bodies. All streams end with their connection. */
export function summarizeHttp2(pieces: readonly Uint8Array[]): string[] {
  const lines: string[] = []
  const bodies = new Map<Http2Stream, { name: string; bytes: string; end: string }>()
  let isOver = false
  const session: Http2Session = new Http2Session({
    wire: {
      write: (bytes) => bytes.length,
      pause() {},
      resume() {},
      end: () => void (isOver = true),
      terminate: () => void (isOver = true),
    },
    role: 'server',
    clock: () => 0,
    onRequest(stream, fields, isEnd) {
      const body = { name: JSON.stringify(fields), bytes: '', end: isEnd ? 'ended' : 'open' }
      bodies.set(stream, body)
      stream.owner = {
        onSocketData: (bytes) => void (body.bytes += toText(bytes)),
        onSocketDrain() {},
        onSocketEnd: () => void (body.end = 'ended'),
        onSocketClose: () => void (body.end += ' closed'),
      }
    },
    onClosed() {},
  })
  session.onSocketData(clientPreface)
  feedAll(pieces, (chunk) => {
    session.onSocketData(chunk)
    return true
  })
  if (isOver) lines.push('over')
  session.onSocketClose()
  if (session.openStreams !== 0) lines.push(`${session.openStreams} streams left`)
  for (const { name, bytes, end } of bodies.values()) lines.push(`${end} ${name} ${bytes}`)
  return lines
}
