import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { readPrefix } from '../../src/core/address.ts'
import { shippedUdp } from '../../src/dataplane/gateway/access/limits.ts'
import { createDice, mutate } from '../harness/dice.ts'
import {
  localExit,
  openEngine,
  passwordOf,
  proxyOf,
  type TestGateway,
  type TestGatewayOptions,
} from '../harness/engine.ts'
import { scaled } from '../harness/scale.ts'
import { readDatagram, startUdpEcho, TestAssociation, toDatagram, UdpPeer } from '../harness/udp.ts'
import { until, untilStill } from '../harness/until.ts'

const addresses: Readonly<Record<string, string>> = {
  'echo.example': '127.0.0.1',
  'private.example': '10.0.0.1',
}
const lookup: TestGatewayOptions['lookup'] = async (name, version) => {
  const address = addresses[name]
  return address !== undefined && version === 4 ? [{ address, ttl: 60 }] : []
}

let echo: UdpPeer
let echoSix: UdpPeer
let gateway: TestGateway
const associations: TestAssociation[] = []
const gateways: TestGateway[] = []

const openGateway = (options: TestGatewayOptions = {}): TestGateway => {
  const opened = openEngine({ lookup, ...options })
  gateways.push(opened)
  return opened
}
async function associate(username = 'dora', at = gateway): Promise<TestAssociation> {
  const association = await TestAssociation.open(at.port, username)
  associations.push(association)
  return association
}
async function openPeer(hostname?: string): Promise<UdpPeer> {
  const peer = await UdpPeer.open(hostname)
  peers.push(peer)
  return peer
}
const peers: UdpPeer[] = []

/** Counts of a credential that the engine has reported. */
async function countsOf(
  at: TestGateway,
  id: string,
  isEnough: (counted: { received: number; sent: number }) => boolean,
) {
  let counted = { received: 0, sent: 0 }
  await until(() => {
    const { proxies, subusers } = at.engine.dataPath.takeChanged()
    for (const each of [...proxies, ...subusers])
      if (String(each.id) === id) counted = { received: each.received, sent: each.sent }
    return isEnough(counted)
  })
  return counted
}

beforeAll(async () => {
  echo = await startUdpEcho()
  echoSix = await startUdpEcho('::1')
  gateway = openGateway()
})
afterEach(() => {
  for (const each of associations.splice(0)) each.close()
  for (const each of peers.splice(0)) each.stop()
  echo.received.length = 0
})
afterAll(async () => {
  echo.stop()
  echoSix.stop()
  for (const each of gateways) expect(await each.stop()).toMatchObject({ open: 0, connections: 0, tunnels: 0 })
})

