import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { someExit } from '../../../../test/harness/desired.ts'
import { startEcho } from '../../../../test/harness/tunnel.ts'
import { readAddress, readPrefix } from '../../../core/address.ts'
import type { EgressPath } from '../access/exit-choice.ts'
import { type Policy, shippedPorts } from '../access/policy.ts'
import { after, createDialler } from '../engines/portable/dialler.ts'
import type { Side } from '../sides/side.ts'
import { createSockets } from '../system/sockets.ts'
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

/** Names and the addresses they resolve to. */
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
const healthReports: string[] = []
const dialler = createDialler({ after, noteHeld() {} }, createSockets(process.platform))
const resolve = createResolve({
  clock: () => 0,
  after,
  questions: { take: () => true },
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
      worked: (id) => void healthReports.push(`worked ${id}`),
      failed: (id, problem) => void healthReports.push(`failed ${id}: ${problem}`),
      doubted: (id) => void healthReports.push(`doubted ${id}`),
    },
    dialler,
    resolve,
  })
  return (target, path, owner) => destinations.dial(target, path, owner)
}

const from = (address: string): EgressPath => ({ kind: 'address', address })
const port = (host: string) => (host.includes(':') || host === 'six.example' ? echoSix.spot.port : echo.spot.port)

/** Dials and returns the refusal, or the source address that the origin saw. */
async function dialFrom(host: string, path: EgressPath, policy?: Policy, to = port(host)): Promise<string> {
  const before = echo.sources.length + echoSix.sources.length
  const dialled = await dialWith(policy)({ host, port: to }, path, 'anna')
  if ('refusal' in dialled) {
    expect(echo.sources.length + echoSix.sources.length).toBe(before)
    return dialled.refusal
  }
  const echoed = Promise.withResolvers<void>()
  dialled.origin.own({ onData: () => echoed.resolve(), onEnd() {}, onDrain() {}, onClose() {} })
  dialled.origin.resume()
  dialled.origin.write(Buffer.from('hello'))
  await echoed.promise
  dialled.origin.abort()
  return `${(to === echo.spot.port ? echo : echoSix).sources.at(-1)}${dialled.leftFrom ? ` and reports ${dialled.leftFrom}` : ''}`
}

describe('dialling from an address', () => {
  test('the origin sees the egress address as the source address of the connection', async () => {
    for (const address of ['127.0.0.1', '127.34.56.78', '127.255.255.254']) {
      expect(await dialFrom('127.0.0.1', from(address))).toBe(address)
      expect(await dialFrom('four.example', from(address))).toBe(address)
    }
    expect(await dialFrom('::1', from('::1'))).toBe('::1')
  })

  test('dial refuses a destination of the other IP version than its egress address with no_such_family', async () => {
    expect(await dialFrom('::1', from('127.0.0.5'))).toBe('no_such_family')
    expect(await dialFrom('127.0.0.1', from('::1'))).toBe('no_such_family')
    expect(await dialFrom('::ffff:127.0.0.1', from('::1'), sandbox, echo.spot.port)).toBe('no_such_family')
    expect(await dialFrom('six.example', from('127.0.0.5'))).toBe('no_such_family')
    expect(await dialFrom('four.example', from('::1'))).toBe('no_such_family')
    expect(await dialFrom('both.example', from('::1'), sandbox, echoSix.spot.port)).toBe('::1')
    expect(await dialFrom('nobody.example', from('::1'))).toBe('name_not_found')
  })

  test('dial is refused with address_unavailable when the machine does not have the egress address', async () => {
    expect(await dialFrom('127.0.0.1', from('198.51.100.7'))).toBe('address_unavailable')
  })

  test('a sandbox dials from ::1 in place of a missing IPv6 address, and reports ::1 as leftFrom', async () => {
    expect(await dialFrom('::1', from('fd74:7069:6b65:1::7'))).toBe('::1 and reports ::1')
  })
})

describe('destinations of a dial', () => {
  const path = from('127.0.0.9')

  test('dial connects to the first allowed address of a name', async () => {
    expect(await dialFrom('mixed.example', path)).toBe('127.0.0.9')
  })

  test('dial refuses private and denied destinations, given as a name or as an address, and port 25', async () => {
    expect(await dialFrom('private.example', path)).toBe('destination_not_public')
    expect(await dialFrom('metadata.example', path)).toBe('destination_not_public')
    expect(await dialFrom('metadata.example', from('::1'))).toBe('destination_not_public')
    for (const host of ['10.0.0.1', '::ffff:10.0.0.1', '0.0.0.0', '169.254.169.254']) {
      expect(await dialFrom(host, path)).toBe('destination_not_public')
    }
    const denied = { ...sandbox, denyPrefixes: [readPrefix('127.0.0.0/8')].flatMap((each) => each ?? []) }
    expect(await dialFrom('four.example', path, denied)).toBe('destination_denied')
    expect(await dialFrom('127.0.0.1', path, { ...sandbox, allowLoopback: false })).toBe('destination_not_public')
    expect(await dialFrom('localhost', path, { ...sandbox, allowLoopback: false })).toBe('destination_not_public')
    expect(await dialFrom('127.0.0.1', path, sandbox, 25)).toBe('port_denied')
  })

  test('dial refuses a denied name without a DNS lookup', async () => {
    lookups.length = 0
    expect(await dialFrom('www.denied.example', path)).toBe('destination_denied')
    expect(lookups).toEqual([])
  })

  test('dial tries at most 3 addresses of a name', async () => {
    expect(await dialFrom('deaf.example', path)).toBe('127.0.0.9')
    expect(await dialFrom('deafer.example', path)).toBe('connect_refused')
  })

  test('dial is refused with connect_refused when the destination does not listen', async () => {
    const gone = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    gone.stop(true)
    expect(await dialFrom('127.0.0.1', path, sandbox, gone.port)).toBe('connect_refused')
  })
})

