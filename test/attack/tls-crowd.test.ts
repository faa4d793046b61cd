import { afterEach, beforeEach, expect, test } from 'bun:test'
import { serve } from '../../src/api/serve.ts'
import { addFrontMetrics } from '../../src/app/metrics/node.ts'
import { readAddress } from '../../src/core/address.ts'
import { Metrics } from '../../src/core/metrics.ts'
import { readCertificate } from '../../src/dataplane/tls/certificate.ts'
import { openEntrance, type TlsEntrance } from '../../src/dataplane/tls/front.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { gatewayReactors, loginLine, openEngine } from '../harness/engine.ts'
import { type BoughtProxy, freePort, openShopWithGateway } from '../harness/gateway.ts'
import { isLong } from '../harness/scale.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { openTlsFront } from '../harness/tls-front.ts'
import { openTunnel } from '../harness/transfers.ts'
import { startEcho } from '../harness/tunnel.ts'
import { until } from '../harness/until.ts'
import { WireClient } from '../harness/wire-client.ts'

const log = { error() {}, warn() {}, info() {}, debug() {} }
const maxConnections = 160
let entrance: TlsEntrance
let server: ReturnType<typeof serve>
let clients: WireClient[]
beforeEach(() => {
  clients = []
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  entrance = openEntrance({
    hostname: '127.0.0.1',
    port: 0,
    certificate: () => certificate,
    max: maxConnections,
    now: () => 0,
    inner: () => server.port,
    log,
  })
  server = serve({
    hostname: '127.0.0.1',
    port: 0,
    behind: entrance.clientOf,
    trustedProxies: [],
    toNodes: () => Promise.reject(new Error('no node calls here')),
    toCustomers: () => Promise.resolve(Response.json({ ok: true })),
  })
})
afterEach(async () => {
  for (const each of clients) each.close()
  entrance.close()
  await server.stop(0)
  entrance.end()
})

async function connect(from: string, isTls: boolean): Promise<WireClient> {
  const client = await WireClient.connect(entrance.port, '127.0.0.1', from, isTls)
  clients.push(client)
  return client
}

/** Whether a client gets an answer over TLS, on a connection that it then keeps open. */
async function isServed(client: WireClient): Promise<boolean> {
  await client.send(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).catch(() => {})
  await client.until(() => client.isClosed || client.hasEnded || client.kept.includes('}'))
  return client.kept.includes('}')
}

const isVisitorServed = (from: string): Promise<boolean> => connect(from, true).then(isServed, () => false)

async function figures(): Promise<string> {
  const metrics = new Metrics()
  addFrontMetrics(metrics, 'shop', entrance)
  return metrics.write()
}

test("the shop's TLS front serves 40 clients while four addresses keep all 160 connections open and idle", async () => {
  for (let count = 0; count < maxConnections; count += 1) {
    expect(await isServed(await connect(`127.8.8.${1 + (count % 4)}`, true))).toBe(true)
  }
  await until(() => entrance.open === maxConnections)
  for (let visitor = 1; visitor <= 40; visitor += 1) expect(await isVisitorServed(`127.9.9.${visitor}`)).toBe(true)
  expect([entrance.open, entrance.spared]).toEqual([maxConnections, { handshake: 0, open: 40 }])
  expect(await figures()).toContain('turnpike_shop_tls_spared_total{state="open"} 40')
  await until(() => clients.filter((each) => each.isClosed || each.hasEnded).length === 40)
  // Only connections of the crowd were closed, and none of a visitor.
  expect(clients.slice(maxConnections).some((each) => each.isClosed || each.hasEnded)).toBe(false)
})

test("the shop's TLS front closes no connection of an authenticated address while 200 others connect", async () => {
  const customer = await connect('127.9.9.9', true)
  expect(await isServed(customer)).toBe(true)
  entrance.welcome(readAddress('127.9.9.9') ?? expect.unreachable())
  for (let count = 0; count < maxConnections + 40; count += 1) await isVisitorServed(`127.8.${1 + (count % 100)}.1`)
  await until(() => entrance.open === maxConnections)
  expect(entrance.spared).toEqual({ handshake: 0, open: 41 })
  expect([customer.isClosed, customer.hasEnded]).toEqual([false, false])
})

test("the shop's TLS front serves 62 clients while six addresses connect 3600 times without a handshake", async () => {
  // The clock does not move, so the rate limit refills nothing.
  for (let count = 0; count < 3600; count += 100) {
    const crowd = await Promise.allSettled(
      Array.from({ length: 100 }, (_, at) => connect(`127.8.8.${1 + (at % 6)}`, false)),
    )
    expect(crowd).toHaveLength(100)
  }
  await until(() => entrance.turnedAway > 3000)
  for (let visitor = 1; visitor <= 62; visitor += 1) expect(await isVisitorServed(`127.9.9.${visitor}`)).toBe(true)
  expect(await figures()).toMatch(/turnpike_shop_tls_spared_total\{state="handshake"\} [1-9]/)
})

