import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { After } from '../../src/core/time.ts'
import { after } from '../../src/dataplane/gateway/engines/portable/dialler.ts'
import type { NodeGateway } from '../../src/node-protocol/state.ts'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { type Made, makeBareCertificate, makeCertificate } from '../harness/certificates.ts'
import { someExit } from '../harness/desired.ts'
import { Detour } from '../harness/detour.ts'
import { passwordOf, proxyOf, until } from '../harness/engine.ts'
import { freePort } from '../harness/gateway.ts'
import { type HopGatewayNames, nameGateway, openHopGateway, type TestHopGateway } from '../harness/hop-gateway.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { attempt, openTunnel, startEcho } from '../harness/tunnel.ts'
import { untilStill } from '../harness/until.ts'

const exit = someExit({ id: 'ext_far', host: '127.102.0.1', city: 'far', node: 'nod_exit' })
const pavel = { username: 'pavel-pool-residential-city-far', password: passwordOf('pavel') }
const anna = { username: 'anna', password: passwordOf('anna') }
/** A dedicated proxy whose address the exit gateway has. */
const farProxy = () => proxyOf(1, 'anna', { leave_from: '127.103.0.1', node: 'nod_exit' })

/** A tunnel that counts the customer's bytes. */
class CountedTunnel {
  received = 0
  isClosed = false
  private head = ''

  constructor(readonly socket: Socket) {
    socket.on('data', (bytes: Buffer) => {
      if (this.isEstablished) this.received += bytes.length
      else this.takeHead(bytes)
    })
    socket.on('error', () => {})
    socket.on('close', () => void (this.isClosed = true))
  }

  get isEstablished(): boolean {
    return this.head.includes('\r\n\r\n')
  }

  private takeHead(bytes: Buffer): void {
    this.head += bytes.toString('latin1')
    const end = this.head.indexOf('\r\n\r\n')
    if (end >= 0) this.received = this.head.length - end - 4
  }
}

async function openCounted(port: number, login: typeof pavel, host: string): Promise<CountedTunnel> {
  const tunnel = new CountedTunnel(connect(port, '127.0.0.1'))
  const basic = Buffer.from(`${login.username}:${login.password}`).toString('base64')
  tunnel.socket.write(`CONNECT ${host} HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`)
  await until(() => tunnel.isEstablished)
  return tunnel
}

