import { afterAll, beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:tls'
import { realRuntime } from '../../src/app/shop/services.ts'
import { gatewayEngine } from '../harness/engine.ts'
import { type BoughtProxy, buyWhenSold, freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { keepTrying } from '../harness/keep-trying.ts'
import { type Pebble, startPebble } from '../harness/pebble.ts'
import { type Service, startService } from '../harness/service.ts'
import { basic, openTunnel } from '../harness/transfers.ts'
import { startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'

const [port, tlsPort] = [freePort(), freePort()]
const payload = Buffer.from('x'.repeat(700))
const echo = startEcho()
let pebble: Pebble
let service: Service
let gateway: GatewayProcess
let proxy: BoughtProxy

beforeAll(async () => {
  pebble = await startPebble()
  service = await startService('sqlite', { TURNPIKE_GATEWAY_PORT: String(port) }, realRuntime, false)
  gateway = await makeGatewayProcess(service, port, {
    TURNPIKE_GATEWAY_NEW: '100000',
    TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
    TURNPIKE_ACME_NAMES: 'one.test',
    TURNPIKE_ACME_TERMS: 'agreed',
    TURNPIKE_ACME_DIRECTORY: pebble.directory,
    TURNPIKE_ACME_CA: pebble.caFile,
    TURNPIKE_ACME_LISTEN: `127.0.0.1:${pebble.challengePort}`,
  })
  await gateway.start()
  expect(await untilTrue(() => isServedFor('one.test'))).toBeTrue()
  proxy = await buyWhenSold(service)
})
afterAll(async () => {
  await gateway.kill()
  gateway.remove()
  echo.stop()
  await service.stop()
  await pebble.stop()
})

/** Whether the certificate at the TLS port is for this name. */
const isServedFor = (name: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve((socket.getPeerCertificate().subjectaltname ?? '').includes(`DNS:${name}`))
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
  })

async function openTls() {
  const { username, password } = proxy
  const { client, handshake } = await openTunnel(
    { port: tlsPort, isTls: true, username, password },
    'connect',
    echo.spot,
  )
  let expected = handshake
  return {
    async echo(): Promise<boolean> {
      expected += payload.length
      await client.send(payload)
      await client.until(() => client.total >= expected)
      return client.total === expected
    },
    close: () => client.close(),
  }
}

/** A tunnel over HTTP/2, and whether the gateway has announced that it takes no further stream (GOAWAY). */
async function openHttp2Tunnel() {
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { rejectUnauthorized: false })
  const seen = { bytes: 0, isDraining: false }
  session.on('goaway', () => void (seen.isDraining = true))
  const authority = `${echo.spot.host}:${echo.spot.port}`
  const credentials = basic({ ...proxy, port: tlsPort })
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority, 'proxy-authorization': credentials })
  stream.on('data', (chunk: Buffer) => void (seen.bytes += chunk.length))
  await new Promise<void>((resolve, reject) => {
    stream.once('response', (fields) => (fields[':status'] === 200 ? resolve() : reject(new Error('refused'))))
    stream.once('error', reject)
  })
  let expected = 0
  return {
    seen,
    echo(): Promise<boolean> {
      expected += payload.length
      stream.write(payload)
      return untilTrue(() => seen.bytes === expected)
    },
    close: () => stream.close(),
  }
}

/** Opens TLS connections one after another and uses each, until ended. */
const keepConnecting = () =>
  keepTrying(1, async () => {
    const tunnel = await openTls()
    const isServed = await tunnel.echo()
    tunnel.close()
    return isServed ? undefined : 'the connection was closed'
  })

/** Connects with a session, if there is one. Returns a session to resume, and whether this one was resumed. */
async function visit(session?: Buffer): Promise<{ session: Buffer; isResumed: boolean }> {
  const socket = connect({ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false, ...(session && { session }) })
  const ticket = once(socket, 'session') as Promise<[Buffer]>
  // Tickets of TLS 1.3 may travel with an answer.
  socket.once('secureConnect', () => socket.write('GET / HTTP/1.1\r\nHost: one.test\r\n\r\n'))
  const [next] = await ticket
  const isResumed = socket.isSessionReused()
  socket.destroy()
  return { session: next, isResumed }
}

// Bun shares no ticket keys with another process.
if (gatewayEngine === 'linux')
  test('a TLS session resumes at each of 2 processes that take over', async () => {
    const { session } = await visit()
    for (let count = 0; count < 2; count += 1) {
      const before = await gateway.takeOver()
      expect((await visit(session)).isResumed).toBeTrue()
      expect(await before.ended).toBe(0)
    }
  })

test('two takeovers with ACME close no TLS tunnel, refuse no TLS connection, and the new process orders a certificate', async () => {
  const http2 = await openHttp2Tunnel()
  const tunnels = [await openTls(), http2]
  const connecting = keepConnecting()
  await connecting.served(5)
  const names = ['one.test', 'two.test', 'three.test']
  const ends: Promise<number>[] = []
  for (const count of [2, 3]) {
    const before = await gateway.takeOver(undefined, { TURNPIKE_ACME_NAMES: names.slice(0, count).join(',') })
    ends.push(before.ended)
    expect(await untilTrue(() => isServedFor(names[count - 1] ?? ''))).toBeTrue()
    tunnels.push(await openTls())
    await connecting.served(5)
  }
  expect(await connecting.end()).toEqual([])
  for (const tunnel of tunnels) expect(await tunnel.echo()).toBeTrue()
  expect(http2.seen.isDraining).toBeTrue()
  for (const tunnel of tunnels) tunnel.close()
  expect(await Promise.all(ends)).toEqual([0, 0])
})

test('a takeover succeeds while the ACME port is in use, and the new process orders when the port is free', async () => {
  const own = { TURNPIKE_ACME_NAMES: 'one.test,two.test,three.test' }
  const elsewhere = `127.0.0.2:${pebble.challengePort}`
  await (await gateway.takeOver(undefined, { ...own, TURNPIKE_ACME_LISTEN: elsewhere })).ended
  // A gateway of 0.2.0 listens until its last connection has ended.
  const taken = Bun.listen({ hostname: '127.0.0.1', port: pebble.challengePort, socket: { data() {} } })
  await gateway.takeOver(undefined, { TURNPIKE_ACME_NAMES: 'four.test' })
  expect(await (await openTls()).echo()).toBeTrue()
  expect(await isServedFor('four.test')).toBeFalse()
  taken.stop(true)
  expect(await untilTrue(() => isServedFor('four.test'))).toBeTrue()
})