describe('UDP through SOCKS5', () => {
  test('an association relays datagrams to IPv4 from the address of the proxy, and names the source of answers', async () => {
    const association = await associate()
    expect([association.code, association.host]).toEqual([0, '127.0.0.1'])
    await association.mark(echo, 'hello')
    expect(echo.received[0]?.address).toBe('127.0.0.1')
    const [first] = association.peer.received
    expect(readDatagram(first?.bytes ?? Buffer.alloc(0)).from).toBe(`127.0.0.1 ${echo.port}`)
    expect(gateway.engine.status.tunnels).toBe(1)
  })

  test('an association of an IPv6 proxy relays datagrams to IPv6 destinations', async () => {
    const association = await associate('emil')
    await association.mark(echoSix, 'six', '::1')
    const [first] = association.peer.received
    expect(readDatagram(first?.bytes ?? Buffer.alloc(0)).from).toBe(`::1 ${echoSix.port}`)
  })

  test('an association has its relay at the IPv6 address to which the client connected', async () => {
    const own = openGateway({ hostname: '::1' })
    // A sandbox with an IPv6 client: its datagrams leave over IPv4.
    const association = await TestAssociation.open(own.port, 'dora', undefined, '::1')
    associations.push(association)
    expect([association.code, association.host]).toEqual([0, '::1'])
    await association.mark(echo, 'from six to four')
  })

  test('an association leaves from the exit of its session, as often as it is opened', async () => {
    const exits = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].map((host) => ({ ...localExit, id: `exit ${host}`, host }))
    const own = openGateway({ exits })
    const leftFrom = async (session: string): Promise<string | undefined> => {
      const association = await associate(`pavel-pool-residential-session-${session}`, own)
      const text = `${session} ${association.port}`
      await association.mark(echo, text)
      return echo.received.find(({ bytes }) => bytes.toString() === text)?.address
    }
    const seen = new Set<string | undefined>()
    for (const session of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      const [first, second] = [await leftFrom(session), await leftFrom(session)]
      expect(second).toBe(first ?? '')
      seen.add(first)
    }
    expect(seen.size).toBeGreaterThan(1)
  })

  test('an association resolves names, and sends datagrams that waited for a name in order', async () => {
    const association = await associate()
    for (const text of ['one', 'two', 'three']) association.send('echo.example', echo.port, text)
    await until(() => association.answers.length >= 3)
    expect(association.answers).toEqual(['one', 'two', 'three'])
  })

  test('an association relays a datagram of 65,497 bytes, and an empty one', async () => {
    const association = await associate()
    association.send('127.0.0.1', echo.port, '')
    await until(() => association.peer.received.length === 1)
    const payload = Buffer.alloc(65_497, 'x')
    association.send('127.0.0.1', echo.port, payload)
    await until(() => association.peer.received.length === 2)
    const { bytes } = association.peer.received[1] ?? { bytes: Buffer.alloc(0) }
    expect(readDatagram(bytes).payload.equals(payload)).toBe(true)
  })

  test.each(['dora', 'pavel-pool-residential'])(
    'the gateway bills %s the payload of datagrams in both directions to the byte',
    async (username) => {
      const own = openGateway()
      const association = await associate(username, own)
      let sent = 0
      for (let count = 0; count < 50; count += 1) {
        const text = `${count} `.repeat(1 + (count % 7) * 30)
        await association.mark(echo, text)
        sent = echo.received.reduce((sum, { bytes }) => sum + bytes.length, 0)
      }
      const received = association.answers.reduce((sum, text) => sum + text.length, 0)
      const id = username === 'dora' ? '4' : 'sub-pavel'
      const isEnough = (counted: { received: number; sent: number }) =>
        counted.sent >= sent && counted.received >= received
      expect(await countsOf(own, id, isEnough)).toEqual({ sent, received })
    },
  )

  test('an association continues after 20 datagrams to a closed port', async () => {
    const association = await associate()
    const closed = await UdpPeer.open()
    const { port } = closed
    closed.stop()
    for (let count = 0; count < 20; count += 1) association.send('127.0.0.1', port, 'refused')
    await association.mark(echo, 'alive')
  })

  test('each association has its own port of the configured range, and the gateway refuses more than there are', async () => {
    const first = await openPeer()
    // Three ports of which one is taken.
    const ports = { first: first.port - 1, last: first.port + 1 }
    const own = openGateway({ limits: { udp: { ...shippedUdp, ports } } })
    const opened = []
    for (const username of ['dora', 'emil', 'pavel-pool-residential']) opened.push(await associate(username, own))
    const codes = opened.map(({ code }) => code)
    expect(codes.filter((code) => code === 0).length).toBeLessThanOrEqual(2)
    expect(codes.at(-1)).toBe(1)
    const used = opened.flatMap(({ code, port }) => (code === 0 ? [port] : []))
    expect(new Set(used).size).toBe(used.length)
    for (const port of used) expect(Math.abs(port - first.port)).toBe(1)
  })

  test('a customer gets 2 of 8 UDP ports, one again after an association ends, and others get theirs', async () => {
    const peer = await openPeer()
    const start = Math.min(peer.port, 65_000)
    const own = openGateway({ limits: { udp: { ...shippedUdp, ports: { first: start, last: start + 7 } } } })
    const open = async (username: string): Promise<number> => (await associate(username, own)).code
    const first = await associate('dora', own)
    expect([first.code, await open('dora'), await open('dora')]).toEqual([0, 0, 1])
    expect([await open('emil'), await open('emil'), await open('emil')]).toEqual([0, 0, 1])
    first.close()
    await until(() => own.engine.status.tunnels === 3)
    expect([await open('dora'), await open('dora')]).toEqual([0, 1])
  })

  test('an association never gets a UDP port that another socket of the machine has, bound or connected', async () => {
    const bound = await openPeer('0.0.0.0')
    // Like the socket of a DNS resolver.
    const connected = await Bun.udpSocket({ connect: { hostname: '127.0.0.1', port: echo.port } })
    for (const { port } of [bound, connected]) {
      const own = openGateway({ limits: { udp: { ...shippedUdp, ports: { first: port, last: port } } } })
      expect((await associate('dora', own)).code).toBe(1)
    }
    connected.close()
  })
})

