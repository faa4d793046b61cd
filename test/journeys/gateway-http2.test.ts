import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import { type ByteOrigin, openByteOrigin } from '../harness/byte-origin.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import {
  type BoughtProxy,
  endIn,
  freePort,
  openShopWithGateway,
  type ShopWithGateway,
  startOrigin,
} from '../harness/gateway.ts'
import { scaled } from '../harness/scale.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { basic, drawFrom, lineOf } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'

type Login = { readonly username: string; readonly password: string }

/** Resolves with the answer's fields, or with the reset. */
const answerOf = (stream: ClientHttp2Stream): Promise<IncomingHttpHeaders & IncomingHttpStatusHeader> =>
  new Promise((resolve, reject) => {
    stream.once('response', resolve)
    stream.once('error', reject)
  })

async function bodyOf(stream: ClientHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

describe('proxies over HTTP/2', () => {
  const tlsPort = freePort()
  const challengeHost = 'localhost'
  let files: ReturnType<typeof putCertificate>
  let shop: ShopWithGateway
  let origin: ReturnType<typeof startOrigin>
  let byteOrigin: ByteOrigin
  let proxy: BoughtProxy
  const sessions: ClientHttp2Session[] = []

  beforeAll(async () => {
    files = putCertificate(await makeCertificate('http2'))
    const gateway = {
      ...files.env,
      TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
      TURNPIKE_GATEWAY_SITE: 'builtin',
      TURNPIKE_GATEWAY_CHALLENGE_HOST: challengeHost,
    }
    shop = await openShopWithGateway('sqlite', { gateway })
    origin = startOrigin()
    byteOrigin = openByteOrigin()
    ;[proxy] = (await shop.buyProxies()) as [BoughtProxy]
  })
  afterAll(async () => {
    for (const session of sessions) session.destroy()
    byteOrigin.stop()
    await origin.stop()
    await shop.stop()
    files.remove()
  })

  function open(name = '127.0.0.1'): ClientHttp2Session {
    const session = connect(`https://${name}:${tlsPort}`, {
      ca: readFileSync(files.cert),
      checkServerIdentity: () => undefined,
    })
    session.on('error', () => {})
    sessions.push(session)
    return session
  }

  const fields = (login: Login) => ({ 'proxy-authorization': basic({ ...login, port: 0 }) })
  const tunnel = (session: ClientHttp2Session, login: Login, authority = byteOrigin.host): ClientHttp2Stream =>
    session.request({ ':method': 'CONNECT', ':authority': authority, ...fields(login) })

  test('30 tunnels of three users in one connection are billed the payload bytes and none that HTTP/2 or TLS adds', async () => {
    const users = await addUsers(shop, 3, 1)
    const session = open()
    const expected = users.map(() => 0)
    const seed = Math.floor(Math.random() * 2 ** 31)
    const draw = drawFrom(seed)
    const pass = async (index: number, round: number): Promise<void> => {
      const user = users[index]
      if (!user) return
      const id = `h2-${index}-${round}`
      const up = lineOf(id, draw.size())
      const down = draw.size()
      byteOrigin.expect({ id, up: round % 3 === 0 ? 'end' : up.length, down, afterwards: 'end' })
      const stream = tunnel(session, user)
      expect((await answerOf(stream))[':status']).toBe(200)
      if (round % 3 === 0) stream.end(up)
      else stream.write(up)
      const received = await bodyOf(stream)
      stream.close()
      expect({ seed, id, bytes: received.length }).toEqual({ seed, id, bytes: down })
      expected[index] = (expected[index] ?? 0) + up.length + down
    }
    const rounds = Array.from({ length: scaled(10) }, (_, round) => round)
    await Promise.all(users.flatMap((_, index) => rounds.map((round) => pass(index, round))))
    const billed = () => Promise.all(users.map((each) => usedBy(shop, each.subuser)))
    await untilTrue(async () => Bun.deepEquals(await billed(), expected))
    expect({ seed, bytes: await billed() }).toEqual({ seed, bytes: expected })
  })

  test('a request for an http URL is forwarded with its body, and the origin sees no proxy headers', async () => {
    const session = open()
    const { host } = new URL(origin.url)
    const request = (method: string, length?: number) =>
      session.request({
        ':method': method,
        ':scheme': 'http',
        ':authority': host,
        ':path': '/?bytes=50000',
        ...(length !== undefined && { 'content-length': String(length) }),
        cookie: 'a=1',
        ...fields(proxy),
      })
    const get = request('GET')
    get.end()
    expect((await answerOf(get))[':status']).toBe(200)
    expect((await bodyOf(get)).length).toBeGreaterThanOrEqual(50_000)
    const post = request('POST', 70_000)
    post.end(Buffer.alloc(70_000, 'x'))
    expect((await answerOf(post))[':status']).toBe(200)
    await bodyOf(post)
    const lengthless = request('POST')
    lengthless.write('x')
    expect((await answerOf(lengthless))[':status']).toBe(411)
    lengthless.close()
    for (const { from, headers } of origin.seen) {
      expect(from).toBe(proxy.exit_ip)
      expect(headers).not.toHaveProperty('proxy-authorization')
      expect(headers).not.toHaveProperty('via')
    }
  })

  test.each(['localhost', '127.0.0.1'])('wrong credentials are refused on their stream only, at %s', async (name) => {
    const session = open(name)
    const status = name === challengeHost ? 407 : 405
    const wrong = tunnel(session, { ...proxy, password: 'wrong' })
    const refused = await answerOf(wrong)
    expect(refused[':status']).toBe(status)
    expect(refused['x-turnpike-error']).toBe(name === challengeHost ? 'bad_credentials' : undefined)
    await bodyOf(wrong)
    const nameless = session.request({ ':method': 'CONNECT', ':authority': byteOrigin.host })
    expect((await answerOf(nameless))[':status']).toBe(status)
    const right = tunnel(session, proxy)
    expect((await answerOf(right))[':status']).toBe(200)
    right.close()
  })

  test('expiry closes the tunnel of an ended proxy within 2 s; another tunnel in the connection continues', async () => {
    const [other] = (await shop.buyProxies()) as [BoughtProxy]
    const session = open()
    for (const id of ['ended', 'kept'])
      byteOrigin.expect({ id, up: id.length + 1, down: 1_000_000_000, afterwards: 'stay', everyMs: 5 })
    const begin = async (login: Login, id: string) => {
      const stream = tunnel(session, login)
      expect((await answerOf(stream))[':status']).toBe(200)
      const seen = { bytes: 0, isClosed: false }
      stream.on('data', (chunk: Buffer) => void (seen.bytes += chunk.length))
      stream.on('close', () => void (seen.isClosed = true))
      stream.on('error', () => {})
      stream.write(`${id}\n`)
      await untilTrue(() => seen.bytes > 10_000)
      return { stream, seen }
    }
    const ended = await begin(other, 'ended')
    const kept = await begin(proxy, 'kept')
    const stopwatch = startStopwatch()
    await endIn(shop, other, 1)
    await untilTrue(() => ended.seen.isClosed)
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
    const before = kept.seen.bytes
    await untilTrue(() => kept.seen.bytes > before + 20_000)
    expect(kept.seen.isClosed).toBe(false)
    kept.stream.close()
  })
})
