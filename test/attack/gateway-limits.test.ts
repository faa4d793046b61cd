import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'bun'
import { readConfig } from '../../src/app/settings/config.ts'
import { engineLimitsOf } from '../../src/app/settings/gateway.ts'
import { readProxyLogin } from '../../src/core/login.ts'
import { Snapshot } from '../../src/dataplane/agent/snapshot.ts'
import { ExitChooser, OwnSessions } from '../../src/dataplane/gateway/access/exit-choice.ts'
import {
  localExit,
  loginLine,
  openEngine,
  type TestGateway,
  type TestGatewayOptions,
  until,
} from '../harness/engine.ts'
import { converse, summarizeResponses, untilProcessed } from '../harness/raw-case.ts'
import { RawClient, readAnswers } from '../harness/raw-client.ts'
import { type RecordingOrigin, startRecordingOrigin } from '../harness/recording-origin.ts'
import { isLong } from '../harness/scale.ts'
import { greet, socksLogin, socksRequest, socksTo } from '../harness/socks-client.ts'

/** Documented limit: the bytes that the gateway buffers for a peer that does not read. */
const maxHeld = 256 * 1024

const hourMs = 3_600_000

let gateway: TestGateway
let origin: RecordingOrigin
beforeAll(() => {
  origin = startRecordingOrigin()
})
beforeEach(() => origin.reset())
afterEach(async () => {
  expect(await gateway.stop()).toMatchObject({ open: 0, connections: 0, tunnels: 0 })
})
afterAll(() => origin.stop())

const open = (options: TestGatewayOptions): void => {
  gateway = openEngine(options)
}
const get = (path: string, who = 'anna'): string =>
  `GET http://${origin.authority}${path} HTTP/1.1\r\nHost: a\r\n${loginLine(who)}\r\n`
const connectLine = (who = 'anna'): string => `CONNECT ${origin.authority} HTTP/1.1\r\n${loginLine(who)}\r\n`

async function tunnel(who = 'anna'): Promise<RawClient> {
  const client = await RawClient.open(gateway.port)
  client.send(connectLine(who))
  await client.readUntil((text) => text.includes('\r\n\r\n'))
  return client
}

describe('slow clients', () => {
  const slow: readonly (readonly [name: string, sent: string, answer: string])[] = [
    ['without any byte', '', ''],
    ['with its request line', 'GET http://a', 'HTTP/1.1 408'],
    ['with its head', 'GET http://a.example/ HTTP/1.1\r\nHost: a\r\n', 'HTTP/1.1 408'],
    ['with its SOCKS greeting', '\x05', ''],
    ['with its SOCKS login', '\x05\x01\x02\x01\x04do', '\x05\x02'],
    ['with its SOCKS request', `\x05\x01\x02${socksLogin('dora')}\x05\x01\0`, '\x05\x02\x01\0'],
  ]
  test('the gateway closes a client that sends its handshake slowly after handshakeMs, with 408 for HTTP', async () => {
    open({ limits: { handshakeMs: 400, betweenRequestsMs: 400 } })
    await Promise.all(
      slow.map(async ([name, sent, answer]) => {
        const client = await RawClient.open(gateway.port)
        client.send(sent)
        // Without a time limit this request would never end.
        const drip = setInterval(() => {
          if (sent.startsWith('GET')) client.send('a')
        }, 50)
        const { hasEnded } = await client.readToEnd()
        clearInterval(drip)
        expect({ name, hasEnded, answer: client.text.slice(0, 12) }).toEqual({ name, hasEnded: true, answer })
        client.reset()
      }),
    )
  })

  test('the gateway does not close a slow client before handshakeMs', async () => {
    open({ limits: { handshakeMs: hourMs, betweenRequestsMs: hourMs } })
    const clients = await Promise.all(slow.map(() => RawClient.open(gateway.port)))
    for (const [index, [, sent]] of slow.entries()) clients[index]?.send(sent)
    await untilProcessed(gateway.port)
    expect(clients.filter((client) => client.hasEnded || client.isClosed)).toEqual([])
    for (const client of clients) client.reset()
  })

  test('the gateway closes an idle connection after betweenRequestsMs, and 500 slow clients delay no other request', async () => {
    open({ limits: { handshakeMs: hourMs, betweenRequestsMs: 300 } })
    const crowd = await Promise.all(Array.from({ length: 500 }, () => RawClient.open(gateway.port)))
    for (const each of crowd) each.send('GET http://a.example/ HTTP/1.1\r\nX-')
    const client = await RawClient.open(gateway.port)
    client.send(get('/a'))
    await client.readUntil((text) => text.includes('200'))
    // None of the slow clients was closed.
    expect(crowd.filter((each) => each.hasEnded || each.isClosed)).toEqual([])
    expect((await client.readToEnd()).hasEnded).toBe(true)
    expect(summarizeResponses(client.text)[0]).toBe('200')
    for (const each of crowd) each.reset()
    client.reset()
  })

  test('the gateway closes an idle tunnel on both sides after idleMs, over HTTP and SOCKS5', async () => {
    open({ limits: { idleMs: 300 } })
    origin.play({ onBytes: () => {} })
    const [http, socks] = [await tunnel(), await socksTo(gateway.port, 'dora', '127.0.0.1', origin.port)]
    expect(await http.readToEnd()).toMatchObject({ hasEnded: true })
    expect(await socks.client.readToEnd()).toMatchObject({ hasEnded: true })
    await until(() => origin.records.every((record) => record.isClosed))
  })
})