describe('datagrams that an association drops', () => {
  test('an association drops datagrams from another address than that of its control connection', async () => {
    const association = await associate()
    const stranger = await openPeer('127.0.0.2')
    stranger.send(toDatagram('127.0.0.1', echo.port, 'spoofed'), association.port, association.host)
    await association.mark(echo, 'mine')
    stranger.send(toDatagram('127.0.0.1', echo.port, 'spoofed'), association.port, association.host)
    await association.mark(echo, 'mine again')
    expect(echo.texts).not.toContain('spoofed')
    expect(stranger.received).toEqual([])
  })

  test('an association drops datagrams from another port of the client than the first one', async () => {
    const association = await associate()
    await association.mark(echo, 'mine')
    const other = await openPeer()
    other.send(toDatagram('127.0.0.1', echo.port, 'other port'), association.port, association.host)
    await association.mark(echo, 'mine again')
    expect(echo.texts).not.toContain('other port')
    expect(other.received).toEqual([])
  })

  test('an association drops fragments and malformed headers, which do not pin the port either', async () => {
    const association = await associate()
    const other = await openPeer()
    const spoiled = toDatagram('127.0.0.1', echo.port, 'malformed')
    spoiled[0] = 1
    for (const bytes of [spoiled, toDatagram('127.0.0.1', echo.port, 'fragment', 1), Buffer.alloc(3)])
      other.send(bytes, association.port, association.host)
    association.send('127.0.0.1', echo.port, 'fragment', 1)
    association.send('127.0.0.1', echo.port, 'last fragment', 0x81)
    await association.mark(echo, 'whole')
    expect(echo.texts.filter((text) => text !== 'whole')).toEqual([])
  })

  test('an association drops answers from an address or port that the client has not sent to', async () => {
    const association = await associate()
    await association.mark(echo, 'mine')
    const relay = echo.received[0] ?? { port: 0, address: '' }
    const [sameAddress, other] = [await openPeer(), await openPeer('127.0.0.2')]
    for (const stranger of [sameAddress, other]) stranger.send('unasked', relay.port, relay.address)
    await association.mark(echo, 'mine again')
    expect(association.answers).not.toContain('unasked')
  })

  test('a customer with the destinations of its share does not take those of another customer', async () => {
    const destinations = { association: 40, customer: 40, gateway: 100 }
    const own = openGateway({ limits: { udp: { ...shippedUdp, destinations } } })
    const many = await Promise.all(Array.from({ length: 40 }, () => UdpPeer.open(undefined, true)))
    peers.push(...many)
    for (let count = 0; count < 3; count += 1) {
      const association = await associate('dora', own)
      for (const peer of many) await association.mark(peer, `${count} ${peer.port}`)
    }
    const other = await associate('pavel-pool-residential', own)
    for (const peer of many.slice(0, 24)) await other.mark(peer, `other ${peer.port}`)
    const relay = many[0]?.received.at(-1) ?? { port: 0, address: '' }
    await until(() => {
      many[0]?.send('late', relay.port, relay.address)
      return other.answers.includes('late')
    })
  })

  test('an association drops datagrams to denied addresses, names and ports, and bills none of them', async () => {
    const denied = await openPeer('127.0.0.7')
    const policy = { denyPrefixes: [readPrefix('127.0.0.7/32') ?? []].flat(), denyNames: new Set(['denied.example']) }
    const own = openGateway({ policy })
    const association = await associate('dora', own)
    for (const [host, port] of [
      ['127.0.0.7', denied.port],
      ['denied.example', echo.port],
      ['private.example', echo.port],
      ['10.0.0.1', echo.port],
      ['192.168.0.1', echo.port],
      ['169.254.169.254', 80],
      ['224.0.0.251', 443],
      ['255.255.255.255', 443],
      ['0.0.0.0', echo.port],
      ['::1', echoSix.port],
      ['fd00::1', echo.port],
      ['127.0.0.1', 25],
      ['127.0.0.1', 19],
      ['127.0.0.1', 11_211],
      ['127.0.0.1', 27_960],
    ] as const)
      association.send(host, port, 'denied')
    await association.mark(echo, 'allowed')
    const length = 'allowed'.length
    expect(await countsOf(own, '4', ({ received }) => received > 0)).toEqual({ sent: length, received: length })
    expect([denied.received, echo.texts]).toEqual([[], ['allowed']])
  })

  test('an association drops datagrams to this machine outside a sandbox', async () => {
    const own = openGateway({ mode: 'production' })
    const association = await associate('dora', own)
    expect(association.code).toBe(0)
    for (const host of ['127.0.0.1', 'echo.example', 'localhost', '0.0.0.0']) association.send(host, echo.port, 'here')
    const witness = await associate()
    await witness.mark(echo, 'witness')
    expect(echo.texts).toEqual(['witness'])
  })

  test('packetsPerSecond=8 limits all associations of a customer together, and passes later datagrams', async () => {
    const own = openGateway({ limits: { udp: { ...shippedUdp, packetsPerSecond: 8 } } })
    const opened = await Promise.all(Array.from({ length: 30 }, () => associate('dora', own)))
    const startedAt = performance.now()
    for (const association of opened) association.send('127.0.0.1', echo.port, 'flood')
    await opened[0]?.mark(echo, 'later')
    const answers = opened.reduce((sum, association) => sum + association.answers.length, 0)
    const seconds = (performance.now() - startedAt) / 1000
    // Each passed datagram and each answer takes a token.
    expect(echo.received.length + answers).toBeLessThanOrEqual(2 + 8 * seconds + 1)
    const other = await associate('emil', own)
    await other.mark(echoSix, 'of another customer', '::1')
  })

  test('an association drops datagrams beyond the speed limit of the credential', async () => {
    const own = openGateway({ speeds: () => ({ proxy: 10_000 }) })
    const association = await associate('dora', own)
    const startedAt = performance.now()
    const payload = 'x'.repeat(1000)
    for (let count = 0; count < 200; count += 1) association.send('127.0.0.1', echo.port, payload)
    await association.mark(echo, 'later')
    const seconds = (performance.now() - startedAt) / 1000
    const passed = [...echo.texts, ...association.answers].reduce((sum, text) => sum + text.length, 0)
    expect(passed).toBeLessThanOrEqual(10_000 * (0.25 + 0.025 + seconds) + payload.length)
  })
})

