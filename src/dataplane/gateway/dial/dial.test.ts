import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { someExit } from '../../../../test/harness/desired.ts'
import { startEcho } from '../../../../test/harness/tunnel.ts'
import { readAddress, readPrefix } from '../../../core/address.ts'
import type { EgressPath } from '../access/exit-choice.ts'
import { type Policy, shippedPorts } from '../access/policy.ts'
import { after, createDialler } from '../relay/portable/dialler.ts'
import type { Side } from '../relay/side.ts'
import { createSockets } from '../relay/sockets.ts'
import { DestinationDialler } from './dial.ts'
import { createResolve } from './resolve.ts'
import { Upstreams } from './upstream.ts'

const sandbox: Policy = {
  allowLoopback: true,
  ownAddresses: [],
  denyPrefixes: [],
  denyNames: new Set(['denied.example']),
  ports: shippedPorts,
}

/** Names and what they resolve to. */
const names: Readonly<Record<string, Readonly<Partial<Record<4 | 6, readonly string[]>>>>> = {
  'four.example': { 4: ['127.0.0.1'] },
  'six.example': { 6: ['::1'] },
  'both.example': { 4: ['127.0.0.1'], 6: ['::1'] },
  'mixed.example': { 4: ['10.0.0.1', '169.254.169.254', '127.0.0.1'] },
  'private.example': { 4: ['10.0.0.1', '192.168.0.1'] },
  'metadata.example': { 4: ['169.254.169.254'], 6: ['fd00:ec2::254'] },
  'public.example': { 4: ['45.12.9.9'] },
  'deaf.example': { 4: ['127.0.0.77', '127.0.0.78', '127.0.0.1'] },
  'deafer.example': { 4: ['127.0.0.77', '127.0.0.78', '127.0.0.79', '127.0.0.1'] },
}

let echo: ReturnType<typeof startEcho>
let echoSix: ReturnType<typeof startEcho>
beforeAll(() => {
  echo = startEcho('127.0.0.1')
  echoSix = startEcho('::1')
})
afterAll(() => {
  echo.stop()
  echoSix.stop()
})

const lookups: string[] = []
/** Reports of the dialler about exits. */
const judged: string[] = []
const dialler = createDialler({ after, noteHeld() {} }, createSockets(process.platform))
const resolve = createResolve({
  clock: () => 0,
  after,
  namesPerSecond: 10_000,
  lookup: async (name, version) => {
    lookups.push(name)
    return (names[name]?.[version] ?? []).map((address) => ({ address, ttl: 60 }))
  },
})
const hops = { self: 'nod_self', findGateway: () => undefined, writeTicket: () => '' }
function dialWith(policy: Policy = sandbox, connectMs = 2000): DestinationDialler<Side>['dial'] {
  const destinations = new DestinationDialler({
    upstreams: new Upstreams({ resolve, dialler, hops, policy: () => policy }),
    policy: () => policy,
    connectMs,
    health: {
      worked: (id) => void judged.push(`worked ${id}`),
      failed: (id, problem) => void judged.push(`failed ${id}: ${problem}`),
      doubted: (id) => void judged.push(`doubted ${id}`),
    },
    dialler,
    resolve,
  })
  return (target, way, owner) => destinations.dial(target, way, owner)
}

const from = (address: string): EgressPath => ({ kind: 'address', address })
const port = (host: string) => (host.includes(':') || host === 'six.example' ? echoSix.spot.port : echo.spot.port)

/** Dials, and tells why not, or from where the origin saw it come. */
async function tell(host: string, way: EgressPath, policy?: Policy, to = port(host)): Promise<string> {
  const before = echo.sources.length + echoSix.sources.length
  const dialled = await dialWith(policy)({ host, port: to }, way, 'anna')
  if ('refusal' in dialled) {
    expect(echo.sources.length + echoSix.sources.length).toBe(before)
    return dialled.refusal
  }
  const heard = Promise.withResolvers<void>()
  dialled.origin.own({ onData: () => heard.resolve(), onEnd() {}, onDrain() {}, onClose() {} })
  dialled.origin.resume()
  dialled.origin.write(Buffer.from('hello'))
  await heard.promise
  dialled.origin.abort()
  return `${(to === echo.spot.port ? echo : echoSix).sources.at(-1)}${dialled.leftFrom ? ` and says ${dialled.leftFrom}` : ''}`
}

