import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { Socket } from 'bun'
import { Http2Clients } from '../../src/dataplane/gateway/engines/shared/http2-clients.ts'
import { SiteServer } from '../../src/dataplane/gateway/site/server.ts'
import { createSockets } from '../../src/dataplane/gateway/system/sockets.ts'
import { readCertificate } from '../../src/dataplane/tls/certificate.ts'
import { Front } from '../../src/dataplane/tls/front.ts'
import type { WithDescriptor } from '../../src/dataplane/tls/tls-socket.ts'
import { basicOf, openEngine, type TestGateway } from '../harness/engine.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { openTlsFront } from '../harness/tls-front.ts'
import { until, untilStill } from '../harness/until.ts'
import { WireClient } from '../harness/wire-client.ts'

let gateway: TestGateway
let clients: { readonly open: number }
let front: Front
/** If set, the port is a web site for clients without credentials. */
let site: SiteServer | undefined
let origin: ReturnType<typeof Bun.serve>
/** Timers of the HTTP/2 connections, which the test fires by moving the clock. */
let timers: Set<{ readonly at: number; readonly act: () => void }>
let nowMs: number
let sessions: ClientHttp2Session[]

beforeEach(() => {
  sessions = []
  site = undefined
  origin = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('x'.repeat(100_000)) })
})

const certificate = readCertificate(selfSigned.cert, selfSigned.key)

/** TLS where the engine does it. */
function serve(): void {
  gateway = openEngine({ limits: { refusalDelayMs: 1 } })
  const opened = openTlsFront(gateway.engine, { certificate: () => certificate, max: 8 })
  front = opened.front
  clients = opened.http2
}

/** TLS on this thread, whose clock the test moves. The HTTP/2 connections are the same code. */
function serveByClock(): void {
  timers = new Set()
  nowMs = 0
  gateway = openEngine({ kind: 'portable', limits: { refusalDelayMs: 1 } })
  const own = new Http2Clients({
    sockets: createSockets(process.platform),
    take: (client) => gateway.engine.takeTls?.(client),
    after,
    clock: () => performance.now(),
  })
  clients = own
  front = new Front({
    hostname: '127.0.0.1',
    port: 0,
    certificate: () => certificate,
    max: 8,
    offersHttp2: true,
    makeRoom: () => own.makeRoom(),
    onTls: (tls) => own.take(tls, site),
    onFault(fault) {
      throw fault
    },
  })
}

afterEach(async () => {
  for (const session of sessions) session.destroy()
  front.close()
  front.end()
  await gateway.stop()
  await origin.stop(true)
})

function after(ms: number, act: () => void): () => void {
  const timer = { at: nowMs + ms, act }
  timers.add(timer)
  return () => void timers.delete(timer)
}

function moveClock(ms: number): void {
  nowMs += ms
  for (const timer of timers) if (timer.at <= nowMs && timers.delete(timer)) timer.act()
}

async function open(settings = {}): Promise<ClientHttp2Session> {
  const session = connect(`https://127.0.0.1:${front.port}`, { rejectUnauthorized: false, settings })
  session.on('error', () => {})
  sessions.push(session)
  await new Promise((resolve) => session.once('connect', resolve))
  await until(() => session.remoteSettings.enableConnectProtocol === true || session.closed)
  return session
}

const request = (session: ClientHttp2Session, password?: string): ClientHttp2Stream =>
  session.request({
    ':method': 'GET',
    ':scheme': 'http',
    ':authority': `127.0.0.1:${origin.port}`,
    ':path': '/',
    'proxy-authorization': `Basic ${basicOf('anna', password)}`,
  })

/** The status of the answer; 0 if the stream ended without one. */
const statusOf = (stream: ClientHttp2Stream): Promise<number> =>
  new Promise((resolve) => {
    stream.once('response', (fields) => resolve(fields[':status'] ?? 0))
    stream.once('close', () => resolve(0))
    stream.on('error', () => {})
    stream.resume()
  })

const ended = (stream: ClientHttp2Stream): Promise<void> =>
  new Promise((resolve) => {
    stream.once('close', () => resolve())
    stream.on('error', () => {})
    stream.resume()
  })

const countFiles = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)

test('100 HTTP/2 connections with a request each leave no descriptor open', async () => {
  serve()
  async function run(count: number): Promise<void> {
    for (let each = 0; each < count; each += 1) {
      const session = await open()
      const stream = request(session)
      expect(await statusOf(stream)).toBe(200)
      if (each % 2 === 0) await ended(stream)
      session.destroy()
    }
    await until(() => clients.open === 0 && gateway.engine.status.open === 0)
  }
  // Each thread of the gateway opens descriptors of its own when it starts.
  await run(10)
  await untilStill(countFiles)
  const before = countFiles()
  await run(100)
  await until(() => countFiles() <= before)
})