describe('dialling through an exit', () => {
  test('a local exit dials from its own address, to destinations of the same IP version', async () => {
    const local = (host: string): EgressPath => ({ kind: 'exit', exit: someExit({ host }) })
    healthReports.length = 0
    expect(await dialFrom('four.example', local('127.100.2.3'))).toBe('127.100.2.3')
    expect(await dialFrom('four.example', local('198.51.100.7'))).toBe('address_unavailable')
    expect(healthReports).toEqual(['worked exit_1', 'doubted exit_1'])
    expect(await dialFrom('::1', local('127.100.2.3'))).toBe('no_such_family')
    expect(await dialFrom('::1', local('::1'))).toBe('::1')
  })

  test('an upstream receives the resolved address, and no request for a denied destination', async () => {
    const requestLines: string[] = []
    const upstream = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, bytes) {
          requestLines.push(bytes.toString().split('\r\n', 1)[0] ?? '')
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
      expect(requestLines.pop()).toBe(`CONNECT ${target} HTTP/1.1`)
      if ('origin' in dialled) dialled.origin.abort()
    }
    expect(await dial({ host: 'private.example', port: 443 }, { kind: 'exit', exit }, 'anna')).toEqual({
      refusal: 'destination_not_public',
    })
    expect(requestLines).toEqual([])
    upstream.stop(true)
  })

  test('a silent upstream causes connect_timeout; one that closes or answers 407 causes exit_failed', async () => {
    const listen = (data: (socket: { end(text?: string): unknown }) => void) =>
      Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: (socket) => data(socket) } })
    const listeners = [
      listen(() => {}),
      listen((socket) => socket.end()),
      listen((socket) => socket.end('HTTP/1.1 407 No\r\n\r\n')),
    ]
    healthReports.length = 0
    const received = listeners.map(async (listener) => {
      const exit = someExit({ kind: 'http', host: '127.0.0.1', port: listener.port })
      return dialWith(sandbox, 300)({ host: '127.0.0.1', port: 443 }, { kind: 'exit', exit }, 'anna')
    })
    expect(await Promise.all(received)).toEqual([
      { refusal: 'connect_timeout', isDoubtful: true },
      { refusal: 'exit_failed', isDoubtful: true },
      expect.objectContaining({ refusal: 'exit_failed', problem: 'it does not take our login (407)' }),
    ])
    expect(healthReports.toSorted()).toEqual([
      'doubted exit_1',
      'doubted exit_1',
      'failed exit_1: it does not take our login (407)',
    ])
    for (const listener of listeners) listener.stop(true)
  })
})

test('an upstream may be a host name; an unknown name and a refused connection cause exit_failed', async () => {
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
  healthReports.length = 0
  const dialled = await via('four.example')
  expect('origin' in dialled).toBeTrue()
  if ('origin' in dialled) dialled.origin.abort()
  expect(await via('nobody.example')).toEqual({ refusal: 'exit_failed', problem: 'its name is not known' })
  upstream.stop(true)
  expect(await via('127.0.0.1')).toEqual({ refusal: 'exit_failed', problem: 'it refuses connections' })
  expect(healthReports.map((each) => each.split(' ', 1)[0])).toEqual(['worked', 'failed', 'failed'])
})

test('an upstream name with a local or private address is not connected to; a literal 127.0.0.1 is', async () => {
  const production = { ...sandbox, allowLoopback: false }
  // As the kernel reports a public address of this machine.
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

test('a local exit whose route does not end at this machine is down, even if a socket binds to it', async () => {
  const exit = someExit({ kind: 'local', host: '127.0.0.1' })
  const tryWith = (isDeliveredHere: boolean) => {
    const routed = { ...dialler, isDeliveredHere: () => isDeliveredHere }
    const upstreams = new Upstreams({ resolve, dialler: routed, hops, policy: () => sandbox })
    return upstreams.tryExit(exit, (origin) => origin.abort())
  }
  expect([await tryWith(true), await tryWith(false)]).toEqual([undefined, 'this machine does not have the address'])
})

test('every address in the name table of this file is valid', () => {
  for (const lists of Object.values(names)) {
    for (const address of Object.values(lists).flat()) expect(readAddress(address)).toBeDefined()
  }
})