describe('the end of an association', () => {
  test.each([
    ['the client closes the control connection', (association: TestAssociation) => association.control.finish()],
    ['the client resets the control connection', (association: TestAssociation) => association.control.reset()],
    [
      'the client sends more than 64 KiB on the control connection',
      (association: TestAssociation) => association.control.send(Buffer.alloc(70 * 1024)),
    ],
    [
      'the proxy is blocked',
      () => gateway.change({ proxies: [proxyOf(4, 'dora', { port_type: 'socks', state: 'blocked' })] }),
    ],
  ])('an association ends when %s, and relays nothing afterwards', async (_, end) => {
    const association = await associate()
    await association.mark(echo, 'open')
    const relay = echo.received[0] ?? { port: 0, address: '' }
    end(association)
    await until(() => gateway.engine.status.tunnels === 0)
    association.send('127.0.0.1', echo.port, 'too late')
    echo.send('too late', relay.port, relay.address)
    gateway.change({ proxies: [proxyOf(4, 'dora', { port_type: 'socks' })] })
    const witness = await associate()
    await witness.mark(echo, 'witness')
    expect(echo.texts).not.toContain('too late')
    expect(association.answers).toEqual(['open'])
  })

  test('an association ends after its idle time without a datagram', async () => {
    const own = openGateway({ limits: { udp: { ...shippedUdp, idleMs: 300 } } })
    const association = await associate('dora', own)
    expect((await association.control.readToEnd()).hasEnded).toBe(true)
    await until(() => own.engine.status.tunnels === 0)
  })

  test('an association ends when the traffic is used up, and bills no more than was bought', async () => {
    const own = openGateway({ leaseBytes: 1000, maxLeases: 3 })
    const association = await associate('pavel-pool-residential', own)
    await until(() => {
      association.send('127.0.0.1', echo.port, 'x'.repeat(100))
      return association.control.hasEnded || association.control.isClosed
    })
    const relayed = [...echo.texts, ...association.answers].reduce((sum, text) => sum + text.length, 0)
    const { sent, received } = await countsOf(own, 'sub-pavel', (counted) => counted.sent + counted.received >= relayed)
    expect(sent + received).toBeLessThanOrEqual(3000)
    expect(sent).toBe(echo.received.reduce((sum, { bytes }) => sum + bytes.length, 0))
  })

  test('an association drops empty datagrams and ends when the traffic is used up', async () => {
    const own = openGateway({ leaseBytes: 100, maxLeases: 1 })
    const association = await associate('pavel-pool-residential', own)
    association.send('127.0.0.1', echo.port, '')
    await until(() => association.answers.length === 1)
    association.send('127.0.0.1', echo.port, 'x'.repeat(100))
    await until(() => echo.received.length === 2)
    const relay = echo.received[0] ?? { port: 0, address: '' }
    await until(() => {
      association.send('127.0.0.1', echo.port, '')
      echo.send('', relay.port, relay.address)
      return association.control.hasEnded || association.control.isClosed
    })
    expect([echo.received.length, association.answers]).toEqual([2, ['']])
  })
})

