import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { type AddressInfo, connect as connectPlain, createServer, type Server } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { selfSigned } from '../../../test/harness/self-signed.ts'
import { until } from '../../../test/harness/until.ts'
import { countHandshake, createSockets } from '../gateway/relay/sockets.ts'
import { readCertificate } from './certificate.ts'
import { Front } from './front.ts'
import type { TlsSocket } from './tls-socket.ts'

const headBytes = 5
/** Bytes of a record before and after its plaintext (RFC 8446, 5.2; RFC 5288, 3). */
const around = { 'TLSv1.3': [headBytes, 17], 'TLSv1.2': [headBytes + 8, 16] } as const
type Version = keyof typeof around

/** Where the last `plaintext` bytes of a server's stream are: start and length of the content of each record. */
function contentsOf(stream: Buffer, version: Version, plaintext: number): { start: number; length: number }[] {
  const [before, behind] = around[version]
  const contents: { start: number; length: number }[] = []
  for (let at = 0; at < stream.length; ) {
    const recordBytes = headBytes + stream.readUInt16BE(at + 3)
    contents.push({ start: at + before, length: recordBytes - before - behind })
    at += recordBytes
  }
  let left = plaintext
  const from = contents.findLastIndex(({ length }) => (left -= length) === 0)
  return contents.slice(from)
}

describe('plaintext of a TLS connection', () => {
  const sockets = createSockets(process.platform)
  const certificate = readCertificate(selfSigned.cert, selfSigned.key)
  const opened: TlsSocket[] = []
  let front: Front
  let relay: Server
  let stream: Buffer[] = []
  /** Bytes of the server that reach no client yet. */
  let isHeld = false
  let release: () => void = () => {}
  beforeAll(async () => {
    front = new Front({
      hostname: '127.0.0.1',
      port: 0,
      certificate: () => certificate,
      max: 100,
      onTls(tls) {
        countHandshake(tls, sockets)
        opened.push(tls)
      },
      onFault: (fault) => expect(fault).toBeUndefined(),
    })
    relay = createServer((client) => {
      const server = connectPlain(front.port, '127.0.0.1')
      stream = []
      client.on('data', (bytes: Buffer) => server.write(bytes))
      server.on('data', (bytes: Buffer) => {
        stream.push(bytes)
        client.write(bytes)
        if (isHeld) server.pause()
      })
      release = () => {
        isHeld = false
        server.resume()
      }
      for (const socket of [client, server]) socket.on('error', () => {})
      client.on('close', () => server.destroy())
    })
    await once(relay.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(() => {
    relay.close()
    front.close()
    front.end()
  })

  async function open(version: Version, session?: Buffer): Promise<{ client: TLSSocket; tls: TlsSocket }> {
    const { port } = relay.address() as AddressInfo
    const options = { port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: version, minVersion: version }
    const client = connect({ ...options, ...(session && { session }) })
    client.on('error', () => {})
    await once(client, 'secureConnect')
    await until(() => opened.length > 0)
    return { client, tls: opened.pop() ?? expect.unreachable() }
  }

  /** Writes all parts until the client has read them. Resolves with whether the kernel took less than the first one. */
  async function pass({ client, tls }: { client: TLSSocket; tls: TlsSocket }, parts: readonly number[]) {
    let read = 0
    client.on('data', (bytes: Buffer) => void (read += bytes.length))
    const waiting = parts.map((bytes) => Buffer.alloc(bytes, 97))
    const push = (): void => {
      for (let [part] = waiting; part; [part] = waiting) {
        const gone = Math.max(0, tls.write(part))
        if (gone < part.length) {
          waiting[0] = part.subarray(gone)
          return
        }
        waiting.shift()
      }
    }
    tls.owner = { onSocketData() {}, onSocketDrain: push, onSocketEnd() {}, onSocketClose() {} }
    push()
    const isCut = waiting.length === parts.length
    release()
    const total = parts.reduce((sum, bytes) => sum + bytes, 0)
    await until(() => read === total)
    return isCut
  }

  test.each([
    ['TLSv1.3', 'a short answer', [100, 200]],
    ['TLSv1.3', 'a first write of 100,000 bytes', [100_000, 10]],
    ['TLSv1.3', 'a first write that the kernel takes in part', [4_000_000, 10]],
    ['TLSv1.2', 'a short answer', [100, 200]],
    ['TLSv1.2', 'a first write that the kernel takes in part', [4_000_000, 10]],
  ] as const)('plaintextIn counts no byte of handshake, tickets or records: %s, %s', async (version, _, parts) => {
    const pair = await open(version)
    isHeld = true
    expect(await pass(pair, parts)).toBe(parts[0] > 1_000_000)
    const plaintext = parts.reduce((sum, bytes) => sum + bytes, 0)
    const whole = Buffer.concat(stream)
    const contents = contentsOf(whole, version, plaintext)
    const added = around[version][0] + around[version][1]
    let before = 0
    for (const { start, length } of contents)
      for (const inside of new Set([0, 1, length >> 1, length])) {
        const counted = pair.tls.plaintextIn(start + inside)
        expect(counted).toBeLessThanOrEqual(before + inside)
        // Only the record in which these bytes end, and shorter records than 16 KiB, are in doubt.
        expect(counted).toBeGreaterThanOrEqual(before + inside - 3 * added)
        if (inside === length) before += length
      }
    expect(pair.tls.plaintextIn(whole.length)).toBe(plaintext)
    expect(pair.tls.plaintextIn((contents[0]?.start ?? 0) - headBytes)).toBe(0)
    pair.client.destroy()
  })

  test('plaintextIn counts no byte of the tickets of a resumed session', async () => {
    const first = await open('TLSv1.3')
    const session = once(first.client, 'session') as Promise<[Buffer]>
    await pass(first, [10])
    const [ticket] = await session
    first.client.destroy()
    const second = await open('TLSv1.3', ticket)
    expect(second.client.isSessionReused()).toBe(true)
    await pass(second, [1000])
    const whole = Buffer.concat(stream)
    const [content = expect.unreachable()] = contentsOf(whole, 'TLSv1.3', 1000)
    expect(second.tls.plaintextIn(content.start)).toBe(0)
    expect(second.tls.plaintextIn(whole.length)).toBe(1000)
    second.client.destroy()
  })
})
