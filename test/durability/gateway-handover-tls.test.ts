import { afterAll, beforeAll, expect, test } from 'bun:test'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { realRuntime } from '../../src/app/shop/services.ts'
import { realTiming } from '../../src/dataplane/agent/runtime.ts'
import { findPredecessor } from '../../src/dataplane/gateway/handover/handover.ts'
import { gatewayEngine } from '../harness/engine.ts'
import { type BoughtProxy, buyWhenSold, freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { keepTrying } from '../harness/keep-trying.ts'
import { longTest } from '../harness/long-test.ts'
import { memoryFolder } from '../harness/memory.ts'
import { type Pebble, startPebble } from '../harness/pebble.ts'
import { type Service, startService } from '../harness/service.ts'
import { basic, openTunnel } from '../harness/transfers.ts'
import { startEcho } from '../harness/tunnel.ts'
import { runtimeCommand, untilTrue } from '../harness/turnpike.ts'
import { until } from '../harness/until.ts'

const [port, tlsPort] = [freePort(), freePort()]
const payload = Buffer.from('x'.repeat(700))
/** Tunnels with a connection of their own, and as many that are streams. */
const half = 100
const streamsPerConnection = 50
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

function openSession(): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { rejectUnauthorized: false })
  // Each tunnel listens for the announcement.
  session.setMaxListeners(streamsPerConnection)
  return session
}

/** A tunnel over HTTP/2, and whether the gateway has announced that it takes no further stream (GOAWAY). */
async function openHttp2Tunnel(session = openSession()) {
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
    async echo(): Promise<boolean> {
      expected += payload.length
      stream.write(payload)
      await until(() => seen.bytes >= expected || stream.closed)
      return seen.bytes === expected
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

longTest(
  'a takeover succeeds while the ACME port is in use, and the new process orders when the port is free',
  async () => {
    const own = { TURNPIKE_ACME_NAMES: 'one.test,two.test,three.test' }
    const elsewhere = `127.0.0.2:${pebble.challengePort}`
    await (await gateway.takeOver(undefined, { ...own, TURNPIKE_ACME_LISTEN: elsewhere })).ended
    // A gateway of 0.2.0 listens until its last connection has ended.
    const taken = Bun.listen({ hostname: '127.0.0.1', port: pebble.challengePort, socket: { data() {} } })
    await gateway.takeOver(undefined, { TURNPIKE_ACME_NAMES: 'four.test' })
    const tunnel = await openTls()
    expect(await tunnel.echo()).toBeTrue()
    tunnel.close()
    expect(await isServedFor('four.test')).toBeFalse()
    taken.stop(true)
    expect(await untilTrue(() => isServedFor('four.test'))).toBeTrue()
  },
)

/** The project's sources as another version, in a folder of their own. */
function makeOtherVersion(version: string) {
  const root = join(import.meta.dir, '../..')
  const folder = mkdtempSync(join(memoryFolder, 'turnpike-version-'))
  for (const each of ['src', 'migrations']) cpSync(join(root, each), join(folder, each), { recursive: true })
  for (const each of ['node_modules', 'tsconfig.json', 'docs']) symlinkSync(join(root, each), join(folder, each))
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }))
  const command = [process.execPath, '--no-install', '--no-env-file', join(folder, 'src/app/turnpike.ts')]
  return { command, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Replaces the running gateway by a process of this program, as an operator and the package's upgrade do. */
async function reload(program: readonly string[]): Promise<number> {
  const child = Bun.spawn([...program, 'gateway', 'reload', '--json'], {
    env: { ...gateway.env, TURNPIKE_ACME_NAMES: 'four.test' },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const printed = await child.stdout.text()
  expect(await child.exited).toBe(0)
  return (JSON.parse(printed) as { readonly pid: number }).pid
}

async function versionThatServes(): Promise<string | undefined> {
  const found = await findPredecessor(join(gateway.folder, 'gateway'), realTiming)
  found?.close()
  return found?.who.version
}

async function relayedBytes(): Promise<number> {
  const key = `proxy:${proxy.id}`
  const { received = 0n, sent = 0n } =
    (await service.services.traffic.counts.totals(service.services.db, [key])).get(key) ?? {}
  return Number(received + sent)
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('200 TLS tunnels, 100 of them streams of 2 HTTP/2 connections, survive gateway reload and an upgrade, and every byte is billed once', async () => {
  const other = makeOtherVersion('99.0.0')
  const replaced = [gateway.pid ?? 0]
  try {
    // With a bill of its own.
    proxy = await buyWhenSold(service)
    const sessions = Array.from({ length: half / streamsPerConnection }, openSession)
    const streams = sessions.flatMap((session) =>
      Array.from({ length: streamsPerConnection }, () => openHttp2Tunnel(session)),
    )
    const tunnels = [...(await Promise.all(streams)), ...(await Promise.all(Array.from({ length: half }, openTls)))]
    const echoAll = async () => (await Promise.all(tunnels.map((each) => each.echo()))).filter((isWhole) => !isWhole)
    let echoed = 0
    for (const program of [runtimeCommand, other.command]) {
      expect(await echoAll()).toEqual([])
      echoed += tunnels.length
      replaced.push(await reload(program))
    }
    expect(await versionThatServes()).toBe('99.0.0')
    expect(await echoAll()).toEqual([])
    echoed += tunnels.length
    expect(await (await openTls()).echo()).toBeTrue()
    echoed += 1
    for (const tunnel of tunnels) tunnel.close()
    for (const session of sessions) session.close()
    expect(await untilTrue(() => replaced.slice(0, -1).every((pid) => !isAlive(pid)))).toBeTrue()
    expect(await untilTrue(async () => (await relayedBytes()) >= echoed * 2 * payload.length)).toBeTrue()
    expect(await relayedBytes()).toBe(echoed * 2 * payload.length)
  } finally {
    for (const pid of replaced.slice(1)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    other.remove()
  }
})