describe('hops over TLS', () => {
  let certificate: Made
  let names: { readonly entry: HopGatewayNames; readonly exit: HopGatewayNames }
  let entry: TestHopGateway
  let far: TestHopGateway
  let detour: Detour
  let gateways: NodeGateway[]
  const replaced: TestHopGateway[] = []
  let echo: ReturnType<typeof startEcho>
  let origin: ByteOrigin
  const reports: string[] = []
  /**
   * Pauses the looks of the entry at its connections: on a starved machine a ping waits for seconds, and a silent
   * connection gets no new stream.
   */
  const looks = { arePaused: false }
  const afterUnpaused: After = (ms, act) => {
    const fire = (): void => {
      if (looks.arePaused) cancel = after(ms, fire)
      else act()
    }
    let cancel = after(ms, fire)
    return () => cancel()
  }
  const at = () => ({ host: '127.0.0.1', port: entry.port })
  const stateOf = () => entry.hops.states.find(({ id }) => id === 'nod_exit')
  /** Cumulative counts of the customer at the entry. */
  const booked = { received: 0, sent: 0 }
  function readBooks() {
    Object.assign(booked, entry.engine.dataPath.takeChanged().subusers.at(-1))
    return { received: booked.received, sent: booked.sent }
  }

  beforeAll(async () => {
    certificate = await makeCertificate('exit')
    const exitNames = nameGateway('exit', certificate)
    names = { entry: nameGateway('entry', undefined), exit: exitNames }
    const detourPort = freePort()
    detour = new Detour(detourPort, exitNames.tlsPort)
    await detour.open()
    const exitGateway = { ...exitNames.gateway, entry: 'nod_entry', port: freePort() }
    const { tls } = exitGateway
    gateways = [names.entry.gateway, { ...exitGateway, tls: tls && { ...tls, port: detourPort } }]
    echo = startEcho()
    origin = openByteOrigin()
    far = openHopGateway(exitNames, { exits: [exit], gateways })
    far.change({ proxies: [farProxy()] })
    const onExit = ({ isUp, reason }: { isUp: boolean; reason: string }) => void reports.push(isUp ? 'up' : reason)
    const limits = { exitRetryMs: 100 }
    entry = openHopGateway(names.entry, { exits: [exit], gateways, onExit, limits }, { after: afterUnpaused })
    entry.change({ proxies: [farProxy()] })
    await until(() => reports.includes('up'))
  })
  afterAll(async () => {
    echo.stop()
    origin.stop()
    await Promise.all([entry, far, ...replaced].map((each) => each.stop()))
    await detour.close()
  })

  test('200 tunnels of premium and dedicated customers share one connection, and each leaves from its own address', async () => {
    looks.arePaused = true
    // The first tunnel waits for a lease.
    expect((await attempt('http', at(), pavel, echo.spot)).status).toBe(200)
    const tunnels = await Promise.all(
      Array.from({ length: 200 }, (_, at200) => openTunnel('http', at(), at200 % 2 === 0 ? pavel : anna, echo.spot)),
    )
    const texts = await Promise.all(tunnels.map((tunnel, index) => tunnel.echo(`${index} `.repeat(1000))))
    for (const [index, text] of texts.entries()) expect(text).toBe(`${index} `.repeat(1000))
    expect(new Set(echo.sources)).toEqual(new Set(['127.102.0.1', '127.103.0.1']))
    expect(far.front?.open).toBe(1)
    expect(stateOf()).toMatchObject({ isUp: true, connections: 1, streams: 200 })
    for (const tunnel of tunnels) tunnel.close()
    await until(() => stateOf()?.streams === 0 && far.engine.status.tunnels === 0)
    const ofPavel = texts.filter((_, index) => index % 2 === 0).join('').length
    await until(() => readBooks().received === ofPavel && readBooks().sent === ofPavel)
    looks.arePaused = false
  })

  test('a tunnel of 20 MB in each direction arrives whole and is counted once, at the entry', async () => {
    await until(() => entry.engine.status.tunnels === 0)
    const before = readBooks()
    const relayedBefore = far.engine.dataPath.health.hopBytes ?? 0
    const bytes = 20_000_000
    origin.expect({ id: 'bulk', up: bytes, down: bytes, afterwards: 'end' })
    const tunnel = await openCounted(entry.port, pavel, origin.host)
    tunnel.socket.write(Buffer.concat([Buffer.from('bulk\n'), Buffer.alloc(bytes - 5, 'u')]))
    await until(() => tunnel.received === bytes && tunnel.isClosed)
    await until(() => {
      const now = readBooks()
      return now.received - before.received === bytes && now.sent - before.sent === bytes
    })
    await until(() => (far.engine.dataPath.health.hopBytes ?? 0) - relayedBefore === 2 * bytes)
    expect(far.engine.dataPath.takeChanged().subusers).toEqual([])
  })

  test('a hop connection that breaks in the middle of a download bills the bytes that the customer got, and the next tunnel works', async () => {
    await until(() => entry.engine.status.tunnels === 0)
    const before = readBooks()
    origin.expect({ id: 'broken', up: 7, down: 1_000_000_000, afterwards: 'stay' })
    const tunnel = await openCounted(entry.port, pavel, origin.host)
    tunnel.socket.write('broken\n')
    await until(() => tunnel.received > 3_000_000)
    await detour.close()
    await until(() => tunnel.isClosed && entry.engine.status.open === 0)
    await until(() => readBooks().received - before.received >= tunnel.received)
    expect(readBooks().received - before.received).toBe(tunnel.received)
    expect(readBooks().sent - before.sent).toBe(7)
    await detour.open()
    await until(() => stateOf()?.isUp === true)
    const next = await openTunnel('http', at(), anna, echo.spot)
    expect(await next.echo('again')).toBe('again')
    next.close()
  })

  test('a customer who does not read holds up no other tunnel of the connection, and at most 4 MiB wait at both gateways', async () => {
    origin.expect({ id: 'stalled', up: 8, down: 100_000_000, afterwards: 'stay' })
    looks.arePaused = true
    const stalled = await openCounted(entry.port, pavel, origin.host)
    stalled.socket.pause()
    stalled.socket.write('stalled\n')
    for (let round = 0; round < 20; round += 1) {
      const tunnel = await openTunnel('http', at(), anna, echo.spot)
      expect(await tunnel.echo('x'.repeat(200_000))).toHaveLength(200_000)
      tunnel.close()
    }
    expect(stateOf()?.connections).toBe(1)
    for (const { engine } of [entry, far]) expect(engine.status.maxHeld).toBeLessThan(4 * 1024 * 1024)
    looks.arePaused = false
    stalled.socket.destroy()
    await until(() => far.engine.status.tunnels === 0)
  })

  test('a customer’s limit of 3 tunnels counts those over a hop, and a closed one makes room', async () => {
    const mine = { ...names.entry, gateway: { ...names.entry.gateway, port: freePort() } }
    const limited = openHopGateway(mine, { exits: [], gateways, customer: { tunnels: 3 } })
    limited.change({ proxies: [farProxy()] })
    const there = { host: '127.0.0.1', port: limited.port }
    const tunnels = await Promise.all([1, 2, 3].map(() => openTunnel('http', there, anna, echo.spot)))
    for (const tunnel of tunnels) expect(await tunnel.echo('x')).toBe('x')
    expect((await attempt('http', there, anna, echo.spot)).status).toBe(429)
    tunnels[0]?.close()
    await until(() => limited.engine.status.tunnels === 2)
    const next = await openTunnel('http', there, anna, echo.spot)
    expect(await next.echo('y')).toBe('y')
    for (const tunnel of [next, ...tunnels]) tunnel.close()
    await until(() => far.engine.status.tunnels === 0)
    await limited.stop()
  })

  test('a speed limit of 400 kB/s holds for a download over a hop', async () => {
    const limit = 400_000
    const mine = { ...names.entry, gateway: { ...names.entry.gateway, port: freePort() } }
    const limited = openHopGateway(mine, { exits: [], gateways, speeds: () => ({ proxy: limit }) })
    limited.change({ proxies: [farProxy()] })
    origin.expect({ id: 'limited', up: 8, down: 100_000_000, afterwards: 'stay' })
    const tunnel = await openCounted(limited.port, anna, origin.host)
    const fromMs = Date.now()
    tunnel.socket.write('limited\n')
    await until(() => tunnel.received > limit)
    const { received } = tunnel
    // An idle credential saves 250 ms of its rate; the bucket refills in steps of 25 ms.
    expect(received).toBeLessThanOrEqual((limit * (Date.now() - fromMs + 275)) / 1000)
    tunnel.socket.destroy()
    await until(() => far.engine.status.tunnels === 0)
    await limited.stop()
  })

  test('a blocked proxy’s tunnel is cut at both gateways within 2 s', async () => {
    const tunnel = await openTunnel('http', at(), anna, echo.spot)
    expect(await tunnel.echo('x')).toBe('x')
    const stopwatch = startStopwatch()
    entry.change({ proxies: [{ ...farProxy(), state: 'blocked' }] })
    await tunnel.closedAt
    await until(() => far.engine.status.tunnels === 0)
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
    entry.change({ proxies: [farProxy()] })
  })

  test('a tunnel that meets a silent hop connection is opened over a new one, and the silent one is closed', async () => {
    await until(() => stateOf()?.isUp === true)
    detour.freeze()
    expect(await attempt('http', at(), anna, echo.spot)).toMatchObject({ status: 200 })
    await until(() => stateOf()?.connections === 1)
  })

  test('a certificate with another key and without a public authority is refused, and no ticket is sent', async () => {
    const { gateway } = names.exit
    let bytes = 0
    const impostor = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      tls: certificate,
      socket: { data: (_, received) => void (bytes += received.length) },
    })
    const seen: string[] = []
    const wrong = openHopGateway(nameGateway('entry', undefined), {
      exits: [exit],
      gateways: [{ ...gateway, tls: { port: impostor.port, name: 'localhost', key: 'x'.repeat(43) } }],
      onExit: ({ isUp, reason }) => void seen.push(isUp ? 'up' : reason),
    })
    await until(() => seen.length > 0)
    expect(seen[0]).toBe('the certificate at its TLS port is not the one of its gateway')
    expect(bytes).toBe(0)
    impostor.stop(true)
    await wrong.stop()
  })

  test('a certificate without subjectAltName is accepted by its key', async () => {
    const bare = nameGateway('exit', await makeBareCertificate('fra-1'))
    const trusted = [names.entry.gateway, bare.gateway]
    const bareExit = openHopGateway(bare, { exits: [exit], gateways: trusted })
    const mine = { ...names.entry, gateway: { ...names.entry.gateway, port: freePort() } }
    const seen: string[] = []
    const onExit = ({ isUp, reason }: { isUp: boolean; reason: string }) => void seen.push(isUp ? 'up' : reason)
    const limits = { exitRetryMs: 100 }
    const opened = openHopGateway(mine, { exits: [exit], gateways: trusted, onExit, limits })
    await until(() => seen.includes('up'))
    expect(seen).not.toContain('the certificate at its TLS port is not the one of its gateway')
    await opened.stop()
    await bareExit.stop()
  })

  test('a certificate of an authority is accepted for its name whatever its key is', async () => {
    const { gateway } = names.exit
    const seen: string[] = []
    const open = async (name: string): Promise<string> => {
      const mine = { ...names.entry, gateway: { ...names.entry.gateway, port: freePort() } }
      const tls = { port: names.exit.tlsPort, name, key: 'x'.repeat(43) }
      const trusted = [names.entry.gateway, { ...gateway, tls }]
      const onExit = ({ isUp, reason }: { isUp: boolean; reason: string }) => void seen.push(isUp ? 'up' : reason)
      const opened = openHopGateway(mine, { exits: [exit], gateways: trusted, onExit }, { ca: certificate.cert })
      const count = seen.length
      await until(() => seen.length > count)
      await opened.stop()
      return seen.at(-1) ?? ''
    }
    expect(await open('localhost')).toBe('up')
    expect(await open('other.test')).toBe('the certificate at its TLS port is not the one of its gateway')
  })

  test('the exit drains: open tunnels continue, and new ones use a new connection', async () => {
    const tunnel = await openTunnel('http', at(), anna, echo.spot)
    far.front?.close()
    // As another process that has taken over the TLS port.
    const successor = openHopGateway(
      { ...names.exit, gateway: { ...names.exit.gateway, port: freePort() } },
      { exits: [exit], gateways },
    )
    successor.change({ proxies: [farProxy()] })
    // It refuses tickets from before its start.
    await attempt('http', { host: '127.0.0.1', port: successor.port }, anna, echo.spot)
    far.drain()
    replaced.push(far)
    far = successor
    const next = await openTunnel('http', at(), pavel, echo.spot)
    expect([await tunnel.echo('old'), await next.echo('new')]).toEqual(['old', 'new'])
    expect(stateOf()?.connections).toBe(2)
    tunnel.close()
    await until(() => stateOf()?.connections === 1)
    expect(await next.echo('still')).toBe('still')
    next.close()
  })

  test('100 connections that were opened and closed leave no descriptor open', async () => {
    const count = () => readdirSync('/proc/self/fd').length
    const gateway = names.exit.gateway
    const once = async () => {
      const mine = openHopGateway(
        { ...names.entry, gateway: { ...names.entry.gateway, port: freePort() } },
        { exits: [] },
      )
      mine.change({ gateways: [gateway] })
      return mine
    }
    const mine = await once()
    // A reactor publishes its count every 100 ms.
    const others = await untilStill(() => far.http2?.open ?? 0)
    const connectOnce = async (): Promise<void> => {
      const line = mine.hops.open({ ...gateway, tls: gateway.tls ?? { port: 0, name: null, key: '' } })
      let answer = ''
      line.owner = {
        onSocketData: (bytes) => void (answer += Buffer.from(bytes).toString()),
        onSocketDrain() {},
        onSocketEnd() {},
        onSocketClose() {},
      }
      line.write(Buffer.from('CONNECT 127.0.0.1:9 HTTP/1.1\r\nProxy-Authorization: Turnpike-Hop no\r\n\r\n'))
      await until(() => answer.includes('hop_refused'))
      line.terminate()
      mine.hops.keep(new Map(), [])
      await until(() => far.http2?.open === others)
    }
    await connectOnce()
    // Its reactors open descriptors of their own as they start, on a starved machine long after the first connection.
    await until(() => mine.engine.reactors?.every(({ processorSeconds }) => processorSeconds > 0) ?? true)
    const before = await untilStill(count)
    for (let round = 0; round < 100; round += 1) await connectOnce()
    await until(() => count() <= before)
    await mine.stop()
  })

  test('the entry drains: an open tunnel continues, and its connection ends after it', async () => {
    const tunnel = await openTunnel('http', at(), anna, echo.spot)
    entry.hops.drain()
    expect(await tunnel.echo('still')).toBe('still')
    tunnel.close()
    await until(() => stateOf()?.connections !== 1)
  })
})
