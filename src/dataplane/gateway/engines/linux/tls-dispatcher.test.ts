import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { loginLine, makeEngineDeps } from '../../../../../test/harness/engine.ts'
import { longTest } from '../../../../../test/harness/long-test.ts'
import { selfSigned } from '../../../../../test/harness/self-signed.ts'
import { openTlsFront } from '../../../../../test/harness/tls-front.ts'
import { until } from '../../../../../test/harness/until.ts'
import { readAddress } from '../../../../core/address.ts'
import { readCertificate } from '../../../tls/certificate.ts'
import { makeTicketKey } from '../../../tls/openssl/ticket-keys.ts'
import { LinuxEngine } from './engine.ts'

const ticketKey = makeTicketKey()
/** On a starved machine 100 connections take longer than the 10 s that a client without a request has. */
const unhurriedMs = 3_600_000

/** A front whose connections the reactors of an engine serve. */
function open({ max = 100, now, reactors = 1 }: { max?: number; now?: () => number; reactors?: number } = {}) {
  const { deps, change, faults, answerTo } = makeEngineDeps({ limits: { handshakeMs: unhurriedMs } })
  const restarts: unknown[] = []
  const onRestart = (fault: unknown): void => void restarts.push(fault)
  const welcomed: string[] = []
  const onAdmitted = (source: string): void => {
    front.welcome(readAddress(source))
    welcomed.push(source)
  }
  const engine = new LinuxEngine({ ...deps, reactors, isStrict: true, onRestart, onAdmitted })
  answerTo(engine)
  engine.start({ hostname: '127.0.0.1', port: 0 })
  engine.changed(change, () => {})
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const opened = openTlsFront(engine, {
    certificate: () => certificate,
    max,
    ticketKeys: [ticketKey],
    ...(now && { now }),
  })
  const { front } = opened
  const dispatcher = opened.dispatcher ?? expect.unreachable()
  const clients: TLSSocket[] = []
  async function join(localAddress: string, more: ConnectionOptions = {}): Promise<TLSSocket> {
    const options = { port: front.port, host: '127.0.0.1', localAddress, rejectUnauthorized: false }
    const client = connect({ ...options, ...more })
    client.on('error', () => {})
    clients.push(client)
    await once(client, 'secureConnect')
    return client
  }
  async function stop(): Promise<void> {
    for (const client of clients) client.destroy()
    front.close()
    front.end()
    await engine.stop(0)
    expect(faults).toEqual([])
  }
  return { engine, front, dispatcher, restarts, welcomed, join, stop }
}

const countDescriptors = (): number => readdirSync('/proc/self/fd').length

test('the front counts the 6 connections of a reactor, and forgets those that end', async () => {
  const { engine, front, join, stop } = open()
  try {
    const clients = await Promise.all([1, 2, 3, 4, 5, 6].map((last) => join(`127.0.0.${last}`)))
    await until(() => engine.status.connections === 6 && front.open === 6 && front.shaking === 0)
    for (const client of clients) client.destroy()
    await until(() => front.open === 0 && engine.status.open === 0)
  } finally {
    await stop()
  }
})

test('a reactor that dies closes its TLS connections and descriptors, and the next one serves', async () => {
  const { engine, front, restarts, join, stop } = open()
  try {
    const both = [await join('127.0.0.1'), await join('127.0.0.2')]
    await until(() => engine.status.connections === 2)
    const closed = Promise.all(both.map((client) => new Promise((resolve) => client.once('close', resolve))))
    const before = countDescriptors()
    const thread = engine.threads[0] ?? expect.unreachable()
    thread.terminate()
    await closed
    await until(() => front.open === 0 && restarts.length === 1 && thread.isRunning)
    await Promise.all([join('127.0.0.1'), join('127.0.0.2')])
    await until(() => engine.status.connections === 2)
    await until(() => countDescriptors() <= before)
  } finally {
    await stop()
  }
})