describe('limits on connections and requests', () => {
  /** Undefined for a connection that was closed before its open event. */
  const tryConnect = (): Promise<RawClient | undefined> => RawClient.open(gateway.port).catch(() => undefined)
  /** A limit of 5 per second allows a burst of 10. */
  const burst = 10
  /**
   * Sends 15 requests per connection until one gets the expected answer; returns all answers. How many pass before
   * depends on the speed of this machine; the token bucket is tested with a hand clock.
   */
  async function askUntil(expected: string, ask: (index: number) => string): Promise<string[]> {
    const answers: string[] = []
    const each = 15
    for (let rounds = 0; rounds < 1000 && !answers.includes(expected); rounds += 1) {
      const client = await RawClient.open(gateway.port)
      client.send(Array.from({ length: each }, (_, index) => ask(answers.length + index)).join(''))
      await client.readUntil((text) => readAnswers(text).answers.length === each)
      answers.push(...summarizeResponses(client.text))
      client.reset()
    }
    expect(answers).toContain(expected)
    return answers
  }
  const isRefused = (each: RawClient | undefined): boolean => !each || each.isClosed || each.hasEnded

  test('the gateway answers 503 gateway_full to a fourth connection at a limit of 3, and 200 after one is closed', async () => {
    open({ limits: { connections: 3 } })
    origin.play({ onBytes: () => {} })
    const held = [await tunnel(), await tunnel(), await tunnel()]
    expect(await converse(gateway.port, get('/a'), ['503 gateway_full'], false)).toEqual(['503 gateway_full'])
    const late = await socksTo(gateway.port, 'dora', '127.0.0.1', origin.port)
    expect(late.code).toBe(1)
    late.client.reset()
    for (const each of held) each.reset()
    await until(() => gateway.engine.status.open === 0)
    expect((await tunnel()).text).toStartWith('HTTP/1.1 200 ')
  })

  test('a limit of 2 customer ports opens 2 of 3, and the error counts the 1 that is refused', async () => {
    const errors: unknown[] = []
    const ports = [29_871, 29_872, 29_873].map((port) => ({ port, login: 'pavel' }))
    open({ limits: { ports: 2 }, subuser: { ports }, onPort: (_, error) => errors.push(String(error)) })
    expect(gateway.engine.status.listeners).toBe(3)
    expect(errors).toEqual([expect.stringContaining('no room for 1 ports of customers: at most 2')])
  })

  test('a full gateway keeps 8 of 30 further connections to refuse them and closes 22 without an answer', async () => {
    open({ limits: { connections: 3 } })
    origin.play({ onBytes: () => {} })
    const held = [await tunnel(), await tunnel(), await tunnel()]
    const crowd = await Promise.all(Array.from({ length: 30 }, tryConnect))
    await until(() => crowd.filter(isRefused).length === 22)
    await until(() => gateway.engine.status.open === 11 && gateway.engine.status.tunnels === 3)
    expect(held.filter(isRefused)).toEqual([])
    for (const each of [...crowd, ...held]) each?.reset()
    await until(() => gateway.engine.status.open === 0)
  })

  test('the gateway allows one address 2000 silent connections, and serves another address', async () => {
    open({})
    const crowd: (RawClient | undefined)[] = []
    // A larger batch would overflow the kernel's accept queue.
    for (let index = 0; index < 10; index += 1) {
      crowd.push(...(await Promise.all(Array.from({ length: 201 }, tryConnect))))
      await until(() => gateway.engine.status.open >= Math.min(2000, crowd.length))
    }
    await until(() => crowd.filter(isRefused).length === 10)
    const client = await RawClient.open(gateway.port, '127.0.0.2')
    client.send(get('/a'))
    await client.readUntil((text) => text.endsWith('ok'))
    expect(summarizeResponses(client.text)).toEqual(['200'])
    for (const each of [...crowd, client]) each?.reset()
    await until(() => gateway.engine.status.open === 0)
  })

  test('the gateway answers 429 to a customer with a quarter of all connections, and 200 to another customer', async () => {
    const config = readConfig({ TURNPIKE_GATEWAY_CONNECTIONS: '8', TURNPIKE_GATEWAY_TUNNELS: '4000' })
    const { connections, customer } = engineLimitsOf(config)
    open({ limits: { connections }, customer })
    origin.play({ onBytes: () => {} })
    const held = [await tunnel(), await tunnel()]
    expect(await converse(gateway.port, connectLine(), ['429 too_many_tunnels'], false)).toEqual([
      '429 too_many_tunnels',
    ])
    expect((await tunnel('boris')).text).toStartWith('HTTP/1.1 200 ')
    for (const each of held) each.reset()
  })

  test('the gateway answers 429 to a customer at a limit of 2 tunnels, and 200 to another customer', async () => {
    open({ customer: { tunnels: 2 } })
    origin.play({ onBytes: () => {} })
    const held = [await tunnel(), await tunnel()]
    const answers = ['429 too_many_tunnels']
    expect(await converse(gateway.port, connectLine(), answers, false)).toEqual(answers)
    expect(await converse(gateway.port, get('/a'), answers, false)).toEqual(answers)
    expect((await tunnel('boris')).text).toStartWith('HTTP/1.1 200 ')
    held[0]?.reset()
    await until(() => gateway.engine.status.tunnels === 2)
    expect((await tunnel()).text).toStartWith('HTTP/1.1 200 ')
  })

  test('the gateway answers 429 to a sub-user at its own limit of 1 tunnel', async () => {
    open({ subuser: { tunnels: 1 } })
    origin.play({ onBytes: () => {} })
    const held = await tunnel('pavel-pool-residential')
    expect(held.text).toStartWith('HTTP/1.1 200 ')
    const answers = ['429 too_many_tunnels']
    expect(await converse(gateway.port, connectLine('pavel-pool-residential-session-b'), answers, false)).toEqual(
      answers,
    )
  })

  test('the gateway answers 429 above 5 new connections per second, failed ones included, and 200 to others', async () => {
    open({ customer: { newPerSecond: 5 } })
    const request = `CONNECT 127.0.0.1:9 HTTP/1.1\r\n${loginLine('anna')}\r\n`
    const answers = await askUntil('429 too_many_new', () => request)
    expect(answers.slice(0, burst)).toEqual(Array.from({ length: burst }, () => '403 port_denied'))
    expect(await converse(gateway.port, get('/a', 'boris'), ['200'], false)).toEqual(['200'])
  })

  test('the gateway answers 429 above 5 name lookups per second and does not resolve the refused names', async () => {
    let lookups = 0
    open({
      customer: { namesPerSecond: 5 },
      lookup: async () => {
        lookups += 1
        return [{ address: '127.0.0.1', ttl: 60 }]
      },
    })
    const refusal = '429 too_many_names'
    const answers = await askUntil(
      refusal,
      (index) => `CONNECT n${index}.example:9 HTTP/1.1\r\n${loginLine('anna')}\r\n`,
    )
    expect(answers.slice(0, burst)).not.toContain(refusal)
    expect(lookups).toBe(answers.filter((line) => line !== refusal).length)
  })
})