test('20 requests with a wrong password in a row end the connection; an admitted request starts the count again', async () => {
  serve()
  const session = await open()
  for (let round = 0; round < 2; round += 1) {
    for (let each = 0; each < 19; each += 1) expect(await statusOf(request(session, 'wrong'))).toBe(407)
    expect(await statusOf(request(session))).toBe(200)
  }
  for (let each = 0; each < 20; each += 1) expect(await statusOf(request(session, 'wrong'))).toBe(407)
  await until(() => clients.open === 0)
})

test('a connection without an admitted request ends after 10 s, with refused requests too', async () => {
  serveByClock()
  await open()
  const refused = await open()
  const admitted = await open()
  expect(await statusOf(request(refused, 'wrong'))).toBe(407)
  expect(await statusOf(request(admitted))).toBe(200)
  await until(() => gateway.engine.status.open === 0)
  moveClock(9_999)
  expect(clients.open).toBe(3)
  expect(await statusOf(request(refused, 'wrong'))).toBe(407)
  moveClock(1)
  await until(() => clients.open === 1)
  expect(await statusOf(request(admitted))).toBe(200)
})

test('refused requests do not keep an idle connection open beyond 120 s', async () => {
  serveByClock()
  const session = await open()
  await ended(request(session))
  await until(() => timers.size === 1)
  moveClock(119_999)
  expect(await statusOf(request(session, 'wrong'))).toBe(407)
  expect(clients.open).toBe(1)
  moveClock(1)
  await until(() => clients.open === 0)
})

test('a full TLS port evicts connections without an admitted request and keeps those with a tunnel', async () => {
  serve()
  const served = await open()
  const target = `127.0.0.1:${origin.port}`
  const authorization = { 'proxy-authorization': `Basic ${basicOf('anna')}` }
  const tunnel = served.request({ ':method': 'CONNECT', ':authority': target, ...authorization })
  expect(await statusOf(tunnel)).toBe(200)
  // The limit of 8 and 32 handshakes on top; one address gets at most 32 connections.
  const strangers: WireClient[] = []
  for (let each = 0; each < 39; each += 1) {
    strangers.push(await WireClient.connect(front.port, '127.0.0.1', each < 20 ? '127.0.0.2' : '127.0.0.3', 'h2'))
    // The front learns of finished handshakes up to 25 ms later, and refuses beyond 32 of them.
    await until(() => front.shaking <= 20)
  }
  await until(() => clients.open === 40)
  for (let each = 0; each < 5; each += 1) {
    expect(await statusOf(request(await open()))).toBe(200)
    await until(() => clients.open === 40)
  }
  await until(() => strangers.filter(({ isClosed }) => isClosed).length === 5)
  expect(tunnel.closed).toBe(false)
  for (const stranger of strangers) stranger.close()
})

test('a visitor of the site who opens no window loses the stream after 30 s, one who reads keeps it', async () => {
  serveByClock()
  const bytes = new Uint8Array(10_000)
  site = new SiteServer({
    content: () => ({ status: 200, fields: [], body: bytes }),
    isCustomer: () => false,
    challengeHost: undefined,
    handOver: () => expect.unreachable(),
    sockets: createSockets(process.platform),
    after,
    onFault: (fault) => expect.unreachable(String(fault)),
  })
  const visit = async (initialWindowSize: number): Promise<ClientHttp2Stream> => {
    const session = await open({ initialWindowSize })
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    await new Promise((resolve) => stream.once('response', resolve))
    return stream
  }
  const reading = await visit(65_535)
  await ended(reading)
  expect(reading.rstCode).toBe(0)
  const stalled = await visit(0)
  const closed = new Promise((resolve) => stalled.once('close', resolve))
  moveClock(29_999)
  expect(stalled.closed).toBe(false)
  moveClock(1)
  await closed
  expect(stalled.rstCode).toBe(constants.NGHTTP2_CANCEL)
})

test('a client that opens no window makes an origin send at most 256 KiB into a tunnel', async () => {
  serve()
  const sockets = createSockets(process.platform)
  const payload = Buffer.alloc(1024 * 1024)
  let sending = -1
  const endless = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket: Socket & WithDescriptor) {
        sending = socket.fd ?? -1
        socket.write(payload)
      },
      drain: (socket) => void socket.write(payload),
      data() {},
    },
  })
  const session = await open({ initialWindowSize: 0 })
  const authorization = { 'proxy-authorization': `Basic ${basicOf('anna')}` }
  const authority = `127.0.0.1:${endless.port}`
  const tunnel = session.request({ ':method': 'CONNECT', ':authority': authority, ...authorization })
  expect(await statusOf(tunnel)).toBe(200)
  const taken = () => sockets.acknowledged(sending) ?? 0
  await until(() => taken() > 0)
  expect(await untilStill(taken)).toBeLessThanOrEqual(256 * 1024)
  tunnel.close()
  endless.stop(true)
})
