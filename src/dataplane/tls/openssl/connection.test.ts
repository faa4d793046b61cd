import { toArrayBuffer } from 'bun:ffi'
import { expect, test } from 'bun:test'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { selfSigned, selfSignedShop } from '../../../../test/harness/self-signed.ts'
import { until } from '../../../../test/harness/until.ts'
import { readCertificate } from '../certificate.ts'
import { readBytes, TlsBuffers, writeBytes } from './buffers.ts'
import { TlsConnection } from './connection.ts'
import { TlsCallbacks, TlsContext } from './context.ts'
import { openLibrary } from './library.ts'
import { makeTicketKey } from './ticket-keys.ts'

const library = openLibrary()
const thread = { library, buffers: new TlsBuffers(library) }
const callbacks = new TlsCallbacks(library, true)
callbacks.setTicketKeys([makeTicketKey()])
const certificates = [selfSigned, selfSignedShop].map(({ cert, key }) => readCertificate(cert, key))
const context = new TlsContext(callbacks, certificates)

/** A server connection and a client of Bun that reach each other through memory. `room` is what the wire takes. */
function join(options: ConnectionOptions = {}, of = context) {
  const wire = { room: Number.POSITIVE_INFINITY, sent: 0 }
  const seen = { plain: Buffer.alloc(0), sends: 0 }
  const toServer = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length && !connection.isFreed; at += readBytes) {
      const part = bytes.subarray(at, at + readBytes)
      thread.buffers.fillInput(part)
      const got = connection.receive(part.length)
      seen.plain = Buffer.concat([seen.plain, thread.buffers.plain.subarray(0, got)])
    }
  }
  const duplex = new Duplex({
    read() {},
    write(bytes: Uint8Array, _, done) {
      toServer(bytes)
      done()
    },
  })
  const send = (address: number, bytes: number): number => {
    const taken = Math.min(bytes, wire.room)
    wire.room -= taken
    wire.sent += taken
    seen.sends += 1
    if (taken > 0) duplex.push(Buffer.from(toArrayBuffer(address as never, 0, taken)).slice())
    return taken
  }
  const connection = new TlsConnection(thread, of, { send })
  const client: TLSSocket = connect({ socket: duplex, rejectUnauthorized: false, ...options })
  client.on('error', () => {})
  const received: Buffer[] = []
  client.on('data', (bytes: Buffer) => void received.push(bytes))
  return { connection, client, wire, seen, toServer, received: () => Buffer.concat(received) }
}

async function joined(options: ConnectionOptions = {}, of = context) {
  const both = join(options, of)
  await once(both.client, 'secureConnect')
  await until(() => both.connection.state === 'open')
  return both
}

const versions = ['TLSv1.2', 'TLSv1.3'] as const

for (const version of versions)
  test(`${version}: 3 MB pass in each direction, and each side learns that the other has ended`, async () => {
    const { connection, client, seen, received } = await joined({ minVersion: version, maxVersion: version })
    const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)))
    const all = Buffer.concat(Array.from({ length: 50 }, () => bytes))
    expect(client.getProtocol()).toBe(version)
    expect(connection.write(all)).toBe(all.length)
    await until(() => received().length === all.length)
    expect(received().equals(all)).toBeTrue()
    client.write(all)
    await until(() => seen.plain.length === all.length)
    expect(seen.plain.equals(all)).toBeTrue()
    connection.shutdown()
    await once(client, 'end')
    client.end()
    await until(() => connection.hasEnded)
    connection.free()
  })

test('the certificate, the protocol and the name follow the ClientHello', async () => {
  const options = { servername: 'Shop.Test', ALPNProtocols: ['h2', 'http/1.1'] }
  const { connection, client } = await joined(options)
  expect(client.getPeerCertificate().subject.CN).toBe('shop.test')
  expect([connection.protocol, connection.serverName]).toEqual(['h2', 'shop.test'])
  connection.free()
  const other = await joined({ servername: 'other.test', ALPNProtocols: ['http/1.1'] })
  expect(other.client.getPeerCertificate().subject.CN).toBe('localhost')
  expect([other.connection.protocol, other.connection.serverName]).toEqual(['http/1.1', 'other.test'])
  other.connection.free()
})

