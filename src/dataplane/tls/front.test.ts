import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { selfSigned } from '../../../test/harness/self-signed.ts'
import { until } from '../../../test/harness/until.ts'
import { WireClient } from '../../../test/harness/wire-client.ts'
import { serve } from '../../api/serve.ts'
import { readCertificate } from './certificate.ts'
import { openEntrance, type TlsEntrance } from './front.ts'

const log = { error() {}, warn() {}, info() {}, debug() {} }
const trusting: object = { tls: { ca: selfSigned.cert } }

describe('the TLS entrance', () => {
  let entrance: TlsEntrance
  let server: ReturnType<typeof serve>
  let hasCertificate = true
  let nowMs = 0
  /** Bytes that the server has produced for endless answers. */
  let produced = 0
  beforeAll(() => {
    const certificate = readCertificate(selfSigned.cert, selfSigned.key)
    entrance = openEntrance({
      hostname: '127.0.0.1',
      port: 0,
      certificate: () => (hasCertificate ? certificate : undefined),
      max: 200,
      now: () => nowMs,
      inner: () => server.port,
      log,
    })
    server = serve({
      hostname: '127.0.0.1',
      port: 0,
      behind: entrance.clientOf,
      trustedProxies: [],
      toNodes: () => Promise.reject(new Error('no node calls here')),
      async toCustomers(request, from) {
        const sent = (await request.arrayBuffer()).byteLength
        if (new URL(request.url).pathname === '/endless') return new Response(endless((size) => (produced += size)))
        const bytes = Number(new URL(request.url).searchParams.get('bytes') ?? 0)
        return bytes > 0 ? new Response(new Uint8Array(bytes)) : Response.json({ from: from?.bytes.join('.'), sent })
      },
    })
  })
  afterAll(async () => {
    entrance.close()
    await server.stop(0)
    entrance.end()
  })

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`https://127.0.0.1:${entrance.port}${path}`, { ...trusting, ...init, headers: { Connection: 'close' } })

  test('the entrance passes the address of its client on, and other local connections are refused with 403', async () => {
    const client = await WireClient.connect(entrance.port, '127.0.0.1', '127.9.9.9', true)
    await client.send(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n'))
    await client.until(() => client.kept.includes('}'))
    expect(client.kept.toString()).toContain('{"from":"127.9.9.9","sent":0}')
    client.close()
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(403)
  })

  test('every answer of the entrance has Strict-Transport-Security for one year', async () => {
    const answer = await call('/')
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
  })

  test('the entrance relays bodies of 5 MB in both directions for 8 clients at the same time', async () => {
    const sent = 5_000_000
    const all = Array.from({ length: 8 }, async () => {
      expect(await (await call('/', { method: 'POST', body: new Uint8Array(sent) })).json()).toMatchObject({ sent })
      expect((await (await call(`/?bytes=${sent}`)).arrayBuffer()).byteLength).toBe(sent)
    })
    await Promise.all(all)
    await until(() => entrance.shaking === 0)
  })

  test('the entrance and the system buffer less than 64 MB for a client that does not read', async () => {
    const client = await WireClient.connect(entrance.port, '127.0.0.1', undefined, true)
    client.readOnly(1000)
    await client.send(Buffer.from('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n'))
    await client.until(() => client.total > 0)
    // The server produces bytes while these requests are served; without a limit it would be gigabytes.
    for (let count = 0; count < 20; count += 1) await (await call('/?bytes=1000000')).arrayBuffer()
    expect(produced).toBeLessThan(64e6)
    const before = client.total
    client.readOn()
    await client.until(() => client.total > before + 10_000_000)
    expect(client.total).toBeGreaterThan(before + 10_000_000)
    client.close()
    await until(() => entrance.open === 0)
  })

  test('the entrance closes a connection without a TLS handshake at once, and a slow handshake after 10 s', async () => {
    const failed = entrance.failed
    const plain = await WireClient.connect(entrance.port)
    await plain.send(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
    await plain.until(() => plain.isClosed)
    expect(entrance.failed).toBe(failed + 1)
    const slow = connect(entrance.port, '127.0.0.1')
    const closed = new Promise<void>((resolve) => slow.once('error', () => {}).once('close', () => resolve()))
    await until(() => entrance.shaking === 1)
    // Single bytes do not extend the time limit.
    const hello = await clientHello()
    for (let at = 0; at < 10; at += 1) {
      slow.write(hello.subarray(at, at + 1))
      nowMs += 999
      expect((await call('/')).status).toBe(200)
    }
    expect([entrance.failed, entrance.shaking]).toEqual([failed + 1, 1])
    nowMs += 10
    await closed
    expect(entrance.failed).toBe(failed + 2)
  })

  test('the entrance keeps at most 50 of 150 half-open handshakes of one address, and serves after they close', async () => {
    const before = entrance.turnedAway
    const clients = await Promise.all(Array.from({ length: 150 }, () => WireClient.connect(entrance.port)))
    await until(() => entrance.turnedAway > before)
    expect(entrance.shaking).toBeLessThanOrEqual(50)
    for (const each of clients) each.close()
    await until(() => entrance.shaking === 0)
    expect((await call('/')).status).toBe(200)
  })

  test('one network gets at most 50 of 200 connections, and another network is served meanwhile', async () => {
    const connectFrom = (from: string) => WireClient.connect(entrance.port, '127.0.0.1', from, true)
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const isServed = async (client: WireClient): Promise<boolean> => {
      await client.send(Buffer.from(request)).catch(() => {})
      await client.until(() => client.isClosed || client.kept.includes('}'))
      return client.kept.includes('}')
    }
    await until(() => entrance.open === 0)
    const clients: WireClient[] = []
    for (let count = 0; count < 50; count += 1) clients.push(await connectFrom('127.8.8.8'))
    for (const each of clients) expect(await isServed(each)).toBe(true)
    const before = entrance.turnedAway
    const oneMore = await connectFrom('127.8.8.8').then(isServed, () => false)
    expect([oneMore, entrance.turnedAway]).toEqual([false, before + 1])
    const other = await connectFrom('127.9.9.9')
    expect(await isServed(other)).toBe(true)
    clients.pop()?.close()
    await until(() => entrance.open === 50)
    const next = await connectFrom('127.8.8.8')
    expect(await isServed(next)).toBe(true)
    for (const each of [...clients, other, next]) each.close()
    await until(() => entrance.open === 0)
  })

  test('the entrance refuses requests while it has no certificate, and serves once it has one', async () => {
    hasCertificate = false
    expect(await call('/').catch(() => 'refused')).toBe('refused')
    hasCertificate = true
    expect((await call('/')).status).toBe(200)
  })
})

/** An endless stream that reports the number of bytes of each pull. */
const endless = (onPull: (bytes: number) => void): ReadableStream =>
  new ReadableStream({
    pull(controller) {
      const piece = new Uint8Array(100_000)
      onPull(piece.length)
      controller.enqueue(piece)
    },
  })

/** The ClientHello of a TLS client. */
async function clientHello(): Promise<Uint8Array> {
  const received = Promise.withResolvers<Uint8Array>()
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (_, bytes) => received.resolve(bytes.slice()) },
  })
  const client = connectSecurely({ host: '127.0.0.1', port: server.port }).on('error', () => {})
  const hello = await received.promise
  client.destroy()
  server.stop(true)
  return hello
}
