import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { selfSigned } from '../../../../../test/harness/self-signed.ts'
import { until } from '../../../../../test/harness/until.ts'
import { readAddress } from '../../../../core/address.ts'
import { readCertificate } from '../../../tls/certificate.ts'
import { Front } from '../../../tls/front.ts'
import { openKernel } from './kernel.ts'
import type { PlainEnd } from './messages.ts'
import { TlsPool } from './tls-pool.ts'

/** A front with TLS workers; the test takes the place of the reactor. */
function open({ count = 2, max = 100, now }: { count?: number; max?: number; now?: () => number } = {}) {
  const kernel = openKernel()
  const ends: PlainEnd[] = []
  const faults: unknown[] = []
  const onFault = (fault: unknown): void => void faults.push(fault)
  const pool = new TlsPool({
    kernel,
    count,
    maxConnections: max,
    site: undefined,
    hand: (more) => void ends.push(...more),
    onFault,
  })
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const front = new Front({
    hostname: '127.0.0.1',
    port: 0,
    certificate: () => certificate,
    max,
    ...(now && { now }),
    threads: pool,
    onTls() {},
    onFault,
    adopt: (onAccepted) => pool.listen({ hostname: '127.0.0.1', port: 0, inherited: undefined }, onAccepted),
  })
  const clients: TLSSocket[] = []
  async function join(localAddress: string): Promise<TLSSocket> {
    const options = { port: front.port, host: '127.0.0.1', localAddress, rejectUnauthorized: false }
    const client = connect(options)
    client.on('error', () => {})
    clients.push(client)
    const { promise, resolve } = Promise.withResolvers<void>()
    client.once('secureConnect', resolve)
    await promise
    return client
  }
  function closeEnds(): void {
    for (const { descriptor } of ends.splice(0)) kernel.close(descriptor)
  }
  function stop(): void {
    for (const client of clients) client.destroy()
    closeEnds()
    front.close()
    front.end()
    pool.stop()
  }
  return {
    front,
    pool,
    ends,
    closeEnds,
    faults,
    join,
    stop,
  }
}

const countDescriptors = (): number => readdirSync('/proc/self/fd').length

test('the front counts the connections of two TLS workers, and forgets those that end', async () => {
  const { front, join, ends, closeEnds, faults, stop } = open()
  try {
    const clients = await Promise.all([1, 2, 3, 4, 5, 6].map((last) => join(`127.0.0.${last}`)))
    await until(() => ends.length === 6)
    expect([front.open, front.shaking]).toEqual([6, 0])
    expect(new Set(ends.map(({ source }) => source)).size).toBe(6)
    for (const client of clients) client.destroy()
    closeEnds()
    await until(() => front.open === 0)
    expect(faults).toEqual([])
  } finally {
    stop()
  }
})

test('a TLS worker that dies closes its connections and descriptors, and another one serves', async () => {
  const { front, pool, join, ends, faults, stop } = open()
  try {
    const [one, two] = [await join('127.0.0.1'), await join('127.0.0.2')]
    await until(() => ends.length === 2)
    const closed = Promise.all([one, two].map((client) => new Promise((resolve) => client.once('close', resolve))))
    const before = countDescriptors()
    pool.terminate()
    await closed
    await until(() => front.open === 0 && pool.running === 2)
    expect(faults.map(String)).toContain('Error: a TLS worker ended and is started again')
    await Promise.all([join('127.0.0.1'), join('127.0.0.2')])
    await until(() => ends.length === 4)
    // Two more plain ends, which the test holds.
    expect(countDescriptors()).toBeLessThanOrEqual(before + 2)
  } finally {
    stop()
  }
})

test('200 half-open handshakes of an address reach no TLS worker and keep out no handshake of the same address', async () => {
  const { front, join, ends, faults, stop } = open()
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
    await until(() => ends.length === 3)
    expect([front.open, front.shaking, front.turnedAway]).toEqual([3, 0, 0])
    // At most a quarter of 100 connections waits; the others were closed.
    await until(() => halfOpen.filter((socket) => !socket.destroyed).length <= 25)
    expect(faults).toEqual([])
  } finally {
    for (const socket of halfOpen) socket.destroy()
    stop()
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

test('handshakes are answered in the order of their ClientHellos, although Bun prefers the newest', async () => {
  const { front, stop } = open()
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
    expect(Math.max(...overtaken)).toBeLessThan(16)
  } finally {
    for (const socket of sockets) socket.destroy()
    stop()
  }
})

test('a ClientHello that arrives byte by byte is served', async () => {
  const { front, ends, stop } = open()
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
    await until(() => ends.length === 1)
  } finally {
    client.destroy()
    relay.close()
    stop()
  }
})

/** Holds the messages from this thread to its workers back. Returns a function that passes them on. */
function holdMessages(): () => void {
  const original = Object.getOwnPropertyDescriptor(Worker.prototype, 'postMessage') ?? expect.unreachable()
  const held: (() => void)[] = []
  function hold(this: Worker, ...message: readonly unknown[]): void {
    held.push(() => original.value.apply(this, message))
  }
  Object.defineProperty(Worker.prototype, 'postMessage', { ...original, value: hold })
  return () => {
    Object.defineProperty(Worker.prototype, 'postMessage', original)
    for (const post of held.splice(0)) post()
  }
}

test('the front admits a fair share of each network while a TLS worker has more than 128 connections to begin, and only known clients beyond 512', async () => {
  // A clock that stays: no token bucket is refilled, and no handshake ends.
  const { front, pool, join, ends, closeEnds, faults, stop } = open({ count: 1, max: 4000, now: () => 1_000_000 })
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
  async function serveOne(): Promise<void> {
    const client = await join('127.3.0.1')
    await until(() => ends.length === 1)
    client.destroy()
    closeEnds()
    await until(() => front.open === 0)
  }
  // The worker has started.
  await serveOne()
  const descriptors = countDescriptors()
  const release = holdMessages()
  try {
    front.welcome(readAddress('127.2.0.1') ?? expect.unreachable())
    expect(await crowd('127.0.1.1', 120)).toBe(120)
    expect(pool.load).toBe('usual')
    expect(await crowd('127.0.1.2', 8)).toBe(8)
    expect([begun, pool.load]).toEqual([128, 'usual'])
    // One address has had more than its 100 tokens, the other one has not.
    expect(await crowd('127.0.1.2', 1)).toBe(1)
    expect(pool.load).toBe('busy')
    expect(await crowd('127.0.1.1', 5)).toBe(0)
    for (const last of [3, 4, 5]) expect(await crowd(`127.0.1.${last}`, 110)).toBe(100)
    expect(await crowd('127.0.1.6', 83)).toBe(83)
    expect([begun, pool.load]).toEqual([512, 'busy'])
    expect(await crowd('127.0.1.6', 1)).toBe(1)
    expect(pool.load).toBe('late')
    expect(await crowd('127.0.1.6', 3)).toBe(0)
    expect(await crowd('127.0.1.7', 3)).toBe(0)
    expect(await crowd('127.2.0.1', 2)).toBe(2)
    const served = join('127.2.0.1')
    await until(() => front.open === begun + 1)
    release()
    const client = await served
    await until(() => ends.length === 1 && pool.load === 'usual')
    client.destroy()
    for (const socket of sockets) socket.destroy()
    closeEnds()
    await until(() => front.open === 0)
    await serveOne()
    await until(() => countDescriptors() <= descriptors)
    expect([front.shaking, faults]).toEqual([0, []])
  } finally {
    release()
    for (const socket of sockets) socket.destroy()
    stop()
  }
})