for (const version of versions)
  test(`${version}: a session resumes with another context of the same ticket keys, with an older key too, not with others`, async () => {
    const keys = [makeTicketKey(), makeTicketKey()]
    const options = { minVersion: version, maxVersion: version }
    const first = join(options)
    const ticket = once(first.client, 'session') as Promise<[Buffer]>
    callbacks.setTicketKeys(keys)
    await once(first.client, 'secureConnect')
    await until(() => first.connection.state === 'open')
    first.connection.write(Buffer.from('hello'))
    const [session] = await ticket
    first.connection.free()
    const isReused = async () => {
      const other = new TlsContext(callbacks, certificates)
      const { client, connection } = await joined({ ...options, session }, other)
      other.free()
      connection.free()
      return client.isSessionReused()
    }
    expect(await isReused()).toBeTrue()
    callbacks.setTicketKeys(keys.toReversed())
    expect(await isReused()).toBeTrue()
    callbacks.setTicketKeys([makeTicketKey()])
    expect(await isReused()).toBeFalse()
  })

for (const version of versions)
  test(`${version}: a session resumes under its own name only, and the name is that of the current ClientHello`, async () => {
    callbacks.setTicketKeys([makeTicketKey()])
    const options = { minVersion: version, maxVersion: version }
    const first = join({ ...options, servername: 'shop.test' })
    const [session] = (await once(first.client, 'session')) as [Buffer]
    first.connection.free()
    for (const servername of ['shop.test', 'other.test', undefined]) {
      const { client, connection } = await joined({ ...options, session, ...(servername && { servername }) })
      expect([connection.serverName, client.isSessionReused()]).toEqual([servername, servername === 'shop.test'])
      connection.free()
    }
  })

test('a full wire keeps at most one write of 64.25 KiB, takes no more bytes, and sends the rest later', async () => {
  const { connection, wire, received } = await joined()
  const bytes = Buffer.alloc(200_000, 'b')
  wire.room = 10_000
  expect(connection.write(bytes)).toBe(writeBytes)
  expect([connection.isFull, connection.write(bytes)]).toEqual([true, 0])
  wire.room = 20_000
  expect(connection.flush()).toBeFalse()
  wire.room = Number.POSITIVE_INFINITY
  expect(connection.flush()).toBeTrue()
  expect(connection.write(bytes.subarray(writeBytes))).toBe(bytes.length - writeBytes)
  await until(() => received().length === bytes.length)
  expect(received().equals(bytes)).toBeTrue()
  connection.free()
})

test('a freed connection or context refuses every call, and leaves the others working', async () => {
  const [gone, left] = [await joined(), await joined()]
  gone.connection.free()
  const calls = [
    () => gone.connection.free(),
    () => gone.connection.receive(0),
    () => gone.connection.write(Buffer.from('x')),
    () => gone.connection.shutdown(),
    () => gone.connection.flush(),
    () => gone.connection.protocol,
    () => gone.connection.serverName,
  ]
  for (const call of calls) expect(call).toThrow('this TLS connection is freed already')
  const other = new TlsContext(callbacks, certificates)
  other.free()
  expect(() => other.address).toThrow('this TLS context is freed already')
  left.connection.write(Buffer.from('still'))
  await until(() => left.received().toString() === 'still')
  left.connection.free()
})

test('garbage and a broken record fail one connection with an alert, and leave the shared buffers empty', async () => {
  const broken = join()
  broken.toServer(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  expect([broken.connection.state, broken.connection.problem]).toEqual(['failed', expect.stringContaining('SSL')])
  const late = await joined()
  late.toServer(Buffer.concat([Buffer.from([23, 3, 3, 0, 40]), Buffer.alloc(40), Buffer.alloc(5000)]))
  expect(late.connection.state).toBe('failed')
  expect(thread.buffers.pending).toBe(0)
  for (const { connection } of [broken, late]) connection.free()
  const next = await joined()
  next.connection.write(Buffer.from('fine'))
  await until(() => next.received().toString() === 'fine')
  next.connection.free()
})

/** The ClientHello of a client that never continues. */
function catchHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>()
  const duplex = new Duplex({
    read() {},
    write(bytes: Buffer, _, done) {
      resolve(Buffer.from(bytes))
      done()
    },
  })
  connect({ socket: duplex, rejectUnauthorized: false }).on('error', () => {})
  return promise
}

test('4,000 handshakes that break off after the ClientHello leave no memory behind: below 1 KB each', async () => {
  const hello = await catchHello()
  function breakOff(): void {
    thread.buffers.fillInput(hello)
    const connection = new TlsConnection(thread, context, { send: (_, bytes) => bytes })
    connection.receive(hello.length)
    expect([connection.state, connection.produced > 0]).toEqual(['handshake', true])
    connection.free()
  }
  for (let count = 0; count < 1000; count += 1) breakOff()
  Bun.gc(true)
  const before = process.memoryUsage.rss()
  for (let count = 0; count < 4000; count += 1) breakOff()
  Bun.gc(true)
  expect((process.memoryUsage.rss() - before) / 4000).toBeLessThan(1024)
})