/** The bytes that a client receives on a tunnel with 20,000 bytes left that is given twice as many. */
async function exhaust(direction: 'up' | 'down'): Promise<number> {
  const bytes = 20_000
  const own = openEngine({ leaseBytes: bytes, maxLeases: 1 })
  let opened: Socket | undefined
  let isGone = false
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { open: (socket) => void (opened = socket), data() {}, close: () => void (isGone = true) },
  })
  const client = await RawClient.open(own.port)
  client.send(`CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\n${loginLine('pavel')}\r\n`)
  await client.readUntil((text) => text.includes('\r\n\r\n'))
  await until(() => opened !== undefined)
  const head = client.receivedBytes
  const much = 'x'.repeat(2 * bytes)
  if (direction === 'up') client.send(much)
  else opened?.write(much)
  expect((await client.readToEnd()).hasEnded).toBe(true)
  await until(() => isGone)
  server.stop(true)
  await own.stop()
  return client.receivedBytes - head
}

test('the gateway closes a tunnel on both sides after exactly 20,000 leased bytes, upwards or downwards', async () => {
  open({})
  expect(await Promise.all([exhaust('up'), exhaust('down')])).toEqual([0, 20_000])
})

describe('sticky sessions', () => {
  test('ExitChooser keeps the exit of each of 10,000 sessions, and its table holds at most 100,000', () => {
    gateway = openEngine()
    const snapshot = new Snapshot()
    const exits = Array.from({ length: 4 }, (_, index) => ({ ...localExit, id: `exit-${index}` }))
    snapshot.apply({ proxies: [], subusers: [], exits })
    const sessions = new OwnSessions()
    const health = { isUp: () => true, generation: 0 }
    const chooser = new ExitChooser({ snapshot, random: () => 0, health, sessions })
    const choose = (index: number) => {
      const login = readProxyLogin(`pavel-pool-residential-session-s${index}`)
      if (!login) throw new Error('the login is not one')
      return chooser.choose('owner', 'residential', login, 1000)
    }
    const first = Array.from({ length: 10_000 }, (_, index) => choose(index))
    expect(Array.from({ length: 10_000 }, (_, index) => choose(index))).toEqual(first)
    expect(sessions.size).toBe(10_000)
    // `sessions.test.ts` fills the table with random names.
    const more = isLong ? 100_000 : 10_000
    for (let index = 0; index < more; index += 1) choose(10_000 + index)
    expect(sessions.size).toBeLessThanOrEqual(100_000)
  })

  test('the gateway answers 200 to 500 sessions on 20 connections', async () => {
    open({})
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.open(gateway.port)))
    const each = 25
    await Promise.all(
      clients.map(async (client, number) => {
        for (let index = 0; index < each; index += 1) {
          client.send(get('/a', `pavel-pool-residential-session-c${number}n${index}`))
          await client.readUntil((text) => readAnswers(text).answers.length === index + 1)
        }
        expect(summarizeResponses(client.text)).toEqual(Array.from({ length: each }, () => '200'))
        client.reset()
      }),
    )
  })
})

