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

describe('an entrance over TLS', () => {
  let entrance: TlsEntrance
  let server: ReturnType<typeof serve>
  let hasCertificate = true
  let nowMs = 0
  /** What the server has given of endless answers. */
  let poured = 0
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
      toNodes: () => Promise.reject(new Error('nobody is a node')),
      onChange() {},
      async toCustomers(request, from) {
        const sent = (await request.arrayBuffer()).byteLength
        if (new URL(request.url).pathname === '/endless') return new Response(endless((size) => (poured += size)))
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

  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`https://127.0.0.1:${entrance.port}${path}`, { ...trusting, ...init, headers: { Connection: 'close' } })

  test('the entrance names the client of a connection and none for other local programs', async () => {
    const client = await WireClient.connect(entrance.port, '127.0.0.1', '127.9.9.9', true)
    await client.send(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n'))
    await client.until(() => client.kept.includes('}'))
    expect(client.kept.toString()).toContain('{"from":"127.9.9.9","sent":0}')
    client.close()
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(403)
  })

  test('every answer carries Strict-Transport-Security for one year', async () => {
    const answer = await ask('/')
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
  })

  test('carries large bodies both ways, and many at once', async () => {
    const sent = 5_000_000
    const all = Array.from({ length: 8 }, async () => {
      expect(await (await ask('/', { method: 'POST', body: new Uint8Array(sent) })).json()).toMatchObject({ sent })
      expect((await (await ask(`/?bytes=${sent}`)).arrayBuffer()).byteLength).toBe(sent)
    })
    await Promise.all(all)
    await until(() => entrance.shaking === 0)
  })

  test('holds at most 64 MB for a client that asks and does not read, with the buffers of the system', async () => {
    const client = await WireClient.connect(entrance.port, '127.0.0.1', undefined, true)
    client.readOnly(1000)
    await client.send(Buffer.from('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n'))
    await client.until(() => client.total > 0)
    // Whatever moves between server and entrance moves while these are served; without a limit it would be gigabytes.
    for (let count = 0; count < 20; count += 1) await (await ask('/?bytes=1000000')).arrayBuffer()
    expect(poured).toBeLessThan(64e6)
    const before = client.total
    client.readOn()
    await client.until(() => client.total > before + 10_000_000)
    expect(client.total).toBeGreaterThan(before + 10_000_000)
    client.close()
    await until(() => entrance.open === 0)
  })

  test('closes what is no handshake at once, and a handshake that is not made within 10 s', async () => {
    const failed = entrance.failed
    const plain = await WireClient.connect(entrance.port)
    await plain.send(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
    await plain.until(() => plain.isClosed)
    expect(entrance.failed).toBe(failed + 1)
    const slow = connect(entrance.port, '127.0.0.1')
    const closed = new Promise<void>((resolve) => slow.once('error', () => {}).once('close', () => resolve()))
    await until(() => entrance.shaking === 1)
    // A byte now and then does not prolong it.
    const hello = await clientHello()
    for (let at = 0; at < 10; at += 1) {
      slow.write(hello.subarray(at, at + 1))
      nowMs += 999
      expect((await ask('/')).status).toBe(200)
    }
    expect([entrance.failed, entrance.shaking]).toEqual([failed + 1, 1])
    nowMs += 10
    await closed
    expect(entrance.failed).toBe(failed + 2)
  })

  test('turns a crowd of half-open handshakes away, and serves those who come from elsewhere', async () => {
    const before = entrance.turnedAway
    const crowd = await Promise.all(Array.from({ length: 150 }, () => WireClient.connect(entrance.port)))
    await until(() => entrance.turnedAway > before)
    expect(entrance.shaking).toBeLessThanOrEqual(50)
    for (const each of crowd) each.close()
    await until(() => entrance.shaking === 0)
    expect((await ask('/')).status).toBe(200)
  })

  test('gives one network a quarter of the room that there is, however politely it comes', async () => {
    const come = (from: string) => WireClient.connect(entrance.port, '127.0.0.1', from, true)
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const isServed = async (client: WireClient): Promise<boolean> => {
      await client.send(Buffer.from(request)).catch(() => {})
      await client.until(() => client.isClosed || client.kept.includes('}'))
      return client.kept.includes('}')
    }
    await until(() => entrance.open === 0)
    const crowd: WireClient[] = []
    for (let count = 0; count < 50; count += 1) crowd.push(await come('127.8.8.8'))
    for (const each of crowd) expect(await isServed(each)).toBe(true)
    const before = entrance.turnedAway
    const oneMore = await come('127.8.8.8').then(isServed, () => false)
    expect([oneMore, entrance.turnedAway]).toEqual([false, before + 1])
    const other = await come('127.9.9.9')
    expect(await isServed(other)).toBe(true)
    crowd.pop()?.close()
    await until(() => entrance.open === 50)
    const next = await come('127.8.8.8')
    expect(await isServed(next)).toBe(true)
    for (const each of [...crowd, other, next]) each.close()
    await until(() => entrance.open === 0)
  })

  test('the entrance serves once there is a certificate', async () => {
    hasCertificate = false
    expect(await ask('/').catch(() => 'refused')).toBe('refused')
    hasCertificate = true
    expect((await ask('/')).status).toBe(200)
  })
})

/** As many bytes as are taken; tells how many were asked for. */
const endless = (onPull: (bytes: number) => void): ReadableStream =>
  new ReadableStream({
    pull(controller) {
      const piece = new Uint8Array(100_000)
      onPull(piece.length)
      controller.enqueue(piece)
    },
  })

/** What a client says first. */
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
