import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readPrefix } from '../../src/core/address.ts'
import { shippedUdp } from '../../src/dataplane/gateway/access/limits.ts'
import { toDatagramCapsule } from '../../src/dataplane/gateway/ways-in/connect-udp/capsules.ts'
import { ConnectUdpClient, udpRequest } from '../harness/connect-udp.ts'
import { createDice, mutate } from '../harness/dice.ts'
import {
  basicOf,
  localExit,
  loginLine,
  openEngine,
  passwordOf,
  proxyOf,
  type TestGateway,
  type TestGatewayOptions,
} from '../harness/engine.ts'
import { scaled } from '../harness/scale.ts'
import { startUdpEcho, UdpPeer } from '../harness/udp.ts'
import { until } from '../harness/until.ts'

const lookup: TestGatewayOptions['lookup'] = async (name, version) =>
  name === 'echo.example' && version === 4 ? [{ address: '127.0.0.1', ttl: 60 }] : []

type Opened = Awaited<ReturnType<typeof ConnectUdpClient.open>>

let echo: UdpPeer
let echoSix: UdpPeer
let gateway: TestGateway
const clients: Opened[] = []
const gateways: TestGateway[] = []

const openGateway = (options: TestGatewayOptions = {}): TestGateway => {
  const opened = openEngine({ lookup, ...options })
  gateways.push(opened)
  return opened
}
async function request(text: string, at = gateway): Promise<Opened> {
  const opened = await ConnectUdpClient.open(at.port, text)
  clients.push(opened)
  return opened
}
const connectUdp = (username = 'anna', at = gateway, host = '127.0.0.1', port = echo.port): Promise<Opened> =>
  request(udpRequest(host, port, loginLine(username).trim()), at)
const errorOf = ({ head }: Opened): string | undefined => /X-Turnpike-Error: (\w+)/.exec(head)?.[1]

/** Counts of a credential that the engine has reported. */
async function countsOf(at: TestGateway, id: string, relayed: { readonly received: number; readonly sent: number }) {
  let counted = { received: 0, sent: 0 }
  await until(() => {
    const { proxies, subusers } = at.engine.dataPath.takeChanged()
    for (const each of [...proxies, ...subusers])
      if (String(each.id) === id) counted = { received: each.received, sent: each.sent }
    return counted.received >= relayed.received && counted.sent >= relayed.sent
  })
  return counted
}

beforeAll(async () => {
  echo = await startUdpEcho()
  echoSix = await startUdpEcho('::1')
  gateway = openGateway()
})
afterEach(() => {
  for (const { client } of clients.splice(0)) client.reset()
  echo.received.length = 0
})
afterAll(async () => {
  echo.stop()
  echoSix.stop()
  for (const each of gateways) expect(await each.stop()).toMatchObject({ open: 0, connections: 0, tunnels: 0 })
})

describe('connect-udp over HTTP/1.1', () => {
  test('the gateway answers 101 with Capsule-Protocol and relays datagrams both ways', async () => {
    const udp = await connectUdp()
    expect(udp.head).toBe(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: connect-udp\r\nCapsule-Protocol: ?1\r\n\r\n',
    )
    await udp.mark('hello')
    expect(echo.received[0]?.address).toBe('127.0.0.1')
    expect(gateway.engine.status.tunnels).toBe(1)
  })

  test('a proxy with IPv6 reaches an IPv6 address whose colons are percent-encoded', async () => {
    const udp = await connectUdp('clara', gateway, '::1', echoSix.port)
    await udp.mark('six')
    expect(echoSix.texts).toContain('six')
  })

  test('the gateway resolves a name, and relays capsules that came with the request in order', async () => {
    const head = udpRequest('echo.example', echo.port, loginLine('anna').trim())
    const early = ['one', 'two', 'three'].map((text) => Buffer.from(toDatagramCapsule(Buffer.from(text))))
    const udp = await request(head + Buffer.concat(early).toString('latin1'))
    await until(() => udp.answers.length >= 3)
    expect(udp.answers).toEqual(['one', 'two', 'three'])
  })

  test('the gateway accepts an absolute https URI, and a login in Authorization', async () => {
    const absolute = udpRequest('127.0.0.1', echo.port, `Authorization: Basic ${basicOf('anna')}`)
    const udp = await request(absolute.replace('GET /', 'GET https://gateway.example/'))
    await udp.mark('absolute')
  })

  test('capsules that arrive byte by byte are relayed whole', async () => {
    const udp = await connectUdp()
    const capsule = Buffer.from(toDatagramCapsule(Buffer.from('slowly'))).toString('latin1')
    await udp.client.sendSlowly(capsule + capsule)
    await until(() => udp.answers.length === 2)
    expect(echo.texts).toEqual(['slowly', 'slowly'])
  })

  test.each(['anna', 'pavel-pool-residential'])(
    'the gateway bills %s the payload of datagrams in both directions to the byte',
    async (username) => {
      const own = openGateway()
      const udp = await connectUdp(username, own)
      for (let count = 0; count < 50; count += 1) await udp.mark(`${count} `.repeat(1 + (count % 7) * 30))
      udp.send('')
      udp.send(Buffer.alloc(60_000, 'x'))
      await until(() => udp.answers.some((text) => text.length === 60_000))
      const sent = echo.received.reduce((sum, { bytes }) => sum + bytes.length, 0)
      const relayed = { sent, received: udp.receivedBytes }
      expect(await countsOf(own, username === 'anna' ? '1' : 'sub-pavel', relayed)).toEqual(relayed)
    },
  )

  test('datagrams for a client that does not read are dropped and not billed, and later ones pass', async () => {
    const own = openGateway()
    const udp = await connectUdp('anna', own)
    await udp.mark('first')
    const relay = echo.received[0] ?? { port: 0, address: '' }
    udp.client.pause()
    const payload = Buffer.alloc(8000, 'x')
    // More than the buffers of the two sockets hold.
    for (let batch = 0; batch < 200; batch += 1) {
      for (let count = 0; count < 20; count += 1) echo.send(payload, relay.port, relay.address)
      await new Promise(setImmediate)
    }
    udp.client.resume()
    await udp.mark('last')
    const relayed = {
      sent: echo.received.reduce((sum, { bytes }) => sum + bytes.length, 0),
      received: udp.receivedBytes,
    }
    expect(udp.answers.length).toBeLessThan(4000)
    expect(await countsOf(own, '1', relayed)).toEqual(relayed)
  })
})

