import { createHash } from 'node:crypto'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { Duplex, type Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { pathOfDevice } from '../../../core/device-path.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import { PaddingReader } from '../../../dataplane/gateway/ways-in/http2/padding.ts'
import { type OpenSockets, openTls, type Spot, type TlsSpot, WayInFailed } from './tls.ts'

/** Keys of the device of `doctor`. */
export type DoctorKeys = { readonly id: string; readonly uuid: string; readonly password: string }

const nameType = { vless: 2, trojan: 3 } as const

/** The destination as VLESS (port first) and Trojan (port last) write it, always as a name or an address in text. */
const hostBytes = (kind: 2 | 3, host: string): Buffer =>
  Buffer.concat([Buffer.of(kind, host.length), Buffer.from(host)])
const portBytes = (port: number): Buffer => Buffer.of(port >> 8, port & 255)

const vlessHead = ({ uuid }: DoctorKeys, { host, port }: Spot): Buffer =>
  Buffer.concat([
    Buffer.of(0),
    Buffer.from(uuid.replaceAll('-', ''), 'hex'),
    Buffer.of(0, 1),
    portBytes(port),
    hostBytes(nameType.vless, host),
  ])

const trojanHead = ({ password }: DoctorKeys, { host, port }: Spot): Buffer =>
  Buffer.concat([
    Buffer.from(`${createHash('sha224').update(password).digest('hex')}\r\n`),
    Buffer.of(1),
    hostBytes(nameType.trojan, host),
    portBytes(port),
    Buffer.from('\r\n'),
  ])

/** Changes the bytes on their way: `write` of what is sent, `read` of what arrives, both in parts. */
type Change = { readonly write?: Write; readonly read?: Read }
type Write = (bytes: Buffer) => Buffer
type Read = (bytes: Buffer) => readonly Uint8Array[]

/** A stream over another one. */
function over(line: Duplex, { write, read }: Change): Duplex {
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _, done) {
      line.write(write ? write(chunk) : chunk, () => done())
    },
    final(done) {
      line.end(() => done())
    },
    destroy(error, done) {
      line.destroy()
      done(error)
    },
  })
  line.on('data', (chunk: Buffer) => {
    for (const part of read ? read(chunk) : [chunk]) stream.push(Buffer.from(part))
  })
  line.once('end', () => stream.push(null))
  line.once('close', () => stream.destroy())
  line.resume()
  return stream
}

/** Drops the first bytes that arrive. */
function dropFirst(count: number): Read {
  let left = count
  return (bytes) => {
    const dropped = Math.min(left, bytes.length)
    left -= dropped
    return [bytes.subarray(dropped)]
  }
}

/** The first bytes that are sent have a head in front. */
function withHead(head: Buffer): Write {
  let before: Buffer | undefined = head
  return (bytes) => {
    const all = before ? Buffer.concat([before, bytes]) : bytes
    before = undefined
    return all
  }
}

/** VLESS answers with two bytes before the destination's. */
const asVless = (line: Duplex, keys: DoctorKeys, to: Spot): Duplex =>
  over(line, { write: withHead(vlessHead(keys, to)), read: dropFirst(2) })

/** The head of an HTTP/1.1 answer; what follows stays in the stream. */
function readHead(line: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = Buffer.alloc(0)
    const onData = (bytes: Buffer): void => {
      text = Buffer.concat([text, bytes])
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      line.off('data', onData)
      line.pause()
      if (text.length > end + 4) line.unshift(text.subarray(end + 4))
      resolve(text.toString('latin1', 0, end))
    }
    line.on('data', onData)
    line.once('close', () => reject(new WayInFailed('protocol', 'the gateway closed the connection')))
  })
}

const statusOf = (head: string): number => Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0)

function expectStatus(status: number, wanted: number): void {
  if (status !== wanted) throw new WayInFailed('protocol', `the gateway answered ${status}`)
}

const authorityOf = ({ host, port }: Spot): string => `${host.includes(':') ? `[${host}]` : host}:${port}`
const basicOf = ({ id, password }: DoctorKeys): string => `Basic ${Buffer.from(`${id}:${password}`).toString('base64')}`