describe('leaving from an address', () => {
  test('the origin sees exactly that address', async () => {
    for (const address of ['127.0.0.1', '127.34.56.78', '127.255.255.254']) {
      expect(await tell('127.0.0.1', from(address))).toBe(address)
      expect(await tell('four.example', from(address))).toBe(address)
    }
    expect(await tell('::1', from('::1'))).toBe('::1')
  })

  test('nothing leaves for the other kind of address, where the system would leave from any of its own', async () => {
    expect(await tell('::1', from('127.0.0.5'))).toBe('no_such_family')
    expect(await tell('127.0.0.1', from('::1'))).toBe('no_such_family')
    expect(await tell('::ffff:127.0.0.1', from('::1'), sandbox, echo.spot.port)).toBe('no_such_family')
    expect(await tell('six.example', from('127.0.0.5'))).toBe('no_such_family')
    expect(await tell('four.example', from('::1'))).toBe('no_such_family')
    expect(await tell('both.example', from('::1'), sandbox, echoSix.spot.port)).toBe('::1')
    expect(await tell('nobody.example', from('::1'))).toBe('name_not_found')
  })

  test('an address that this machine does not have is not replaced by another', async () => {
    expect(await tell('127.0.0.1', from('198.51.100.7'))).toBe('address_unavailable')
  })

  test('a sandbox leaves from ::1 in place of an IPv6 address that it does not have, and says so', async () => {
    expect(await tell('::1', from('fd74:7069:6b65:1::7'))).toBe('::1 and says ::1')
  })
})

describe('where to', () => {
  const way = from('127.0.0.9')

  test('the first allowed address of a name is dialled', async () => {
    expect(await tell('mixed.example', way)).toBe('127.0.0.9')
  })

  test('a name of which no address is allowed is refused, whichever spelling', async () => {
    expect(await tell('private.example', way)).toBe('destination_not_public')
    expect(await tell('metadata.example', way)).toBe('destination_not_public')
    expect(await tell('metadata.example', from('::1'))).toBe('destination_not_public')
    for (const host of ['10.0.0.1', '::ffff:10.0.0.1', '0.0.0.0', '169.254.169.254']) {
      expect(await tell(host, way)).toBe('destination_not_public')
    }
    const denied = { ...sandbox, denyPrefixes: [readPrefix('127.0.0.0/8')].flatMap((each) => each ?? []) }
    expect(await tell('four.example', way, denied)).toBe('destination_denied')
    expect(await tell('127.0.0.1', way, { ...sandbox, allowLoopback: false })).toBe('destination_not_public')
    expect(await tell('localhost', way, { ...sandbox, allowLoopback: false })).toBe('destination_not_public')
    expect(await tell('127.0.0.1', way, sandbox, 25)).toBe('port_denied')
  })

  test('a denied name is not even looked up', async () => {
    lookups.length = 0
    expect(await tell('www.denied.example', way)).toBe('destination_denied')
    expect(lookups).toEqual([])
  })

  test('an address that does not answer is followed by the next, three in all', async () => {
    expect(await tell('deaf.example', way)).toBe('127.0.0.9')
    expect(await tell('deafer.example', way)).toBe('connect_refused')
  })

  test('a destination that does not listen is refused at once', async () => {
    const gone = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    gone.stop(true)
    expect(await tell('127.0.0.1', way, sandbox, gone.port)).toBe('connect_refused')
  })
})

