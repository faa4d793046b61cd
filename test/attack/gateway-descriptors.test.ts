import { dlopen, ptr } from 'bun:ffi'
import { afterAll, afterEach, beforeAll, describe, expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Socket, TCPSocketListener } from 'bun'
import {
  gatewayReactors,
  loginLine,
  openEngine,
  type TestGateway,
  type TestGatewayOptions,
  until,
} from '../harness/engine.ts'
import { findNetnsSupport } from '../harness/netns-support.ts'
import { enterOwnNetwork, type OwnNetwork } from '../harness/own-network.ts'
import { openUserTcp, type UserConnection, type UserTcp } from '../harness/user-tcp.ts'

const { test, isPossible } = await findNetnsSupport('tests with a TCP of their own')
const origin4 = '45.12.0.2'
/** Packets to this address go into the device and get no answer. */
const silent4 = '45.99.0.9'
const openFiles = 7
const hourMs = 3_600_000

let network: OwnNetwork
let machine: UserTcp
let origin: TCPSocketListener
let gateway: TestGateway

const libc = dlopen('libc.so.6', {
  dup: { args: ['i32'], returns: 'i32' },
  close: { args: ['i32'], returns: 'i32' },
  getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
}).symbols

/** Connections of this network in state SYN_SENT. */
const synSent = (): number =>
  readFileSync('/proc/thread-self/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => line.trim().split(/\s+/)[3] === '02').length

function open(options: TestGatewayOptions = {}): void {
  const machineAddresses = { hostname: machine.address, leaveFrom: machine.address }
  // No client is closed for being silent.
  const limits = { handshakeMs: hourMs, betweenRequestsMs: hourMs, ...options.limits }
  gateway = openEngine({
    ...machineAddresses,
    mode: 'production',
    policy: { ownAddresses: [], allowLocalDelivery: true },
    ...options,
    limits,
  })
}

const connectTo = (to: string, login: string): string =>
  `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${loginLine(login)}\r\n`

async function ask(to: string, login = 'anna', from = 1): Promise<UserConnection> {
  const client = await machine.connect(gateway.port, { machine: from })
  client.send(connectTo(to, login))
  return client
}

/** The status, and the name of the refusal if it is one. */
async function answerOf(client: UserConnection): Promise<string> {
  await client.readUntil(({ text }) => text.includes('\r\n\r\n'))
  const error = /X-Turnpike-Error: (\S+)/i.exec(client.text)?.[1]
  return `${client.text.slice(9, 12)}${error === undefined ? '' : ` ${error}`}`
}

/** Takes all descriptors that the process may have, except so many; the returned function releases them. */
function takeFilesExcept(count: number): () => void {
  const limits = new BigUint64Array(2)
  libc.getrlimit(openFiles, ptr(limits))
  const [soft = 0n] = limits
  limits[0] = 1000n
  libc.setrlimit(openFiles, ptr(limits))
  const taken: number[] = []
  for (let descriptor = libc.dup(0); descriptor >= 0; descriptor = libc.dup(0)) taken.push(descriptor)
  for (const descriptor of taken.splice(0, count)) libc.close(descriptor)
  return () => {
    limits[0] = soft
    libc.setrlimit(openFiles, ptr(limits))
    for (const descriptor of taken) libc.close(descriptor)
  }
}

describe('file descriptors of the gateway', () => {
  beforeAll(() => {
    if (!isPossible) return
    network = enterOwnNetwork()
    network.ip('address', 'add', `${origin4}/32`, 'dev', 'lo')
    machine = openUserTcp(network)
    network.ip('route', 'add', '45.99.0.0/16', 'dev', 'usertcp')
    const socket = { data: (from: Socket) => void from.end('hello') }
    origin = Bun.listen({ hostname: origin4, port: 0, socket })
  })

  afterAll(() => {
    if (!isPossible) return
    machine.close()
    origin.stop(true)
    network.leave()
  })

  afterEach(async () => {
    if (isPossible) await gateway.stop()
  })

  test('100 dials without an answer leave no socket after the customer got 504 connect_timeout', async () => {
    open({ limits: { connectMs: 500 } })
    const clients = await Promise.all(Array.from({ length: 100 }, () => ask(`${silent4}:80`)))
    await until(() => synSent() > 0)
    await until(() => gateway.engine.status.dialling > 0)
    for (const client of clients) expect(await answerOf(client)).toBe('504 connect_timeout')
    await until(() => gateway.engine.status.dialling === 0)
    await until(() => synSent() === 0)
    expect(gateway.engine.dataPath.health.tunnels).toBe(0)
    for (const client of clients) client.reset()
  })

  test('20 pending dials count as tunnels of their customer, also after the client has disconnected', async () => {
    open({ limits: { connectMs: hourMs }, customer: { tunnels: 20 } })
    const gone = await Promise.all(Array.from({ length: 20 }, () => ask(`${silent4}:80`)))
    await until(() => gateway.engine.status.dialling === 20 && synSent() === 20)
    expect(gateway.engine.dataPath.health.tunnels).toBe(20)
    for (const client of gone) client.reset()
    await until(() => gateway.engine.status.open === 0)
    const another = await ask(`${origin4}:${origin.port}`)
    expect(await answerOf(another)).toBe('429 too_many_tunnels')
    const otherCustomer = await ask(`${origin4}:${origin.port}`, 'boris')
    expect(await answerOf(otherCustomer)).toBe('200')
    for (const client of [another, otherCustomer]) client.reset()
  })

  test('20 failed dials no longer count as tunnels of their customer', async () => {
    open({ limits: { connectMs: 300 }, customer: { tunnels: 20 } })
    const clients = await Promise.all(Array.from({ length: 20 }, () => ask(`${silent4}:80`)))
    for (const client of clients) expect(await answerOf(client)).toBe('504 connect_timeout')
    await until(() => gateway.engine.status.dialling === 0)
    const later = await ask(`${origin4}:${origin.port}`)
    expect(await answerOf(later)).toBe('200')
    for (const client of [...clients, later]) client.reset()
  })

  test('the gateway answers 503 gateway_full to a valid request at the limit of open files', async () => {
    open()
    const clients = await Promise.all(Array.from({ length: 5 }, () => machine.connect(gateway.port)))
    await until(() => gateway.engine.status.open === clients.length)
    const releaseFiles = takeFilesExcept(0)
    try {
      // A connection of an earlier test file in this process may close now: a tunnel takes its descriptor.
      const answers: string[] = []
      for (const client of clients) {
        client.send(connectTo(`${origin4}:${origin.port}`, 'anna'))
        answers.push(await answerOf(client))
        if (answers.at(-1) !== '200') break
      }
      expect(answers.at(-1)).toBe('503 gateway_full')
    } finally {
      releaseFiles()
    }
    await until(() => gateway.engine.status.starved === 1)
    const later = await ask(`${origin4}:${origin.port}`)
    expect(await answerOf(later)).toBe('200')
    later.reset()
    for (const client of clients) client.reset()
  })

  test('60 idle connections of one source leave room for other sources and for customers behind the same address', async () => {
    open({ limits: { connections: 40 } })
    const idle = await Promise.all(Array.from({ length: 60 }, () => machine.connect(gateway.port)))
    await until(() => gateway.engine.status.spared >= 40 && gateway.engine.status.connections === 20)
    for (const from of [1, 2]) {
      const client = await ask(`${origin4}:${origin.port}`, 'anna', from)
      expect(await answerOf(client)).toBe('200')
      client.reset()
    }
    for (const client of idle) client.reset()
  })

  test('the gateway closes the oldest of 200 idle unauthenticated clients for a customer, and none of 10 tunnels', async () => {
    open({ limits: { connections: 40 } })
    const tunnels = await Promise.all(Array.from({ length: 10 }, () => ask(`${origin4}:${origin.port}`)))
    for (const client of tunnels) expect(await answerOf(client)).toBe('200')
    const unknownClients = await Promise.all(
      Array.from({ length: 200 }, (_, index) => machine.connect(gateway.port, { machine: 10 + index })),
    )
    expect(gateway.engine.status.open).toBeLessThanOrEqual(48)
    // Each reactor evicts its oldest.
    const oldest = unknownClients.slice(0, gatewayReactors === 1 ? 1 : 20)
    // An idle unauthenticated client is kept for 1 s; then a new customer takes its slot.
    let client = await ask(`${origin4}:${origin.port}`, 'boris', 2)
    for (let tries = 0; tries < 5000 && (await answerOf(client)) !== '200'; tries += 1) {
      client = await ask(`${origin4}:${origin.port}`, 'boris', 2)
    }
    expect(await answerOf(client)).toBe('200')
    // Another reactor evicts a moment later.
    await until(() => oldest.some(({ isReset }) => isReset))
    expect(tunnels.filter(({ isReset }) => isReset)).toEqual([])
    await until(() => gateway.engine.status.tunnels === 11)
    for (const each of [...tunnels, ...unknownClients, client]) each.reset()
  })

  test('the gateway counts a closed, unacknowledged connection towards its limit and drops it when it is full', async () => {
    open({ limits: { connections: 20 } })
    for (let count = 0; count < 40; count += 1) {
      const client = await ask(`${origin4}:${origin.port}`, 'pavel-pool-residential')
      expect(await answerOf(client)).toBe('200')
      client.ackPolicy = 'none'
      client.send('x')
      client.finish()
      client.drop()
    }
    expect(gateway.engine.status.settling).toBeGreaterThan(0)
    // Another reactor evicts a moment later.
    await until(() => gateway.engine.status.open + gateway.engine.status.settling <= 22)
    const client = await ask(`${origin4}:${origin.port}`, 'anna', 2)
    expect(await answerOf(client)).toBe('200')
    client.reset()
  })
})