test('clients reach the reactor past the main thread while there is room, and the front ends one too many of a network', async () => {
  const { engine, front, dispatcher, join, stop } = open({ reactors: 2 })
  try {
    await until(() => engine.threads.every(({ memory }) => memory.isServing && memory.isDirect))
    let judgedFirst = 0
    const begin = dispatcher.begin.bind(dispatcher)
    dispatcher.begin = (...client) => {
      judgedFirst += 1
      return begin(...client)
    }
    const clients = []
    for (let count = 0; count < 32; count += 1) clients.push(await join('127.0.0.1'))
    await until(() => front.open === 32 && front.shaking === 0)
    // It is reset within its handshake or after it.
    const closed = join('127.0.0.1').then((oneMore) => new Promise((resolve) => oneMore.once('close', resolve)))
    await closed.catch(() => {})
    await until(() => front.turnedAway === 1)
    expect([judgedFirst, front.open]).toEqual([0, 32])
    const other = await join('127.0.0.2')
    await until(() => front.open === 33)
    for (const client of [...clients, other]) client.destroy()
    await until(() => front.open === 0 && engine.status.open === 0)
    expect(engine.threads.map(({ memory }) => [memory.unjudged, memory.shaking])).toEqual([
      [0, 0],
      [0, 0],
    ])
  } finally {
    await stop()
  }
})

const connectionsOf = ({ threads }: LinuxEngine): number[] => threads.map(({ memory }) => memory.status.connections)

longTest(
  '100 TLS connections divide over 2 reactors: each has 40 to 60, and the death of one ends only its own',
  async () => {
    const { engine, front, restarts, join, stop } = open({ max: 1000, reactors: 2 })
    try {
      await until(() => engine.threads.every(({ memory }) => memory.isServing))
      let closed = 0
      for (let count = 0; count < 100; count += 1) {
        const client = await join(`127.0.0.${1 + (count % 4)}`)
        client.once('close', () => void (closed += 1))
      }
      await until(() => engine.status.connections === 100)
      const own = connectionsOf(engine)
      for (const each of own) expect(each).toBeWithin(40, 61)
      engine.threads[1]?.terminate()
      await until(() => restarts.length === 1 && closed === own[1])
      expect(connectionsOf(engine)[0]).toBe(own[0] ?? 0)
      await until(() => front.open === own[0] && engine.threads.every(({ memory }) => memory.isServing))
      // The new reactor has fewer, so it gets most.
      for (let count = 0; count < 20; count += 1) await join('127.0.0.5')
      await until(() => (connectionsOf(engine)[1] ?? 0) > 5)
    } finally {
      await stop()
    }
  },
)

/** A CONNECT tunnel over TLS, with a few bytes that its origin has returned. */
async function openTlsTunnel(client: TLSSocket, to: number) {
  let received = 0
  let isClosed = false
  client.on('data', (bytes: Buffer) => void (received += bytes.length))
  client.once('close', () => void (isClosed = true))
  client.write(`CONNECT 127.0.0.1:${to} HTTP/1.1\r\n${loginLine('pavel-pool-residential')}\r\n`)
  await until(() => received > 0 || isClosed)
  const head = received
  let sent = 0
  return {
    isClosed: () => isClosed,
    /** False if the tunnel is closed before all bytes are back. */
    async echo(): Promise<boolean> {
      sent += 100
      client.write(Buffer.alloc(100))
      await until(() => received >= head + sent || isClosed)
      return received === head + sent
    },
  }
}

