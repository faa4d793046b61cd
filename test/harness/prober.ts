import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import type { SiteSource } from '../../src/dataplane/gateway/site/content.ts'
import {
  clientPreface,
  flags,
  frameTypes,
  headBytes,
  makeFrame,
  toGoaway,
  toHeaders,
  toSettings,
} from '../../src/dataplane/gateway/ways-in/http2/frames.ts'
import { encodeFields, type Field } from '../../src/dataplane/gateway/ways-in/http2/hpack.ts'
import { readCertificate } from '../../src/dataplane/tls/certificate.ts'
import type { Made } from './certificates.ts'
import { type Dice, mutate } from './dice.ts'
import { openEngine } from './engine.ts'
import { openTlsFront } from './tls-front.ts'

/**
 * A web site on the engine's TLS and the gateway's site server, without a customer behind it. `server` is that of this
 * thread; the Linux engine has one in each reactor.
 */
export function openPlainSite(source: SiteSource, made: Made) {
  const certificate = readCertificate(made.cert, made.key)
  const gateway = openEngine()
  const site = { source, challengeHost: undefined, passwordKeys: [] }
  const { front, site: server } = openTlsFront(gateway.engine, { certificate: () => certificate, max: 10_000, site })
  return {
    server,
    port: front.port,
    async stop() {
      front.close()
      front.end()
      await gateway.stop()
    },
  }
}