describe('refused associations', () => {
  test('the gateway refuses an association with reply 7 if no exit of the pool is an address of its own', async () => {
    const credentials = { username: 'anna', password: passwordOf('anna') }
    const supplier = { ...localExit, id: 'exit-2', kind: 'http', port: gateway.port, credentials } as const
    const remote = openGateway({ exits: [supplier] })
    expect((await associate('pavel-pool-residential', remote)).code).toBe(7)
    expect((await associate('pavel-pool-residential-session-a', remote)).code).toBe(7)
    const mixed = openGateway({ exits: [supplier, localExit] })
    for (let count = 0; count < 10; count += 1) expect((await associate('pavel-pool-residential', mixed)).code).toBe(0)
  })

  test('the gateway refuses an association with reply 7 if UDP is off', async () => {
    const off = openGateway({ limits: { udp: { ...shippedUdp, isOn: false } } })
    expect((await associate('dora', off)).code).toBe(7)
  })

  test('the gateway refuses an association beyond the tunnels of the customer, and one of a blocked proxy', async () => {
    const own = openGateway({ customer: { tunnels: 1 } })
    expect((await associate('dora', own)).code).toBe(0)
    expect((await associate('dora', own)).code).toBe(1)
    expect((await associate('gleb')).code).toBe(2)
  })

  test('the gateway refuses an association whose address is not on this machine', async () => {
    const own = openGateway({ leaveFrom: '192.0.2.1' })
    expect((await associate('dora', own)).code).toBe(1)
    // The exit is down once the gateway has checked it: no_exit.
    expect((await associate('pavel-pool-residential', own)).code).toBeOneOf([1, 4])
    await until(() => own.engine.status.open === 0)
  })
})

test('mutated datagrams crash nothing, and 200 associations leave no descriptor open', async () => {
  const countFiles = () => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
  const seeds = [
    toDatagram('127.0.0.1', echo.port, 'payload'),
    toDatagram('::1', echoSix.port, 'payload'),
    toDatagram('echo.example', echo.port, 'payload'),
  ]
  async function runBatch(batch: number): Promise<void> {
    const opened = await Promise.all(Array.from({ length: 20 }, () => TestAssociation.open(gateway.port, 'dora')))
    for (const association of opened) {
      for (let count = 0; count < scaled(500); count += 1) {
        const dice = createDice(batch * 1_000_000 + association.port * 10 + count)
        association.peer.send(mutate(seeds, dice), association.port, association.host)
      }
    }
    const [first] = opened
    await first?.mark(echo, `batch ${batch}`)
    for (const association of opened) association.close()
    await until(() => gateway.engine.status.open === 0)
  }
  // Each thread of the gateway opens descriptors of its own when it starts.
  await runBatch(0)
  await untilStill(countFiles)
  const before = countFiles()
  for (let batch = 1; batch <= 10; batch += 1) await runBatch(batch)
  await until(() => countFiles() <= before)
}, 600_000)