describe('capsules that the gateway does not relay', () => {
  test('unknown capsule types are skipped, and datagrams of unknown contexts are dropped', async () => {
    const udp = await connectUdp()
    udp.stream.send(Buffer.from('\x17\x05other\x21\x00\x00\x05\x02late', 'latin1'))
    await udp.mark('mine')
    expect(echo.texts).toEqual(['mine'])
  })

  test('a datagram of 65,527 bytes does not fit IPv4: it is dropped and not billed', async () => {
    const own = openGateway()
    const udp = await connectUdp('anna', own)
    udp.send(Buffer.alloc(65_527))
    await udp.mark('fits')
    expect(echo.texts).toEqual(['fits'])
    expect(await countsOf(own, '1', { sent: 4, received: 4 })).toEqual({ sent: 4, received: 4 })
  })

  test.each([
    ['a datagram without a context', '\0\0'],
    ['a context that is longer than its capsule', '\0\x01\x40\x01'],
    ['a payload of 65,528 bytes', '\0\x80\x00\xff\xf9\0'],
  ])('%s ends the request', async (_, bytes) => {
    const udp = await connectUdp()
    await udp.mark('open')
    udp.stream.send(Buffer.from(bytes, 'latin1'))
    await until(() => udp.stream.isOver)
    await until(() => gateway.engine.status.tunnels === 0)
  })

  test('mutated capsules crash nothing and leave no association open', async () => {
    const seeds = ['a', 'payload '.repeat(100)].map((text) => Buffer.from(toDatagramCapsule(Buffer.from(text))))
    for (let count = 0; count < scaled(200); count += 1) {
      const udp = await connectUdp()
      for (let sent = 0; sent < 20; sent += 1) udp.stream.send(mutate(seeds, createDice(count * 100 + sent)))
      udp.client.finish()
    }
    await until(() => gateway.engine.status.tunnels === 0)
  })
})