/** A connection of a prober: each step waits for the answer to the step before. */
export type Probe = {
  readonly name: string
  readonly alpn: readonly string[]
  readonly steps: readonly Uint8Array[]
  /** The prober half-closes after the last step. */
  readonly halfCloses: boolean
  /** Server name, versions and ciphers that the prober offers. */
  readonly offer?: ConnectionOptions
  /** The steps are sent as they are, without a handshake. */
  readonly isRaw?: boolean
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')
const pick = <Item>(dice: Dice, items: readonly Item[]): Item => {
  const item = items[dice(items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

const methods = ['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'PROPFIND', 'get']
const paths = ['/', '/index.html', '/a', '/dir', '/dir/', '/style.css', '/big.bin', '/..%2f..%2fetc/passwd', '/?a=b']
const morePaths = [
  '//evil.example/',
  '/%',
  '/.env',
  '/proxy.pac',
  '/.well-known/masque/udp/192.0.2.6/443/',
  '/api/v1/x',
  // The form of a VPN device's path, whose requests are those of WebSocket and XHTTP.
  `/${'0123abcd'.repeat(4)}`,
  `/${'0123abcd'.repeat(4)}/11111111-2222-4333-8444-555555555555`,
  `/${'0123abcd'.repeat(4)}/11111111-2222-4333-8444-555555555555/0`,
]
const padding = `https://site.example/?x_padding=${'X'.repeat(300)}`
const authorities = [
  '_check',
  '_udp2',
  'example.com:443',
  '127.0.0.1:22',
  'site.example',
  '[::1]:80',
  '10.0.0.1',
  'localhost:8080',
]

/** Values of Proxy-Authorization that no customer has; `username` is a real one. */
const wrongLogins = (username: string): readonly string[] => [
  `Basic ${Buffer.from(`${username}:wrong`).toString('base64')}`,
  `Basic ${Buffer.from('nobody:nothing').toString('base64')}`,
  `Basic ${Buffer.from(`${username}-pool-residential-country-de:x`).toString('base64')}`,
  'Basic !!!',
  'Bearer abcdef',
  'Digest username="a"',
  `Turnpike-Hop from=nod_1; to=nod_2; at=1; nonce=${'0'.repeat(32)}; exit=a; sig=${'A'.repeat(86)}`,
]

const webSocket = [
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: AAAA',
]

function drawHttp1(dice: Dice, username: string): Uint8Array {
  const method = pick(dice, methods)
  const path = pick(dice, [...paths, ...morePaths])
  const isAbsolute = dice(4) === 0
  const target =
    method === 'CONNECT' ? pick(dice, authorities) : isAbsolute ? `http://${pick(dice, authorities)}${path}` : path
  const lines = [`${method} ${target} HTTP/1.${dice(12) === 0 ? 0 : 1}`, `Host: ${pick(dice, authorities)}`]
  if (dice(2) === 0) lines.push(`Proxy-Authorization: ${pick(dice, wrongLogins(username))}`)
  if (dice(5) === 0) lines.push('Proxy-Connection: keep-alive')
  if (dice(8) === 0) lines.push('Upgrade: connect-udp', 'Connection: Upgrade')
  if (dice(8) === 0) lines.push(...webSocket)
  if (dice(6) === 0) lines.push(`Referer: ${padding}`)
  if (dice(8) === 0) lines.push('Expect: 100-continue')
  const body = method === 'POST' || method === 'PUT' ? 'x'.repeat(dice(3000)) : ''
  if (body !== '') lines.push(`Content-Length: ${body.length}`)
  return bytesOf(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

const malformed1 = [
  '\x05\x02\x00\x02',
  '\x04\x01\x00\x50\x7f\x00\x00\x01\x00',
  'GET\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  'GET / HTTP/2.0\r\nHost: a\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  'GET / HTTP/1.1\r\nHost : a\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n',
  `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
  'CONNECT example.com HTTP/1.1\r\nHost: example.com\r\n\r\n',
  'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
  '\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01',
  // VLESS and Trojan with keys that no device has, whole and in part.
  `\x00${'k'.repeat(16)}\x00\x01\x01\xbb\x02\x09a.example`,
  `\x00${'k'.repeat(16)}\x00\x03\x00\x0c\x00\x00\x01\x01\x02\x00\x35\x01\xc0\x00\x02\x07\x00\x02hi`,
  `\x00${'k'.repeat(16)}`,
  `\x00${'k'.repeat(9)}`,
  `${'0123abcd'.repeat(7)}\r\n\x01\x03\x09a.example\x01\xbb\r\n`,
  '0123abcd'.repeat(7),
  'deadbeef',
].map(bytesOf)

/** Ends every connection that a step has not ended. */
const last1 = bytesOf('GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

function drawStream(dice: Dice, username: string): readonly Field[] {
  const method = pick(dice, methods)
  const authority = pick(dice, authorities)
  const login: readonly Field[] = dice(2) === 0 ? [['proxy-authorization', pick(dice, wrongLogins(username))]] : []
  const target: readonly Field[] =
    method === 'CONNECT' && dice(3) > 0
      ? []
      : [
          [':scheme', pick(dice, ['https', 'http'])],
          [':path', pick(dice, [...paths, ...morePaths, '*', 'x'])],
        ]
  const odd: readonly Field[] = [
    ['X-Upper', 'a'],
    ['connection', 'close'],
    ['te', 'gzip'],
    [':late', 'a'],
  ]
  const more = dice(8) === 0 ? [pick(dice, odd)] : []
  if (dice(6) === 0) more.push(['referer', padding])
  if (dice(6) === 0) more.push(['padding', '~'.repeat(20)])
  return [[':method', method], [':authority', authority], ...target, ...login, ...more]
}

const malformed2 = [
  makeFrame(frameTypes.data, 0, 1, 10),
  makeFrame(frameTypes.headers, flags.endHeaders, 0, 10),
  makeFrame(frameTypes.continuation, flags.endHeaders, 1, 4),
  makeFrame(frameTypes.ping, 0, 0, 7),
  makeFrame(frameTypes.windowUpdate, 0, 0, 4),
  makeFrame(frameTypes.pushPromise, 0, 1, 4),
  makeFrame(frameTypes.settings, 0, 0, 5),
  makeFrame(0x77, 0, 0, 3),
  makeFrame(frameTypes.headers, flags.endHeaders | flags.endStream, 1, 30),
]

function drawHttp2(dice: Dice, username: string): Probe {
  const opening = Buffer.concat([clientPreface, toSettings({ enablePush: 0 })])
  const ending = toGoaway(0, 'none')
  const alpn = ['h2', 'http/1.1']
  const kind = dice(8)
  if (kind === 0)
    return { name: 'h2 preface', alpn, steps: [bytesOf('GET / HTTP/1.1\r\nHost: a\r\n\r\n')], halfCloses: false }
  if (kind === 1) return { name: 'h2 half', alpn, steps: [opening.subarray(0, dice(opening.length))], halfCloses: true }
  if (kind === 2)
    return {
      name: 'h2 frame',
      alpn,
      steps: [opening, Buffer.concat([pick(dice, malformed2), ending])],
      halfCloses: true,
    }
  const requests = Array.from({ length: 1 + dice(4) }, (_, at) => {
    const id = 2 * at + 1
    const fields = drawStream(dice, username)
    const body = fields.some(([, value]) => value === 'POST' || value === 'PUT') ? dice(3000) : 0
    const head = toHeaders(id, encodeFields(fields), body === 0)
    return body === 0 ? head : Buffer.concat([head, makeFrame(frameTypes.data, flags.endStream, id, body)])
  })
  const [first = ending, ...rest] = requests
  return { name: 'h2', alpn, steps: [Buffer.concat([opening, first]), ...rest, ending], halfCloses: false }
}

function drawHttp(dice: Dice, username: string): Probe {
  if (dice(2) === 0) return drawHttp2(dice, username)
  const alpn = pick(dice, [[], ['http/1.1'], ['http/1.0'], ['spdy/3', 'http/1.1']])
  const kind = dice(6)
  if (kind === 0) return { name: 'h1 malformed', alpn, steps: [pick(dice, malformed1), last1], halfCloses: true }
  const request = drawHttp1(dice, username)
  if (kind === 1) return { name: 'h1 half', alpn, steps: [request.subarray(0, dice(request.length))], halfCloses: true }
  const more = Array.from({ length: dice(4) }, () => drawHttp1(dice, username))
  return { name: 'h1', alpn, steps: [Buffer.concat([request, ...more, last1])], halfCloses: false }
}

const protocols = ['h2', 'http/1.1', 'http/1.0', 'h3', 'acme-tls/1', 'spdy/3', 'foo', 'x'.repeat(200)]
const serverNames = ['site.example', 'shop.test', `${'a'.repeat(60)}.example`, 'xn--e1aybc.example']
const versions = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const
const ciphers = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES128-SHA',
  'AES128-SHA',
]

/** An HTTP/1 request after a handshake with odd protocols, names, versions or ciphers. */
function drawHandshake(dice: Dice, username: string): Probe {
  const alpn = Array.from({ length: dice(4) }, () => pick(dice, protocols))
  const [a, b] = [dice(versions.length), dice(versions.length)]
  const offer: ConnectionOptions = {
    ...(dice(2) === 0 && { servername: pick(dice, serverNames) }),
    ...(dice(2) === 0 && {
      minVersion: pick(dice, [versions[Math.min(a, b)] ?? 'TLSv1']),
      maxVersion: pick(dice, [versions[Math.max(a, b)] ?? 'TLSv1.3']),
    }),
    ...(dice(3) === 0 && { ciphers: pick(dice, ciphers) }),
  }
  const steps = [Buffer.concat([drawHttp1(dice, username), last1])]
  return { name: 'handshake', alpn, steps, halfCloses: true, offer }
}

/** Bytes that are no handshake, or a spoiled one. */
function drawRaw(dice: Dice, username: string, hello: Uint8Array): Probe {
  const common = { alpn: [], halfCloses: true, isRaw: true } as const
  const kind = dice(4)
  if (kind === 0) return { ...common, name: 'plain HTTP', steps: [drawHttp1(dice, username)], halfCloses: false }
  if (kind === 1) return { ...common, name: 'plain', steps: [pick(dice, malformed1)] }
  if (kind === 2) return { ...common, name: 'hello half', steps: [hello.subarray(0, dice(hello.length))] }
  return { ...common, name: 'hello', steps: [mutate([hello], dice)] }
}

const keyOf = ({ steps, ...probe }: Probe): string =>
  JSON.stringify([probe, steps.map((each) => Buffer.from(each).toString('latin1'))])

/** Draws so many probes that all differ: a third of them at the level of TLS. */
export async function drawProbes(count: number, dice: Dice, username: string): Promise<readonly Probe[]> {
  const hello = await recordHello()
  const drawn = new Map<string, Probe>()
  while (drawn.size < count) {
    const draw = dice(3) > 0 ? drawHttp : dice(2) > 0 ? drawHandshake : drawRaw
    const probe = draw(dice, username, hello)
    drawn.set(keyOf(probe), probe)
  }
  return [...drawn.values()]
}

/** The first bytes of a TLS client. */
async function recordHello(): Promise<Uint8Array> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array>()
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes: Buffer) => {
      resolve(bytes)
      socket.destroy()
      server.close()
    })
  })
  server.listen(0, '127.0.0.1')
  const { port } = server.address() as AddressInfo
  connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2', 'http/1.1'] }).on('error', () => {})
  return promise
}

const datePattern = /[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT/g

/** Whether the answer to the HTTP/2 requests so far has ended: as many ended or reset streams as steps. */
function countEnded(bytes: Buffer): number {
  let ended = 0
  for (let at = 0; at + headBytes <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3)
    if (at + headBytes + length > bytes.length) break
    const [type, frameFlags] = [bytes[at + 3] ?? 0, bytes[at + 4] ?? 0]
    const isEnd = type === frameTypes.data || type === frameTypes.headers ? (frameFlags & flags.endStream) !== 0 : false
    // A reset without an error follows the end of an answer whose request had not ended.
    const isReset = type === frameTypes.reset && bytes.readUInt32BE(at + headBytes) !== 0
    if (isEnd || isReset) ended += 1
    at += headBytes + length
  }
  return ended
}

/** `firstByteMs`: until the first byte of the answer; over HTTP/2, until its end. */
export type ProbeResult = { readonly text: string; readonly tls: string; readonly firstByteMs: number }

const handshakeRecord = 22

/** Sends bytes without a handshake. The answer is all bytes, but only that it is a ServerHello if it is one. */
function sendRaw(port: number, { steps, halfCloses }: Probe): Promise<ProbeResult> {
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  let received = Buffer.alloc(0)
  const finish = (how: string): void => {
    const isServerHello = received[0] === handshakeRecord
    resolve({ text: `${isServerHello ? 'ServerHello' : received.toString('hex')}\n${how}`, tls: '', firstByteMs: 0 })
    socket.destroy()
  }
  socket.once('connect', () => {
    for (const bytes of steps) socket.write(bytes)
    if (halfCloses) socket.end()
  })
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
    if (received[0] === handshakeRecord) finish('')
  })
  socket.once('end', () => finish('ended'))
  socket.once('close', () => finish('closed'))
  socket.once('error', () => finish('failed'))
  return promise
}

/** Sends a probe. The answer is all bytes until the server closes, with dates masked. */
export function sendProbe(port: number, probe: Probe): Promise<ProbeResult> {
  if (probe.isRaw) return sendRaw(port, probe)
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...(probe.alpn.length > 0 && { ALPNProtocols: [...probe.alpn] }),
    ...probe.offer,
  })
  let tls = ''
  let received = Buffer.alloc(0)
  let step = 0
  let sentAt = 0
  let firstByteMs = Number.NaN
  const isHttp2 = probe.alpn[0] === 'h2' && probe.name === 'h2'
  const sendNext = (): void => {
    const bytes = probe.steps[step]
    step += 1
    if (bytes) socket.write(bytes)
    if (step >= probe.steps.length && probe.halfCloses) socket.end()
    else if (!isHttp2 && step < probe.steps.length) sendNext()
  }
  const finish = (how: string): void => {
    const text = `${received.toString('latin1').replaceAll(datePattern, 'DATE')}\n${how}`
    resolve({ text, tls, firstByteMs })
    socket.destroy()
  }
  socket.setNoDelay(true)
  socket.once('secureConnect', () => {
    const { fingerprint256 } = socket.getPeerCertificate()
    tls = [socket.alpnProtocol, socket.getProtocol(), socket.getCipher().name, fingerprint256].join(' ')
    sentAt = performance.now()
    sendNext()
  })
  socket.on('data', (bytes: Buffer) => {
    const nowMs = performance.now()
    received = Buffer.concat([received, bytes])
    if (Number.isNaN(firstByteMs) && (!isHttp2 || countEnded(received) > 0)) firstByteMs = nowMs - sentAt
    if (isHttp2 && countEnded(received) >= step && step < probe.steps.length) sendNext()
  })
  socket.once('end', () => finish('ended'))
  socket.once('close', () => finish('closed'))
  socket.once('error', (error: NodeJS.ErrnoException) => finish(`failed ${error.code}`))
  return promise
}