test('the death of one of 2 reactors ends only its own of 60 TLS tunnels, and all bytes are counted once', async () => {
  const { engine, restarts, join, stop } = open({ max: 1000, reactors: 2 })
  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket))
  try {
    await once(echo.listen(0, '127.0.0.1'), 'listening')
    const { port } = echo.address() as AddressInfo
    await until(() => engine.threads.every(({ memory }) => memory.isServing))
    const tunnels: Awaited<ReturnType<typeof openTlsTunnel>>[] = []
    for (let count = 0; count < 60; count += 1) {
      tunnels.push(await openTlsTunnel(await join(`127.0.0.${1 + (count % 4)}`), port))
    }
    expect(await Promise.all(tunnels.map((each) => each.echo()))).toEqual(tunnels.map(() => true))
    let counted = 0
    const readCounts = (): number => {
      for (const { received, sent } of engine.dataPath.takeChanged().subusers) counted = received + sent
      return counted
    }
    await until(() => readCounts() === 60 * 200)
    const [left = 0, gone = 0] = engine.threads.map(({ memory }) => memory.status.tunnels)
    engine.threads[1]?.terminate()
    await until(() => restarts.length === 1 && tunnels.filter((each) => each.isClosed()).length === gone)
    const others = tunnels.filter((each) => !each.isClosed())
    expect([others.length, left + gone]).toEqual([left, 60])
    expect(await Promise.all(others.map((each) => each.echo()))).toEqual(others.map(() => true))
    await until(() => engine.threads.every(({ memory }) => memory.isServing))
    const next = await openTlsTunnel(await join('127.0.0.5'), port)
    expect(await next.echo()).toBeTrue()
    await until(() => readCounts() === (60 + left + 1) * 200)
  } finally {
    echo.close()
    await stop()
  }
})

test('an origin that has half-closed gets all 300 KB that a client over TLS sends before its own end', async () => {
  const { engine, join, stop } = open()
  let received = 0
  let outcome = ''
  const taken: Socket[] = []
  const origin = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    taken.push(socket)
    socket.on('data', (bytes: Buffer) => void (received += bytes.length))
    socket.once('end', () => void (outcome ||= 'ended'))
    socket.once('error', (error) => void (outcome ||= String(error)))
    socket.end()
  })
  try {
    await once(origin.listen(0, '127.0.0.1'), 'listening')
    const { port } = origin.address() as AddressInfo
    const client = await join('127.0.0.1', { allowHalfOpen: true } as ConnectionOptions)
    const ended = once(client, 'end')
    client.resume()
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${loginLine('pavel-pool-residential')}\r\n`)
    await ended
    client.end(Buffer.alloc(300_000))
    // The gateway has both ends and has passed everything to its kernel.
    await until(() => engine.status.tunnels === 0)
    taken[0]?.resume()
    await until(() => outcome !== '')
    expect([outcome, received]).toEqual(['ended', 300_000])
  } finally {
    origin.close()
    await stop()
  }
})

test('a session of one reactor resumes at 2 reactors, and after new ticket keys, at a restarted reactor too', async () => {
  const { engine, dispatcher, restarts, join, stop } = open({ max: 1000, reactors: 2 })
  try {
    await until(() => engine.threads.every(({ memory }) => memory.isServing))
    const first = await join('127.0.0.1')
    const ticket = once(first, 'session') as Promise<[Buffer]>
    // Tickets travel with the answer.
    first.write('GET / HTTP/1.1\r\n\r\n')
    const [session] = await ticket
    first.destroy()
    const resume = async (): Promise<void> => {
      const clients = []
      for (let count = 0; count < 12; count += 1) clients.push(await join('127.0.0.1', { session }))
      expect(clients.map((client) => client.isSessionReused())).toEqual(clients.map(() => true))
      await until(() => connectionsOf(engine).every((each) => each > 0))
      for (const client of clients) client.destroy()
      await until(() => engine.status.open === 0)
    }
    await resume()
    dispatcher.setTicketKeys([makeTicketKey(), ticketKey])
    for (const thread of engine.threads) thread.terminate()
    await until(() => restarts.length === 2 && engine.threads.every(({ memory }) => memory.isServing))
    await resume()
  } finally {
    await stop()
  }
})

test('20 clients that break off before they read their session ticket are billed 0 bytes', async () => {
  const { engine, join, stop } = open({ reactors: 2 })
  const silent = createServer(() => {})
  try {
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    const { port } = silent.address() as AddressInfo
    for (let count = 0; count < 20; count += 1) {
      const client = await join('127.0.0.1')
      client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n${loginLine('pavel-pool-residential')}\r\n`)
      await until(() => engine.status.tunnels === 1)
      client.destroy()
      await until(() => engine.status.open === 0 && engine.status.settling === 0)
    }
    const counts = engine.dataPath.takeChanged().subusers
    expect(counts.reduce((sum, { received, sent }) => sum + received + sent, 0)).toBe(0)
  } finally {
    silent.close()
    await stop()
  }
})

