import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openByteOrigin } from '../harness/byte-origin.ts'
import { type Made, makeCertificate, putCertificate, servedAt } from '../harness/certificates.ts'
import { curl, expectNoTrace, run } from '../harness/clients.ts'
import {
  type BoughtProxy,
  endIn,
  freePort,
  openShopWithGateway,
  type ShopWithGateway,
  startOrigin,
} from '../harness/gateway.ts'
import { scaled } from '../harness/scale.ts'
import { selfSigned } from '../harness/self-signed.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { addUsers, usedBy } from '../harness/traffic.ts'
import { drawFrom, openTunnel, passRequests, passTunnel } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { WireClient } from '../harness/wire-client.ts'

/** Largest number of TLS handshakes in progress from one network. */
const maxHandshakesPerNetwork = 128

describe('proxies over TLS', () => {
  const tlsPort = freePort()
  let first: Made
  let second: Made
  let files: ReturnType<typeof putCertificate>
  let shop: ShopWithGateway
  let plain: ReturnType<typeof startOrigin>
  let secure: ReturnType<typeof startOrigin>
  let proxy: BoughtProxy
  beforeAll(async () => {
    ;[first, second] = await Promise.all([makeCertificate('first'), makeCertificate('second')])
    files = putCertificate(first)
    const gateway = {
      ...files.env,
      TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort),
      TURNPIKE_GATEWAY_CHALLENGE_HOST: 'localhost',
    }
    shop = await openShopWithGateway('sqlite', { gateway })
    plain = startOrigin()
    secure = startOrigin('127.0.0.1', { tls: selfSigned })
    ;[proxy] = (await shop.buyProxies()) as [BoughtProxy]
  })
  afterAll(async () => {
    await Promise.all([plain, secure].map((each) => each.stop()))
    await shop.stop()
    files.remove()
  })

  const at = (of: { username: string; password: string } = proxy): string =>
    `https://${of.username}:${of.password}@127.0.0.1:${tlsPort}`
  const through = (url: string, ...more: readonly string[]) =>
    curl('--proxy-cacert', files.cert, '-x', at(), ...more, url)

  test('curl works through the TLS port as through the plain one, and the origin sees no proxy headers', async () => {
    expect(await through(plain.url)).toMatchObject({ exit: 0, status: 200 })
    expect(await through(plain.url, '-d', 'x'.repeat(70_000))).toMatchObject({
      body: expect.stringContaining('"sent":70000'),
    })
    expect(await through(plain.url, '-p')).toMatchObject({ exit: 0, status: 200, connect: 200 })
    expect(await through(secure.url)).toMatchObject({ exit: 0, status: 200, connect: 200 })
    expect(await through(`${secure.url}/?bytes=3000000`)).toMatchObject({ exit: 0, status: 200 })
    for (const { from, headers } of [...plain.seen, ...secure.seen]) {
      expect(from).toBe(proxy.exit_ip)
      expectNoTrace(headers)
    }
  })

  test('lists, exports and generated lines name the TLS port with a name of the certificate, and curl uses them', async () => {
    const listed = async () => (await shop.get('/dedicated/list')).data.proxies[0]
    expect(await untilTrue(async () => (await listed()).https_port === tlsPort)).toBe(true)
    const { https_host: host } = await listed()
    expect(['127.0.0.1', 'localhost']).toContain(host)
    const visit = async (line: string) =>
      curl('--proxy-cacert', files.cert, '-x', line.trim().replace('localhost', '127.0.0.1'), plain.url)
    const query4 = `protocol=https&format_id=4&ids=${proxy.id}`
    const headers = { Authorization: `Bearer ${shop.token}` }
    const exported = await (await fetch(`${shop.url}/api/v1/dedicated/export?${query4}`, { headers })).text()
    expect(exported).toBe(`https://${proxy.username}:${proxy.password}@${host}:${tlsPort}\n`)
    expect(await visit(exported)).toMatchObject({ exit: 0, status: 200 })
    await shop.buyTraffic(0.1)
    const query = { pool_type: 'residential', country_code: 'US', format_id: 4, protocol: 'https', quantity: 1 }
    const generated = (await shop.post('/premium/proxies/generate', query)).data.proxies[0]
    expect(generated).toEndWith(`@${host}:${tlsPort}`)
    expect(await visit(generated)).toMatchObject({ exit: 0, status: 200 })
    const nameless = await shop.post('/premium/proxies/generate', { ...query, format_id: 3 })
    expect(nameless).toMatchObject({ status: 400, error: { code: 'invalid_request' } })
    await shop.post('/dedicated/protocol', { ids: [proxy.id], port_type: 'socks' })
    expect(await listed()).toMatchObject({ https_host: null, https_port: null })
    const refused = await shop.get(`/dedicated/export?protocol=https&ids=${proxy.id}`)
    expect(refused).toMatchObject({ status: 409, error: { reason: 'https_missing' } })
    await shop.post('/dedicated/protocol', { ids: [proxy.id], port_type: 'http' })
  })

  test('the TLS port is a web site to wrong and missing credentials, and answers 407 under the challenge host', async () => {
    const ask = (url: string, ...more: readonly string[]) =>
      curl('--proxy-cacert', files.cert, '-x', url, ...more, plain.url)
    const underName = (url: string) => url.replace('127.0.0.1', 'localhost')
    const wrong = at({ ...proxy, password: 'wrong' })
    // A TLS port has no whitelist: it requires credentials from every client.
    const nameless = `https://127.0.0.1:${tlsPort}`
    for (const url of [wrong, nameless]) {
      expect(await ask(url)).toMatchObject({ status: 404, error: undefined })
      expect(await ask(url, '-p')).toMatchObject({ connect: 405, error: undefined })
    }
    expect(await ask(underName(wrong))).toMatchObject({ status: 407, error: 'bad_credentials' })
    expect(await ask(underName(nameless))).toMatchObject({ status: 407, error: 'credentials_required' })
  })

  test('the TLS port refuses plain HTTP and TLS 1.1', async () => {
    expect((await curl('-x', at().replace('https', 'http'), plain.url)).exit).not.toBe(0)
    expect(await servedAt(tlsPort, '-tls1_1', '-cipher', 'ALL:@SECLEVEL=0')).toBeUndefined()
    expect(await servedAt(tlsPort, '-tls1_2')).toBe('first')
    expect(await servedAt(tlsPort, '-servername', 'somebody.else.example')).toBe('first')
  })

  test('a Node program reaches an HTTPS origin through the TLS port with TLS in TLS', async () => {
    const { exit, out, err } = await run('node', '-e', nodeProgram, at(), secure.url)
    expect({ exit, out: out.trim(), err }).toEqual({ exit: 0, out: '200', err: '' })
  })

  test('a tunnel over TLS is billed the payload bytes and none that TLS adds', async () => {
    const origin = openByteOrigin()
    const users = (await addUsers(shop, 3, 1)).map((each) => ({ ...each, port: tlsPort, isTls: true }))
    const expected = users.map(() => 0)
    const seed = Math.floor(Math.random() * 2 ** 31)
    const lane = async (index: number): Promise<void> => {
      const draw = drawFrom(seed + index)
      const pass = users[index]
      if (!pass) return
      for (let left = scaled(40); left > 0; left -= 1) {
        const { sent, received } = await (draw.upTo(2) === 0 ? passRequests : passTunnel)(pass, origin, draw)
        expected[index] = (expected[index] ?? 0) + sent + received
      }
    }
    await Promise.all(users.map((_, index) => lane(index)))
    const billed = () => Promise.all(users.map((each) => usedBy(shop, each.subuser)))
    await untilTrue(async () => Bun.deepEquals(await billed(), expected))
    expect({ seed, bytes: await billed() }).toEqual({ seed, bytes: expected })
    origin.stop()
  })

  test('a client that resets a TLS tunnel is billed no more bytes than arrived', async () => {
    const origin = openByteOrigin()
    const [user] = await addUsers(shop, 1, 1)
    if (!user) throw new Error('there is no user')
    origin.expect({ id: 'cut', up: 4, down: 20_000_000, afterwards: 'stay' })
    const [host = '', port = ''] = origin.host.split(':')
    const pass = { ...user, port: tlsPort, isTls: true }
    const { client, handshake } = await openTunnel(pass, 'connect', { host, port: Number(port) })
    client.readOnly(1000)
    await client.send(Buffer.from('cut\n'))
    await client.until(() => client.total > handshake + 1000)
    const ciphertext = await client.reset()
    await untilTrue(async () => (await usedBy(shop, user.subuser)) > 4)
    const used = await usedBy(shop, user.subuser)
    expect(used).toBeLessThanOrEqual(4 + ciphertext)
    expect(used).toBeGreaterThan(ciphertext * 0.9 - 300_000)
    origin.stop()
  })

  test('expiry closes a TLS tunnel within 2 s in the middle of a transfer', async () => {
    const [other] = (await shop.buyProxies()) as [BoughtProxy]
    const origin = openByteOrigin()
    origin.expect({ id: 'long', up: 5, down: 1_000_000_000, afterwards: 'stay' })
    const [host = '', port = ''] = origin.host.split(':')
    const { client } = await openTunnel({ ...other, port: tlsPort, isTls: true }, 'connect', {
      host,
      port: Number(port),
    })
    await client.send(Buffer.from('long\n'))
    await client.until(() => client.total > 1_000_000)
    const stopwatch = startStopwatch()
    await endIn(shop, other, 1)
    await client.untilEnd()
    expect(stopwatch.elapsedMs()).toBeLessThan(2000)
    origin.stop()
  })

  test('a reload serves a new certificate while a tunnel runs; a broken one keeps the old one in use', async () => {
    const origin = openByteOrigin()
    origin.expect({ id: 'steady', up: 7, down: 30_000_000, afterwards: 'end' })
    const [host = '', port = ''] = origin.host.split(':')
    const { client, handshake } = await openTunnel({ ...proxy, port: tlsPort, isTls: true }, 'connect', {
      host,
      port: Number(port),
    })
    client.readOnly(100_000)
    await client.send(Buffer.from('steady\n'))
    await client.until(() => client.total > 100_000)
    files.replace({ cert: second.cert, key: first.key })
    shop.gateway.onHangUp?.()
    expect(await servedAt(tlsPort)).toBe('first')
    expect(shop.gatewayLog.join('')).toContain('the key does not belong to the certificate')
    files.replace(second)
    shop.gateway.onHangUp?.()
    // Reactors learn of it within 250 ms.
    for (const last of [2, 3, 4, 5]) {
      const isSecond = async () => (await servedAt(tlsPort, '-bind', `127.0.0.${last}:0`)) === 'second'
      expect(await untilTrue(isSecond)).toBe(true)
    }
    client.readOn()
    await client.untilEnd()
    expect(client.total - handshake).toBe(30_000_000)
    client.close()
    expect(shop.gatewayLog.join('')).not.toContain('PRIVATE KEY')
    files.replace(first)
    shop.gateway.onHangUp?.()
    origin.stop()
  })

  test('four addresses resume their TLS sessions', async () => {
    const resumed = await run('node', '-e', resumingProgram, String(tlsPort))
    expect([resumed.out, resumed.err]).toEqual(['true\n'.repeat(4), ''])
  })

  test('a customer is served while 2,200 connections from 20 addresses send half a ClientHello', async () => {
    const hello = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3])
    const addresses = Array.from({ length: 20 }, (_, index) => `127.0.1.${index + 1}`)
    const half = async (address: string) => {
      const client = await WireClient.connect(tlsPort, '127.0.0.1', address).catch(() => undefined)
      await client?.send(hello)
      return client
    }
    const halves = await Promise.all(addresses.flatMap((address) => Array.from({ length: 110 }, () => half(address))))
    expect(await through(plain.url)).toMatchObject({ exit: 0, status: 200 })
    // At most 2,048 handshakes may be under way; older ones make room.
    expect(await untilTrue(() => halves.filter((each) => each?.isClosed ?? true).length >= 2200 - 2048)).toBe(true)
    for (const each of halves) each?.close()
  })

  test('the TLS port serves customers while 300 connections never finish their handshake', async () => {
    // The reset of a refused connection may arrive before the client knows that it is connected.
    const connect = () => WireClient.connect(tlsPort).catch(() => undefined)
    const quiet = await Promise.all(Array.from({ length: 300 }, connect))
    await untilTrue(() => quiet.filter((each) => each?.isClosed ?? true).length >= 300 - maxHandshakesPerNetwork)
    expect(await through(plain.url)).toMatchObject({ exit: 0, status: 200 })
    for (const each of quiet) each?.close()
  })
})

