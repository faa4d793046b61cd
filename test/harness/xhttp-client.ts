import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Made } from './certificates.ts'
import { type DeviceStream, Inbox, openTls } from './device-stream.ts'

export type XhttpMode = 'packet-up' | 'stream-up' | 'stream-one'
export type XhttpVersion = 'h2' | 'http/1.1'

type Where = {
  readonly tlsPort: number
  readonly made: Made
  readonly path: string
  /** The address of the next connection. */
  readonly nextAddress?: () => string
}

/** Bytes of a packet of the tests. */
const packetBytes = 20_000
const padding = 'X'.repeat(200)

/** One request of XHTTP whose body and answer go in parts. */
type Part = { write(bytes: Uint8Array): void; end(bytes?: Uint8Array): void; readonly closed: Promise<void> }
export type Requester = {
  /** `onBytes` gets the answer's body. */
  open(method: 'GET' | 'POST', path: string, onBytes: (bytes: Uint8Array) => void, length?: number): Promise<Part>
  close(): void
}

const refererOf = (path: string): string => `https://site.example${path}?x_padding=${padding}`

/** All requests on one connection. */
export async function overHttp2({ tlsPort, made, nextAddress }: Where): Promise<Requester> {
  const line = await openTls(tlsPort, made, 'h2', nextAddress?.())
  const session: ClientHttp2Session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { createConnection: () => line })
  session.on('error', () => {})
  return {
    async open(method, path, onBytes) {
      const fields = { ':method': method, ':path': path, referer: refererOf(path) }
      const stream: ClientHttp2Stream = session.request(fields, { endStream: method === 'GET' })
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      stream.on('data', (bytes: Buffer) => onBytes(bytes))
      stream.on('error', () => {}).once('close', resolve)
      return { write: (bytes) => void stream.write(bytes), end: (bytes) => void stream.end(bytes), closed }
    },
    close: () => session.destroy(),
  }
}

/** Passes the chunks of an answer on. */
async function readChunks(from: Inbox, onBytes: (bytes: Uint8Array) => void): Promise<void> {
  for (;;) {
    const length = Number.parseInt((await from.readUntil('\r\n')).toString('latin1'), 16)
    if (!(length > 0)) return
    onBytes(await from.read(length))
    await from.read(2)
  }
}

/** Each request on a connection of its own. */
function overHttp1({ tlsPort, made, nextAddress }: Where): Requester {
  const lines: TLSSocket[] = []
  return {
    async open(method, path, onBytes, length) {
      const line = await openTls(tlsPort, made, 'http/1.1', nextAddress?.())
      lines.push(line)
      const inbox = new Inbox()
      const closed = new Promise<void>((resolve) => line.once('close', () => resolve()))
      line.on('data', (bytes: Buffer) => inbox.add(bytes))
      void closed.then(() => inbox.end())
      const framing =
        method === 'GET'
          ? ''
          : length === undefined
            ? 'Transfer-Encoding: chunked\r\n'
            : `Content-Length: ${length}\r\n`
      line.write(`${method} ${path} HTTP/1.1\r\nHost: site.example\r\nReferer: ${refererOf(path)}\r\n${framing}\r\n`)
      const answered = inbox.readUntil('\r\n\r\n').then((head) => {
        const isChunked = /chunked/i.test(head.toString('latin1'))
        return isChunked ? readChunks(inbox, onBytes) : undefined
      })
      const frame = (bytes: Uint8Array): Uint8Array =>
        length === undefined
          ? Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
          : bytes
      return {
        write: (bytes) => void line.write(frame(bytes)),
        end: (bytes) => {
          if (bytes) line.write(frame(bytes))
          if (length === undefined && method === 'POST') line.write('0\r\n\r\n')
        },
        closed: Promise.race([closed, answered]).then(() => undefined),
      }
    },
    close: () => {
      for (const line of lines) line.destroy()
    },
  }
}

/** The request of a packet over HTTP/1.1. */
export function toPacket(path: string, body: Uint8Array): Buffer {
  const head = ['Host: site.example', `Referer: ${refererOf(path)}`, `Content-Length: ${body.length}`]
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`), body])
}

/** A device's stream over XHTTP, written for the tests from its description. */
export async function openXhttp(
  where: Where,
  mode: XhttpMode,
  version: XhttpVersion,
  session: string = crypto.randomUUID(),
): Promise<DeviceStream & { readonly session: string }> {
  const requester = version === 'h2' ? await overHttp2(where) : overHttp1(where)
  return openXhttpBy(() => requester, where.path, mode, session)
}

/** The same, with a requester of the caller's choice for each request. */
export async function openXhttpBy(
  pick: () => Requester,
  path: string,
  mode: XhttpMode,
  session: string = crypto.randomUUID(),
): Promise<DeviceStream & { readonly session: string }> {
  const inbox = new Inbox()
  const onBytes = (bytes: Uint8Array): void => inbox.add(bytes)
  const base = `${path}/${session}`
  const isOne = mode === 'stream-one'
  const requester = pick()
  const down = await requester.open(isOne ? 'POST' : 'GET', isOne ? `${path}/` : base, onBytes)
  void down.closed.then(() => inbox.end())
  const up = mode === 'stream-up' ? await pick().open('POST', base, () => {}) : isOne ? down : undefined
  let seq = 0
  const sendInPackets = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at += packetBytes) {
      const part = bytes.subarray(at, at + packetBytes)
      void pick()
        .open('POST', `${base}/${seq}`, () => {}, part.length)
        .then((post) => post.end(part))
      seq += 1
    }
  }
  return {
    session,
    send: (bytes) => (up ? up.write(bytes) : sendInPackets(bytes)),
    read: (length) => inbox.read(length),
    close: () => requester.close(),
    closed: down.closed,
  }
}

/** Sends packets with these numbers and texts, in this order, over one connection. Returns when each has an answer. */
export async function sendPackets(
  where: Where,
  session: string,
  packets: readonly (readonly [seq: number, bytes: Uint8Array])[],
): Promise<void> {
  const requester = await overHttp2(where)
  const posts = []
  for (const [seq, bytes] of packets) {
    const post = await requester.open('POST', `${where.path}/${session}/${seq}`, () => {}, bytes.length)
    post.end(bytes)
    posts.push(post.closed)
  }
  await Promise.all(posts)
  requester.close()
}
