import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { selfSigned } from '../../../../../test/harness/self-signed.ts'
import { until } from '../../../../../test/harness/until.ts'
import { readCertificate } from '../../../tls/certificate.ts'
import { Front } from '../../../tls/front.ts'
import { openKernel } from './kernel.ts'
import type { PlainEnd } from './messages.ts'
import { TlsPool } from './tls-pool.ts'

/** A front with two TLS workers; the test takes the place of the reactor. */
function open() {
  const kernel = openKernel()
  const ends: PlainEnd[] = []
  const faults: unknown[] = []
  const onFault = (fault: unknown): void => void faults.push(fault)
  const pool = new TlsPool({
    kernel,
    count: 2,
    maxConnections: 100,
    site: undefined,
    lookUp() {},
    hand: (more) => void ends.push(...more),
    onFault,
  })
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const front = new Front({
    hostname: '127.0.0.1',
    port: 0,
    certificate: () => certificate,
    max: 100,
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
