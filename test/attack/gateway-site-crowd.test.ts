import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Made, makeCertificate } from '../harness/certificates.ts'
import { openPlainSite } from '../harness/prober.ts'
import { untilTrue } from '../harness/turnpike.ts'

const mebibyte = 1024 * 1024
const fileBytes = 250_000
const folder = mkdtempSync(join(tmpdir(), 'turnpike-crowd-'))
writeFileSync(join(folder, 'file.bin'), new Uint8Array(fileBytes))
const socket = join(folder, 'shop.sock')
const server = Bun.serve({
  unix: socket,
  development: false,
  maxRequestBodySize: 2 * mebibyte,
  async fetch(request) {
    return new Response(`${(await request.bytes()).length}${' '.repeat(100_000)}`)
  },
})

let made: Made
const sessions: ClientHttp2Session[] = []
beforeAll(async () => {
  made = await makeCertificate('crowd')
})
afterAll(async () => {
  for (const session of sessions) session.destroy()
  await server.stop(true)
  rmSync(folder, { recursive: true })
})

/** An HTTP/2 client at its own address, whose windows have so many bytes. */
function open(port: number, localAddress: string, initialWindowSize: number): ClientHttp2Session {
  const options = { localAddress, rejectUnauthorized: false, settings: { initialWindowSize } }
  const session = connect(`https://127.0.0.1:${port}`, options)
  session.on('error', () => {})
  sessions.push(session)
  return session
}

function ask(session: ClientHttp2Session, path: string, method = 'GET'): ClientHttp2Stream {
  const stream = session.request({ ':path': path, ':method': method }, { endStream: method === 'GET' })
  return stream.on('error', () => {})
}

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const [fields] = (await once(stream, 'response')) as [Record<string, unknown>]
  return Number(fields[':status'])
}

async function readAll(stream: ClientHttp2Stream): Promise<number> {
  let bytes = 0
  stream.on('data', (part: Uint8Array) => void (bytes += part.length))
  await once(stream, 'end')
  return bytes
}

describe('a crowd of visitors of a site', () => {
  test('20 connections with window 0 that ask 2,000 times for a file of 250 KB make the site hold less than half of it', async () => {
    const plain = openPlainSite({ kind: 'files', folder }, made)
    const before = process.memoryUsage.rss()
    const crowd = Array.from({ length: 20 }, () => open(plain.port, '127.0.0.1', 0))
    const streams = crowd.flatMap((session) => Array.from({ length: 100 }, () => ask(session, '/file.bin')))
    expect(new Set(await Promise.all(streams.map(statusOf)))).toEqual(new Set([200]))
    // Reactors are threads of this process, whose sites are not seen here. So are the clients, with 2,000 streams.
    const isSmall = process.memoryUsage.rss() - before < (2000 * fileBytes) / 2
    expect([plain.server?.answers.bytes ?? 0, isSmall]).toEqual([0, true])
    const reader = ask(open(plain.port, '127.0.0.2', 65_535), '/file.bin')
    expect(await readAll(reader)).toBe(fileBytes)
    await plain.stop()
  })

  test('32 unread answers of each of 4 addresses hold no request of the server, and another address gets 200', async () => {
    const plain = openPlainSite({ kind: 'shop', socket, nonce: 'crowd' }, made)
    const unread = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'].flatMap((address) => {
      const session = open(plain.port, address, 0)
      return Array.from({ length: 32 }, () => ask(session, '/'))
    })
    expect(new Set(await Promise.all(unread.map(statusOf)))).toEqual(new Set([200]))
    expect(await untilTrue(() => server.pendingRequests === 0)).toBe(true)
    const reader = ask(open(plain.port, '127.0.0.5', 65_535), '/')
    expect([await statusOf(reader), await readAll(reader)]).toEqual([200, 100_001])
    await plain.stop()
  })

  test('64 unfinished bodies of 512 KB of one connection hold at most 4 MiB, and a body of another address gets 200', async () => {
    const plain = openPlainSite({ kind: 'shop', socket, nonce: 'crowd' }, made)
    const session = open(plain.port, '127.0.0.1', 65_535)
    const refused = Array.from({ length: 64 }, () => {
      const stream = ask(session, '/', 'POST')
      stream.write(Buffer.alloc(512 * 1024))
      return statusOf(stream)
    })
    expect(await Promise.race(refused)).toBe(413)
    expect(plain.server?.bodies.bytes ?? 0).toBeLessThanOrEqual(4 * mebibyte)
    const other = ask(open(plain.port, '127.0.0.2', 65_535), '/', 'POST')
    other.end(Buffer.alloc(mebibyte))
    expect(await statusOf(other)).toBe(200)
    await plain.stop()
  })
})