/** Reconnects with the session of a first request, from each of four addresses; prints whether it was resumed. */
const resumingProgram = `
const tls = require('node:tls')
const connect = (localAddress, session) => new Promise((resolve, reject) => {
  let isReused
  const socket = tls.connect({ host: '127.0.0.1', port: Number(process.argv[1]), rejectUnauthorized: false, localAddress, session },
    () => { isReused = socket.isSessionReused(); socket.write('GET http://127.0.0.1/ HTTP/1.0\\r\\n\\r\\n') })
  socket.once('session', (ticket) => { socket.destroy(); resolve([ticket, isReused]) })
  socket.once('error', reject)
})
;(async () => {
  for (const last of [2, 3, 4, 5]) {
    const [ticket] = await connect('127.0.0.' + last)
    const [, isReused] = await connect('127.0.0.' + last, ticket)
    console.log(isReused)
  }
})()
`

/** CONNECT over TLS, and TLS within the tunnel, as a library does it. */
const nodeProgram = `
const tls = require('node:tls')
const https = require('node:https')
const [proxy, there] = process.argv.slice(1).map((each) => new URL(each))
const outer = tls.connect({ host: proxy.hostname, port: proxy.port, rejectUnauthorized: false }, () => {
  const basic = Buffer.from(proxy.username + ':' + proxy.password).toString('base64')
  outer.write('CONNECT ' + there.host + ' HTTP/1.1\\r\\nHost: ' + there.host + '\\r\\nProxy-Authorization: Basic ' + basic + '\\r\\n\\r\\n')
  outer.once('data', () => {
    https.get({ host: there.hostname, port: there.port, path: '/?bytes=1000000', rejectUnauthorized: false, agent: false,
      createConnection: (options) => tls.connect({ ...options, socket: outer }) }, (answer) => {
      let bytes = 0
      answer.on('data', (part) => (bytes += part.length))
      answer.on('end', () => { console.log(bytes === 1000000 ? answer.statusCode : bytes); outer.destroy() })
    })
  })
})
`