describe('peers that never read', () => {
  const block = Buffer.alloc(1024 * 1024, 97).toString('latin1')
  const peakHeld = (): number => gateway.engine.status.maxHeld

  const clientKinds: readonly (readonly [name: string, begin: () => Promise<RawClient>])[] = [
    ['a tunnel', () => tunnel()],
    ['SOCKS5', async () => (await socksTo(gateway.port, 'dora', '127.0.0.1', origin.port)).client],
    ['a forwarded request', () => RawClient.open(gateway.port)],
    ['a tunnel by the byte', () => tunnel('pavel-pool-residential')],
  ]
  test.each(clientKinds)(
    'the gateway buffers at most 256 KiB for a client of %s that never reads, and serves another customer',
    async (name, begin) => {
      open({})
      const stalled = await begin()
      stalled.pause()
      origin.play({
        onBytes: (_, write) => write(`HTTP/1.1 200 OK\r\nContent-Length: 20971520\r\n\r\n${block.repeat(20)}`),
      })
      stalled.send(name === 'a forwarded request' ? get('/a') : 'x')
      await until(() => peakHeld() > 0)
      await untilProcessed(gateway.port)
      expect(peakHeld()).toBeLessThanOrEqual(maxHeld)
      origin.play({})
      expect(await converse(gateway.port, get('/b', 'boris'), ['200'], false)).toEqual(['200'])
      stalled.reset()
    },
  )

  test('the gateway buffers at most 512 KiB for a client that stops reading after 4 MiB', async () => {
    open({})
    const client = await tunnel()
    origin.play({ onBytes: (_, write) => write(block.repeat(20)) })
    client.send('x')
    await until(() => client.receivedBytes > 4 * 1024 * 1024)
    client.pause()
    await until(() => peakHeld() > 0)
    await untilProcessed(gateway.port)
    expect(peakHeld()).toBeLessThanOrEqual(512 * 1024)
    client.reset()
  })

  test.each(['a tunnel', 'a forwarded request'])(
    'the gateway buffers at most 256 KiB for an origin of %s that never reads, and serves another customer',
    async (name) => {
      open({})
      origin.play({
        onOpen: (_, socket) => {
          socket.pause()
        },
      })
      const length = 20 * 1024 * 1024
      const isTunnel = name === 'a tunnel'
      const client = isTunnel ? await tunnel() : await RawClient.open(gateway.port)
      if (!isTunnel) client.send(get('/a').replace('\r\n\r\n', `\r\nContent-Length: ${length}\r\n\r\n`))
      client.send(Buffer.alloc(length, 97))
      await until(() => peakHeld() > 0)
      await untilProcessed(gateway.port)
      expect(peakHeld()).toBeLessThanOrEqual(maxHeld)
      expect(client.unsent).toBeGreaterThan(0)
      origin.play({})
      expect(await converse(gateway.port, get('/b', 'boris'), ['200'], false)).toEqual(['200'])
      client.reset()
    },
  )

  test('the gateway buffers at most 256 KiB for a client that requests 1000 answers and does not read', async () => {
    open({})
    const [size, count] = [40_000, 1000]
    const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'a'.repeat(size)}`
    origin.play({ onRequest: (_, write) => write(answer) })
    const stalled = await RawClient.open(gateway.port)
    stalled.pause()
    stalled.send(get('/a').repeat(count))
    await until(() => peakHeld() > 0)
    await untilProcessed(gateway.port, 100)
    expect(peakHeld()).toBeLessThanOrEqual(maxHeld)
    stalled.resume()
    await until(() => stalled.receivedBytes >= count * size)
    stalled.reset()
  })

  test('the gateway buffers at most 20 KiB for a client that does not read its refusals, and closes it', async () => {
    open({})
    const stalled = await RawClient.open(gateway.port)
    stalled.pause()
    await until(() => gateway.engine.status.connections === 1)
    stalled.send('GET http://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000))
    await until(() => gateway.engine.status.connections === 0)
    expect(peakHeld()).toBeLessThanOrEqual(20 * 1024)
    stalled.reset()
  })

  test('the gateway closes a tunnel after idleMs that both sides have ended while its client does not read', async () => {
    open({ limits: { idleMs: 400 } })
    for (const megabytes of [3, 8]) {
      const stalled = await tunnel()
      stalled.pause()
      origin.play({
        onBytes(_, write, socket) {
          write(block.repeat(megabytes))
          socket.shutdown()
        },
      })
      stalled.send('x')
      stalled.finish()
    }
    await until(() => gateway.engine.status.tunnels === 0)
    await until(() => gateway.engine.status.open === 0)
  })
})

test('the gateway relays 50 lines that a SOCKS5 client sends during its handshake as tunnel data', async () => {
  open({})
  const client = await greet(gateway.port, 'dora')
  client.send(socksRequest('127.0.0.1', origin.port))
  for (let index = 0; index < 50; index += 1) client.send('GET / HTTP/1.1\r\n')
  await client.readUntil((text) => text.length >= 14)
  await until(() => (origin.records[0]?.text.length ?? 0) === 50 * 16)
  expect(client.bytes[5]).toBe(0)
  client.reset()
})