test('200 half-open handshakes of an address do not reach the reactor and keep out no handshake of the same address', async () => {
  const { engine, front, join, stop } = open()
  const halfOpen: Socket[] = []
  try {
    const beginning = Uint8Array.of(22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3)
    for (let count = 0; count < 200; count += 1) {
      const socket = connectPlain({ port: front.port, host: '127.0.0.1', localAddress: '127.0.0.1' })
      socket.on('error', () => {})
      socket.resume()
      halfOpen.push(socket)
      await once(socket, 'connect')
      socket.write(beginning)
    }
    await Promise.all([1, 2, 3].map(() => join('127.0.0.1')))
    await until(() => engine.status.connections === 3 && front.open === 3 && front.shaking === 0)
    expect(front.turnedAway).toBe(0)
    // At most a quarter of 100 connections waits; the others were closed.
    await until(() => halfOpen.filter((socket) => !socket.destroyed).length <= 25)
  } finally {
    for (const socket of halfOpen) socket.destroy()
    await stop()
  }
})

/** The ClientHello of a real client. */
async function catchClientHello(): Promise<Buffer> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  client.on('error', () => {})
  const [taken]: Socket[] = await once(server, 'connection')
  const [hello]: Buffer[] = await once(taken ?? expect.unreachable(), 'data')
  taken?.destroy()
  client.destroy()
  server.close()
  return hello ?? expect.unreachable()
}

test('handshakes are answered in the order of their ClientHellos', async () => {
  const { engine, front, stop } = open()
  // A reactor that still starts would answer its first clients after all others.
  await until(() => engine.threads.every(({ memory }) => memory.isServing && memory.isDirect))
  const hello = await catchClientHello()
  const sockets: Socket[] = []
  const answered: number[] = []
  try {
    const all = Array.from({ length: 30 }, async (_, index) => {
      const socket = connectPlain({ port: front.port, host: '127.0.0.1' })
      sockets.push(socket)
      socket.write(hello)
      await once(socket, 'data')
      answered.push(index)
    })
    await Promise.all(all)
    const overtaken = answered.map((one, at) => answered.slice(0, at).filter((other) => other > one).length)
    // Some may go by the main thread, which the others pass. In the reverse order, 14 would be overtaken.
    expect(overtaken.filter((count) => count >= 16).length).toBeLessThan(8)
  } finally {
    for (const socket of sockets) socket.destroy()
    await stop()
  }
})