async function openHttp(line: TLSSocket, keys: DoctorKeys, to: Spot): Promise<Duplex> {
  const authority = authorityOf(to)
  line.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: ${basicOf(keys)}\r\n\r\n`)
  expectStatus(statusOf(await readHead(line)), 200)
  return line
}

/** A masked binary frame (RFC 6455, 5.2), with a mask of zeros. */
function toFrame(bytes: Buffer): Buffer {
  const { length } = bytes
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(0x82, ...size, 0, 0, 0, 0), bytes])
}

/** Takes the payloads out of a server's frames. */
function unframe(): Read {
  let held = Buffer.alloc(0)
  return (chunk) => {
    held = Buffer.concat([held, chunk])
    const parts: Buffer[] = []
    for (;;) {
      const short = held[1] ?? 0
      const head = short === 127 ? 10 : short === 126 ? 4 : 2
      if (held.length < head) return parts
      const length = short === 127 ? Number(held.readBigUInt64BE(2)) : short === 126 ? held.readUInt16BE(2) : short
      if (held.length < head + length) return parts
      if (((held[0] ?? 0) & 15) <= 2) parts.push(held.subarray(head, head + length))
      held = held.subarray(head + length)
    }
  }
}

async function openWebSocket(line: TLSSocket, host: string, path: string): Promise<Duplex> {
  const fields = [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64')}`,
  ]
  line.write(`${fields.join('\r\n')}\r\n\r\n`)
  expectStatus(statusOf(await readHead(line)), 101)
  return over(line, { write: toFrame, read: unframe() })
}

const xhttpPadding = 'X'.repeat(200)

/** A request of HTTP/2 whose body and answer are streams. */
function request(session: ClientHttp2Session, fields: Record<string, string>) {
  const stream = session.request(fields)
  const answered = new Promise<number>((resolve, reject) => {
    stream.once('response', (answer) => resolve(Number(answer[':status'])))
    stream.once('error', reject)
    stream.once('close', () => reject(new WayInFailed('protocol', 'the gateway closed the stream')))
  })
  answered.catch(() => {})
  stream.on('error', () => {})
  return { stream, answered }
}

function openSession(line: TLSSocket, { host, port }: Spot, sockets: OpenSockets): ClientHttp2Session {
  const session = sockets.keep(connectHttp2(`https://${authorityOf({ host, port })}`, { createConnection: () => line }))
  session.on('error', () => {})
  return session
}

const toConnect = (keys: DoctorKeys, authority: string, more: Record<string, string> = {}) => ({
  ':method': 'CONNECT',
  ':authority': authority,
  'proxy-authorization': basicOf(keys),
  ...more,
})

async function openConnect(
  session: ClientHttp2Session,
  keys: DoctorKeys,
  authority: string,
  more?: Record<string, string>,
): Promise<Duplex> {
  const { stream, answered } = request(session, toConnect(keys, authority, more))
  expectStatus(await answered, 200)
  return stream
}

/** The first frames each way have padding; of the client's bytes, only a first one of no padding. */
function asPadded(line: Duplex): Duplex {
  const reader = new PaddingReader()
  let frames = 0
  const write = (bytes: Buffer): Buffer => {
    frames += 1
    return frames > 8 ? bytes : Buffer.concat([portBytes(bytes.length), Buffer.of(0), bytes])
  }
  return over(line, { write, read: (bytes) => reader.feed(bytes) })
}

async function openTrustTunnel(session: ClientHttp2Session, keys: DoctorKeys, to: Spot): Promise<Duplex> {
  const check = await openConnect(session, keys, '_check')
  check.destroy()
  return openConnect(session, keys, authorityOf(to))
}

const overHttp2: readonly GatewayProtocol[] = ['xhttp', 'naive', 'trusttunnel']

/** A stream of the device of `doctor` to a destination, by one protocol of a gateway. */
export async function openDeviceStream(
  protocol: GatewayProtocol,
  spot: TlsSpot,
  keys: DoctorKeys,
  to: Spot,
  sockets: OpenSockets,
): Promise<Duplex> {
  const isHttp2 = overHttp2.includes(protocol)
  const line = await openTls(spot, isHttp2 ? 'h2' : 'http/1.1', sockets)
  const path = pathOfDevice(createHash('sha256').update(keys.uuid).digest('hex'))
  if (protocol === 'vless') return asVless(line, keys, to)
  if (protocol === 'trojan') return over(line, { write: withHead(trojanHead(keys, to)) })
  if (protocol === 'http') return openHttp(line, keys, to)
  if (protocol === 'websocket') return asVless(await openWebSocket(line, spot.host, path), keys, to)
  const session = openSession(line, spot, sockets)
  if (protocol === 'naive')
    return asPadded(await openConnect(session, keys, authorityOf(to), { padding: '~'.repeat(30) }))
  if (protocol === 'trusttunnel') return openTrustTunnel(session, keys, to)
  const referer = `https://${spot.host}${path}/?x_padding=${xhttpPadding}`
  const { stream } = request(session, { ':method': 'POST', ':path': `${path}/`, referer })
  return asVless(stream, keys, to)
}