describe('refused connect-udp requests', () => {
  test.each([
    ['without a login', '', 407, 'credentials_required'],
    ['with a wrong password', loginLine('anna', 'wrong').trim(), 407, 'bad_credentials'],
    ['of a SOCKS5 proxy', loginLine('dora').trim(), 403, 'wrong_protocol'],
    ['of a blocked proxy', loginLine('gleb').trim(), 403, 'blocked'],
  ])('the gateway refuses a request %s', async (_, line, status, code) => {
    const lines = line === '' ? [] : [line]
    const refused = await request(udpRequest('127.0.0.1', echo.port, ...lines))
    expect([refused.status, errorOf(refused)]).toEqual([status, code])
  })

  test.each([
    ['10.0.0.1', 443, 403, 'destination_not_public'],
    ['127.0.0.7', 443, 403, 'destination_denied'],
    ['169.254.169.254', 80, 403, 'destination_not_public'],
    ['127.0.0.1', 11_211, 403, 'port_denied'],
    ['127.0.0.1', 25, 403, 'port_denied'],
    ['missing.example', 443, 502, 'name_not_found'],
    ['::1', 443, 502, 'no_such_family'],
  ])('the gateway refuses the destination %s port %i with %i', async (host, port, status, code) => {
    const own = openGateway({ policy: { denyPrefixes: [readPrefix('127.0.0.7/32') ?? []].flat() } })
    const refused = await connectUdp('anna', own, host, port)
    expect([refused.status, errorOf(refused)]).toEqual([status, code])
    expect(own.engine.status.tunnels).toBe(0)
  })

  test('the gateway refuses with 501 if the exit is another proxy or UDP is off', async () => {
    const credentials = { username: 'anna', password: passwordOf('anna') }
    const supplier = { ...localExit, id: 'exit-2', kind: 'http', port: gateway.port, credentials } as const
    const remote = openGateway({ exits: [supplier] })
    const off = openGateway({ limits: { udp: { ...shippedUdp, isOn: false } } })
    for (const refused of [await connectUdp('pavel-pool-residential', remote), await connectUdp('anna', off)])
      expect([refused.status, errorOf(refused)]).toEqual([501, 'udp_unsupported'])
  })

  test('the gateway refuses a request beyond the tunnels of the customer, and the next one passes on the same connection', async () => {
    const own = openGateway({ customer: { tunnels: 1 } })
    const first = await connectUdp('anna', own)
    const second = await connectUdp('anna', own)
    expect([first.status, second.status, errorOf(second)]).toEqual([101, 429, 'too_many_tunnels'])
    first.client.reset()
    await until(() => own.engine.status.tunnels === 0)
    const before = second.client.receivedBytes
    second.client.send(udpRequest('127.0.0.1', echo.port, loginLine('anna').trim()))
    await second.client.readUntil(() => second.client.text.indexOf('HTTP/1.1 101', before) >= 0)
  })

  test.each([
    ['no Upgrade', (text: string) => text.replace('Upgrade: connect-udp\r\n', '')],
    ['another Upgrade', (text: string) => text.replace('Upgrade: connect-udp', 'Upgrade: websocket')],
    ['a body', (text: string) => text.replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\nhi')],
    ['HTTP/1.0', (text: string) => text.replace('HTTP/1.1', 'HTTP/1.0')],
    ['POST', (text: string) => text.replace('GET', 'POST')],
    ['a path without a port', (text: string) => text.replace(`/${echo.port}/ HTTP`, '/ HTTP')],
    ['port 0', (text: string) => text.replace(`/${echo.port}/ HTTP`, '/0/ HTTP')],
  ])('the gateway refuses %s with 400', async (_, change) => {
    const refused = await request(change(udpRequest('127.0.0.1', echo.port, loginLine('anna').trim())))
    expect([refused.status, errorOf(refused)]).toEqual([400, 'not_a_proxy_request'])
  })
})

describe('the end of a connect-udp request', () => {
  test.each([
    ['the client half-closes', ({ client }: Opened) => client.finish()],
    ['the client resets the connection', ({ client }: Opened) => client.reset()],
    ['the proxy is blocked', () => gateway.change({ proxies: [proxyOf(1, 'anna', { state: 'blocked' })] })],
  ])('an association ends when %s, and relays nothing afterwards', async (_, end) => {
    const udp = await connectUdp()
    await udp.mark('open')
    const relay = echo.received[0] ?? { port: 0, address: '' }
    end(udp)
    await until(() => gateway.engine.status.tunnels === 0)
    udp.send('too late')
    echo.send('too late', relay.port, relay.address)
    gateway.change({ proxies: [proxyOf(1, 'anna')] })
    const witness = await connectUdp()
    await witness.mark('witness')
    expect(echo.texts).not.toContain('too late')
    expect(udp.answers).toEqual(['open'])
  })

  test('an association ends after its idle time, although unknown capsules arrive', async () => {
    const own = openGateway({ limits: { udp: { ...shippedUdp, idleMs: 300 } } })
    const udp = await connectUdp('anna', own)
    await until(() => {
      if (!udp.stream.isOver) udp.stream.send(Uint8Array.of(0x21, 0))
      return udp.stream.isOver
    })
  })

  test('an association ends when the traffic is used up, and bills no more than was bought', async () => {
    const own = openGateway({ leaseBytes: 1000, maxLeases: 3 })
    const udp = await connectUdp('pavel-pool-residential', own)
    await until(() => {
      if (!udp.stream.isOver) udp.send('x'.repeat(100))
      return udp.stream.isOver
    })
    const relayed = { sent: echo.received.length * 100, received: udp.receivedBytes }
    const { sent, received } = await countsOf(own, 'sub-pavel', relayed)
    expect(sent + received).toBeLessThanOrEqual(3000)
    expect(sent).toBe(relayed.sent)
  })
})