test('a gateway answers 20 new TLS clients while four addresses keep all 160 connections open and idle', async () => {
  // On a starved machine 160 connections take longer than the 10 s that a client without a request has.
  const gateway = openEngine({ limits: { connections: maxConnections, handshakeMs: 3_600_000 } })
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const { front } = openTlsFront(gateway.engine, {
    certificate: () => certificate,
    max: maxConnections,
    now: () => 0,
  })
  const connectTls = async (from: string): Promise<WireClient> => {
    const client = await WireClient.connect(front.port, '127.0.0.1', from, true)
    clients.push(client)
    // The front learns of a finished handshake up to 25 ms later, and has room for 40 unfinished ones.
    await until(() => front.shaking <= 20)
    return client
  }
  for (let count = 0; count < maxConnections; count += 1) await connectTls(`127.8.8.${1 + (count % 4)}`)
  await until(() => gateway.engine.status.connections === maxConnections)
  for (let visitor = 1; visitor <= 20; visitor += 1) {
    const client = await connectTls(`127.9.9.${visitor}`)
    await client.send(Buffer.from('GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'))
    await client.until(() => client.isClosed || client.hasEnded || client.kept.includes('407'))
    expect(client.kept.toString()).toStartWith('HTTP/1.1 407')
  }
  expect(gateway.engine.status.spared).toBeGreaterThan(0)
  for (const each of clients) each.close()
  front.close()
  await gateway.stop()
  front.end()
})

test('a gateway tells the address of an admitted client once a minute, over TLS and without, and no other one', async () => {
  const admitted: string[] = []
  const gateway = openEngine({ onAdmitted: (source) => void admitted.push(source) })
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const { front } = openTlsFront(gateway.engine, { certificate: () => certificate })
  const echo = startEcho()
  const ask = async (from: string, port: number, login: string, status: number): Promise<void> => {
    const client = await WireClient.connect(port, '127.0.0.1', from, port === front.port)
    clients.push(client)
    await client.send(Buffer.from(`CONNECT ${echo.spot.host}:${echo.spot.port} HTTP/1.1\r\n${login}\r\n`))
    await client.until(() => client.isClosed || client.kept.includes('\r\n\r\n'))
    expect(client.kept.toString()).toStartWith(`HTTP/1.1 ${status}`)
  }
  await ask('127.9.9.1', front.port, loginLine('anna', 'wrong'), 407)
  await ask('127.9.9.2', front.port, loginLine('anna'), 200)
  await ask('127.9.9.2', front.port, loginLine('anna'), 200)
  await ask('127.9.9.3', gateway.port, loginLine('boris'), 200)
  await ask('127.9.9.4', front.port, loginLine('boris'), 200)
  await until(() => admitted.includes('127.9.9.3') && admitted.includes('127.9.9.4'))
  expect(new Set(admitted)).toEqual(new Set(['127.9.9.2', '127.9.9.3', '127.9.9.4']))
  expect(admitted.length).toBeLessThanOrEqual(2 + gatewayReactors)
  for (const each of clients) each.close()
  front.close()
  await gateway.stop()
  front.end()
  echo.stop()
})

if (isLong) {
  test('a gateway with the built-in site serves 20 visitors and a customer while five addresses hold all 200 connections', async () => {
    const files = putCertificate(await makeCertificate('crowd'))
    const tlsPort = freePort()
    const shop = await openShopWithGateway('sqlite', {
      gateway: {
        ...files.env,
        TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
        TURNPIKE_GATEWAY_CONNECTIONS: String(maxConnections),
      },
    })
    const echo = startEcho()
    const [proxy] = (await shop.buyProxies()) as [BoughtProxy]
    const visit = async (from: string): Promise<WireClient> => {
      const client = await WireClient.connect(tlsPort, '127.0.0.1', from, true)
      clients.push(client)
      await client.send(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
      await client.until(() => client.hasEnded || client.kept.includes('page not found\n'))
      expect(client.kept.toString()).toStartWith('HTTP/1.1 404')
      return client
    }
    // A quarter more than the limit, for handshakes; one address may have a quarter of the limit.
    const crowd = 200
    for (let count = 0; count < crowd; count += 1) await visit(`127.8.8.${1 + (count % 5)}`)
    for (let visitor = 1; visitor <= 20; visitor += 1) await visit(`127.9.9.${visitor}`)
    const { client, handshake } = await openTunnel({ ...proxy, port: tlsPort, isTls: true }, 'connect', echo.spot)
    await client.send(Buffer.from('hello'))
    await client.until(() => client.total === handshake + 5)
    expect(client.kept.toString('latin1', handshake)).toBe('hello')
    // The crowd has lost connections, and no visitor has.
    const isOver = (each: WireClient): boolean => each.isClosed || each.hasEnded
    await until(() => clients.filter(isOver).length >= 20)
    expect(clients.slice(crowd).some(isOver)).toBe(false)
    client.close()
    for (const each of clients) each.close()
    echo.stop()
    await shop.stop()
    files.remove()
  })
}