describe('through an exit', () => {
  test('a local one leaves from its own address, for its own kind of destination', async () => {
    const local = (host: string): EgressPath => ({ kind: 'exit', exit: someExit({ host }) })
    judged.length = 0
    expect(await tell('four.example', local('127.100.2.3'))).toBe('127.100.2.3')
    expect(await tell('four.example', local('198.51.100.7'))).toBe('address_unavailable')
    expect(judged).toEqual(['worked exit_1', 'doubted exit_1'])
    expect(await tell('::1', local('127.100.2.3'))).toBe('no_such_family')
    expect(await tell('::1', local('::1'))).toBe('::1')
  })

  test('an upstream receives the judged address, and no request for a denied one', async () => {
    const heard: string[] = []
    const upstream = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, bytes) {
          heard.push(bytes.toString().split('\r\n', 1)[0] ?? '')
          socket.write('HTTP/1.1 200 OK\r\n\r\n')
        },
      },
    })
    const exit = someExit({ kind: 'http', host: '127.0.0.1', port: upstream.port })
    const dial = dialWith()
    for (const [host, target] of [
      ['mixed.example', '127.0.0.1:443'],
      ['six.example', '[::1]:443'],
      ['::1', '[::1]:443'],
    ] as const) {
      const dialled = await dial({ host, port: 443 }, { kind: 'exit', exit }, 'anna')
      expect('origin' in dialled).toBeTrue()
      expect(heard.pop()).toBe(`CONNECT ${target} HTTP/1.1`)
      if ('origin' in dialled) dialled.origin.abort()
    }
    expect(await dial({ host: 'private.example', port: 443 }, { kind: 'exit', exit }, 'anna')).toEqual({
      refusal: 'destination_not_public',
    })
    expect(heard).toEqual([])
    upstream.stop(true)
  })

  test('an upstream that is silent is a timeout; one that hangs up or says no is an exit that failed', async () => {
    const listen = (data: (socket: { end(text?: string): unknown }) => void) =>
      Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => data(socket) } })
    const listeners = [
      listen(() => {}),
      listen((socket) => socket.end()),
      listen((socket) => socket.end('HTTP/1.1 407 No\r\n\r\n')),
    ]
    judged.length = 0
    const received = listeners.map(async (listener) => {
      const exit = someExit({ kind: 'http', host: '127.0.0.1', port: listener.port })
      return dialWith(sandbox, 300)({ host: '127.0.0.1', port: 443 }, { kind: 'exit', exit }, 'anna')
    })
    expect(await Promise.all(received)).toEqual([
      { refusal: 'connect_timeout', isDoubtful: true },
      { refusal: 'exit_failed', isDoubtful: true },
      expect.objectContaining({ refusal: 'exit_failed', problem: 'it does not take our login (407)' }),
    ])
    expect(judged.toSorted()).toEqual([
      'doubted exit_1',
      'doubted exit_1',
      'failed exit_1: it does not take our login (407)',
    ])
    for (const listener of listeners) listener.stop(true)
  })
})

test('an upstream may be named, and one that is not there is to blame at once, whatever the destination', async () => {
  const upstream = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\n') },
  })
  const dial = dialWith()
  const via = (host: string) => {
    const exit = someExit({ kind: 'http', host, port: upstream.port })
    return dial({ host: 'four.example', port: 443 }, { kind: 'exit', exit }, 'anna')
  }
  judged.length = 0
  const dialled = await via('four.example')
  expect('origin' in dialled).toBeTrue()
  if ('origin' in dialled) dialled.origin.abort()
  expect(await via('nobody.example')).toEqual({ refusal: 'exit_failed', problem: 'its name is not known' })
  upstream.stop(true)
  expect(await via('127.0.0.1')).toEqual({ refusal: 'exit_failed', problem: 'it refuses connections' })
  expect(judged.map((each) => each.split(' ', 1)[0])).toEqual(['worked', 'failed', 'failed'])
})

test('a supplier’s name that leads to this machine or a private network is not connected to; an address given as such is', async () => {
  const production = { ...sandbox, allowLoopback: false }
  // As the kernel says of a public address that is on this machine.
  const here = { ...dialler, isDeliveredHere: () => true }
  const upstreams = new Upstreams({ resolve, dialler: here, hops, policy: () => production })
  const tryAt = (host: string) => {
    const exit = someExit({ kind: 'http', host, port: echo.spot.port })
    return upstreams.tryExit(exit, (origin) => origin.abort())
  }
  const before = echo.sources.length
  for (const name of ['four.example', 'six.example', 'mixed.example', 'metadata.example', 'public.example']) {
    expect(await tryAt(name)).toBe('its name leads to no public address')
  }
  expect(await tryAt('nobody.example')).toBe('its name is not known')
  expect(echo.sources.length).toBe(before)
  await tryAt('127.0.0.1')
  expect(echo.sources.length).toBe(before + 1)
})

test('what tests write as addresses are addresses', () => {
  for (const lists of Object.values(names)) {
    for (const address of Object.values(lists).flat()) expect(readAddress(address)).toBeDefined()
  }
})