test('a ClientHello that arrives byte by byte is served', async () => {
  const { engine, front, stop } = open()
  const relay = createServer((client) => {
    const server = connectPlain(front.port, '127.0.0.1')
    server.setNoDelay(true)
    client.on('data', (bytes: Buffer) => void sendSlowly(server, bytes))
    server.on('data', (bytes: Buffer) => client.write(bytes))
    for (const socket of [client, server]) socket.on('error', () => {})
    client.on('close', () => server.destroy())
  })
  /** Each byte in a segment of its own. */
  async function sendSlowly(server: Socket, bytes: Buffer): Promise<void> {
    for (const byte of bytes) {
      server.write(Uint8Array.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  const { port } = relay.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  try {
    await once(client, 'secureConnect')
    await until(() => engine.status.connections === 1)
  } finally {
    client.destroy()
    relay.close()
    await stop()
  }
})

/** Holds the messages about TLS to the reactor back. Returns a function that passes them on. */
function holdMessages({ threads }: LinuxEngine): () => void {
  const thread = threads[0] ?? expect.unreachable()
  const post = thread.post.bind(thread)
  const held: (() => void)[] = []
  thread.post = (message) => {
    if (message.type === 'tls') held.push(() => post(message))
    else post(message)
  }
  return () => {
    thread.post = post
    for (const pass of held.splice(0)) pass()
  }
}

test('the front admits a fair share of each network while the reactor has more than 128 connections to begin, and only known clients beyond 512', async () => {
  // A clock that stays: no token bucket is refilled, and no handshake ends.
  const { engine, front, dispatcher, welcomed, join, stop } = open({ max: 4000, now: () => 1_000_000 })
  // The front judges each client before its handshake.
  dispatcher.allowDirect = () => {}
  const sockets: Socket[] = []
  // A whole ClientHello that no TLS library understands.
  const hello = Uint8Array.of(22, 3, 1, 0, 5, 1, 0, 0, 1, 0)
  let begun = 0
  /** Connects so many clients. Resolves with how many were admitted. */
  async function crowd(localAddress: string, count: number): Promise<number> {
    const before = { open: front.open, turnedAway: front.turnedAway }
    const countAdmitted = (): number => front.open - before.open
    for (let each = 0; each < count; each += 1) {
      const socket = connectPlain({ port: front.port, host: '127.0.0.1', localAddress })
      socket.on('error', () => {})
      socket.write(hello)
      sockets.push(socket)
    }
    await until(() => countAdmitted() + front.turnedAway - before.turnedAway === count)
    begun += countAdmitted()
    return countAdmitted()
  }
  /** Serves a client, and waits until nothing of it is left. */
  async function serveOne(login = '', from = '127.2.0.1'): Promise<void> {
    const client = await join(from)
    client.write(`CONNECT 127.0.0.1:1 HTTP/1.1\r\n${login}\r\n`)
    await once(client, 'data')
    await until(() => engine.status.connections === 1)
    client.destroy()
    await until(() => front.open === 0)
  }
  // The reactor has started.
  await serveOne()
  expect(welcomed).toEqual([])
  await serveOne(loginLine('anna'))
  await serveOne(loginLine('anna'), '127.2.0.2')
  await until(() => welcomed.length === 2)
  const descriptors = countDescriptors()
  const release = holdMessages(engine)
  try {
    expect(await crowd('127.0.1.1', 120)).toBe(120)
    expect(dispatcher.load).toBe('usual')
    expect(await crowd('127.0.1.2', 8)).toBe(8)
    expect([begun, dispatcher.load]).toEqual([128, 'usual'])
    // One address has had more than its 100 tokens, the other one has not.
    expect(await crowd('127.0.1.2', 1)).toBe(1)
    expect(dispatcher.load).toBe('busy')
    expect(await crowd('127.0.1.1', 5)).toBe(0)
    // A known address, whose customer has connected once, has its share as well.
    expect(await crowd('127.2.0.2', 110)).toBe(99)
    for (const last of [3, 4]) expect(await crowd(`127.0.1.${last}`, 110)).toBe(100)
    expect(await crowd('127.0.1.6', 84)).toBe(84)
    expect([begun, dispatcher.load]).toEqual([512, 'busy'])
    expect(await crowd('127.0.1.6', 1)).toBe(1)
    expect(dispatcher.load).toBe('late')
    expect(await crowd('127.0.1.6', 3)).toBe(0)
    expect(await crowd('127.0.1.7', 3)).toBe(0)
    expect(await crowd('127.2.0.1', 2)).toBe(2)
    const served = join('127.2.0.1')
    await until(() => front.open === begun + 1)
    release()
    const client = await served
    await until(() => engine.status.connections === 1 && dispatcher.load === 'usual')
    client.destroy()
    for (const socket of sockets) socket.destroy()
    await until(() => front.open === 0)
    await serveOne()
    await until(() => countDescriptors() <= descriptors)
    expect(front.shaking).toBe(0)
  } finally {
    release()
    for (const socket of sockets) socket.destroy()
    await stop()
  }
})
