import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectPlain } from 'node:net'
import { type Made, makeCertificate, putCertificate } from '../harness/certificates.ts'
import {
  type BoughtDevice,
  buyVpn,
  freePort,
  keysOfDevice,
  openShopWithGateway,
  type ShopWithGateway,
} from '../harness/gateway.ts'
import { KeyClient, trojanHead, vlessHead } from '../harness/key-client.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { basic } from '../harness/transfers.ts'
import { startEcho } from '../harness/tunnel.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { startUdpEcho, type UdpPeer } from '../harness/udp.ts'

/** Longest time from a removal until the last byte. */
const cutMs = 2000
const payload = 'x'.repeat(20_000)

const protocols = [
  ['VLESS', vlessHead],
  ['Trojan', trojanHead],
] as const

let made: Made
let files: ReturnType<typeof putCertificate>
let echo: ReturnType<typeof startEcho>
let udpEcho: UdpPeer
beforeAll(async () => {
  made = await makeCertificate('vpn')
  files = putCertificate(made)
  echo = startEcho()
  udpEcho = await startUdpEcho()
})
afterAll(() => {
  echo.stop()
  udpEcho.stop()
  files.remove()
})

const openShop = (tlsPort: number, vpn: 'on' | 'off') =>
  openShopWithGateway('sqlite', {
    shop: { TURNPIKE_GATEWAY_VPN: 'on' },
    gateway: { ...files.env, TURNPIKE_GATEWAY_TLS_PORT: String(tlsPort), TURNPIKE_GATEWAY_VPN: vpn },
  })

describe('a gateway that serves VPN devices', () => {
  const tlsPort = freePort()
  let shop: ShopWithGateway
  let device: BoughtDevice
  beforeAll(async () => {
    shop = await openShop(tlsPort, 'on')
    device = await buyVpn(shop)
    await untilTrue(async () => (await answerTo(vlessHead(device, { port: echo.spot.port }, 'tcp'))) === 'hello')
  })
  afterAll(() => shop.stop())

  const open = (head: Uint8Array) => KeyClient.open(tlsPort, made, head)

  /** What comes back for `hello`, through a tunnel to the echo. */
  async function answerTo(head: Uint8Array): Promise<string> {
    const client = await open(head)
    client.send('hello')
    const text = await client.readText(5)
    client.close()
    return text
  }

  /** A device whose key the gateway knows: its first tunnel has carried `hello` both ways. */
  async function addDevice(head: typeof vlessHead): Promise<BoughtDevice> {
    const { data } = await shop.post('/vpn/devices', {})
    const added = await keysOfDevice(shop, data.device.id)
    await untilTrue(async () => (await answerTo(head(added, { port: echo.spot.port }, 'tcp'))) === 'hello')
    return added
  }

  test.each(protocols)(
    'bytes billed for two %s tunnels are exactly the 2 × 20,005 bytes that they carried',
    async (_, head) => {
      const added = await addDevice(head)
      const client = await open(head(added, { port: echo.spot.port }, 'tcp'))
      client.send(payload)
      expect(await client.readText(payload.length)).toBe(payload)
      client.close()
      const counted = async () => {
        const { devices } = (await shop.get('/vpn/info')).data
        return devices.find((each: { id: string }) => each.id === added.id) as { rx_bytes: number; tx_bytes: number }
      }
      const bytes = payload.length + 'hello'.length
      await untilTrue(async () => (await counted()).rx_bytes >= bytes && (await counted()).tx_bytes >= bytes)
      expect(await counted()).toMatchObject({ rx_bytes: bytes, tx_bytes: bytes })
    },
  )

  test.each(protocols)('%s carries 20 datagrams to a UDP echo and back', async (_, head) => {
    const client = await open(head(device, { port: udpEcho.port }, 'udp'))
    for (let count = 0; count < 20; count += 1) {
      const text = `datagram ${count} ${'y'.repeat(count * 50)}`
      client.sendDatagram(text, udpEcho.port)
      expect(await client.readDatagram()).toBe(text)
    }
    client.close()
  })

  test('a device’s id and password open an HTTP proxy over TLS with HTTP/1.1 and HTTP/2', async () => {
    const login = basic({ username: device.id, password: device.password, port: tlsPort })
    const authority = `127.0.0.1:${echo.spot.port}`
    const client = await open(
      Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: ${login}\r\n\r\n`),
    )
    expect(await client.readText(12)).toBe('HTTP/1.1 200')
    client.close()
    const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, {
      ca: made.cert,
      checkServerIdentity: () => undefined,
    })
    const stream = session.request({ ':method': 'CONNECT', ':authority': authority, 'proxy-authorization': login })
    const [fields] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect(fields[':status']).toBe(200)
    session.destroy()
  })

  test.each(protocols)('%s with a key that no device has gets the site’s 400 or nothing', async (_, head) => {
    const wrong = { ...device, uuid: '11111111-2222-4333-8444-555555555555', password: 'a'.repeat(27) }
    const client = await open(head(wrong, { port: echo.spot.port }, 'tcp'))
    expect(await client.readText(12)).toBe('HTTP/1.1 400')
    client.close()
  })

  test.each(protocols)('%s without TLS is not served', async (_, head) => {
    const client = connectPlain(shop.port, '127.0.0.1').on('error', () => {})
    const received: Buffer[] = []
    client.on('data', (bytes: Buffer) => void received.push(bytes))
    client.write(head(device, { port: echo.spot.port }, 'tcp'))
    client.write('hello')
    client.end()
    await new Promise((resolve) => client.once('close', resolve))
    expect(Buffer.concat(received).toString('latin1')).not.toContain('hello')
  })

  test('the secret link has the device’s keys for the gateway in 4 formats', async () => {
    const { data } = await shop.get('/vpn/info')
    const link: string = data.subscription_url
    await untilTrue(async () => (await (await fetch(link)).text()) !== '')
    const answer = await fetch(link, { headers: { 'User-Agent': 'Happ/3.1' } })
    const links = Buffer.from(await answer.text(), 'base64')
      .toString()
      .split('\n')
    const pin = new X509Certificate(made.cert).fingerprint256.replaceAll(':', '').toLowerCase()
    const tls = 'security=tls&type=tcp&sni=127.0.0.1&alpn=http%2F1.1&fp=firefox'
    const query = `${tls}&pcs=${pin}#test%20gateway-${shop.port}%20`
    const key = (entry: string) => entry.split('?')[0]
    const vless = `vless://${device.uuid}@127.0.0.1:${tlsPort}`
    expect(links.slice(1, 3).map(key)).toEqual([vless, vless])
    expect([links[0], links[3], links.length]).toEqual([
      `vless://${device.uuid}@127.0.0.1:${tlsPort}?encryption=none&${query}VLESS`,
      `trojan://${device.password}@127.0.0.1:${tlsPort}?${query}Trojan`,
      4,
    ])
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'profile-title': `base64:${Buffer.from('VPN: device 1').toString('base64')}`,
      'profile-update-interval': '12',
      'subscription-userinfo': expect.stringMatching(
        new RegExp(`^upload=\\d+; download=\\d+; total=0; expire=${Math.floor(Date.parse(data.expires_at) / 1000)}$`),
      ),
      'cache-control': 'no-store',
    })
    const read = async (format: string) => (await fetch(`${link}?format=${format}`)).text()
    const singbox = JSON.parse(await read('singbox'))
    expect(singbox.outbounds.map((each: { type: string }) => each.type)).toEqual([
      'selector',
      'urltest',
      'vless',
      'vless',
      'trojan',
      'http',
      'direct',
    ])
    expect(singbox.outbounds[2]).toMatchObject({ uuid: device.uuid, server_port: tlsPort, packet_encoding: 'xudp' })
    const xray = JSON.parse(await read('xray'))
    expect(xray.map((each: { outbounds: { protocol: string }[] }) => each.outbounds[0]?.protocol)).toEqual([
      'vless',
      'vless',
      'vless',
      'trojan',
    ])
    expect(Bun.YAML.parse(await read('mihomo'))).toMatchObject({
      proxies: [{ uuid: device.uuid }, {}, {}, { password: device.password }, { type: 'http' }],
    })
    const byAgent = await fetch(link, { headers: { 'User-Agent': 'clash-verge/v2' } })
    expect(byAgent.headers.get('content-type')).toStartWith('text/yaml')
    const renewed = (await shop.post('/vpn/link/reset', {})).data.subscription_url
    expect([(await fetch(link)).status, (await fetch(renewed)).status]).toEqual([404, 200])
  })

  test('removing a device cuts its open tunnels within 2 s in every protocol, and no other device’s', async () => {
    const removed = await addDevice(trojanHead)
    const clients = await Promise.all([
      open(vlessHead(removed, { port: echo.spot.port }, 'tcp')),
      open(trojanHead(removed, { port: echo.spot.port }, 'tcp')),
      open(vlessHead(removed, { port: udpEcho.port }, 'udp')),
      open(trojanHead(removed, { port: udpEcho.port }, 'udp')),
    ])
    const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, {
      ca: made.cert,
      checkServerIdentity: () => undefined,
    })
    const stream = session.request({
      ':method': 'CONNECT',
      ':authority': `127.0.0.1:${echo.spot.port}`,
      'proxy-authorization': basic({ username: removed.id, password: removed.password, port: tlsPort }),
    })
    await once(stream, 'response')
    const other = await open(vlessHead(device, { port: echo.spot.port }, 'tcp'))
    for (const client of [...clients.slice(0, 2), other]) {
      client.send('hello')
      expect(await client.readText(5)).toBe('hello')
    }
    const streamClosed = new Promise((resolve) => stream.on('error', () => {}).once('close', resolve))
    const closed = [...clients.map((client) => client.closed), streamClosed]
    const watch = startStopwatch()
    await shop.post('/vpn/devices/remove', { device: removed.id })
    await Promise.all(closed)
    expect(watch.elapsedMs()).toBeLessThan(cutMs)
    other.send('again')
    expect(await other.readText(5)).toBe('again')
    other.close()
    session.destroy()
    const after = await open(vlessHead(removed, { port: echo.spot.port }, 'tcp'))
    expect(await after.readText(12)).toBe('HTTP/1.1 400')
    after.close()
  })
})

describe('a VPN subscription after its end', () => {
  const tlsPort = freePort()
  let shop: ShopWithGateway
  let device: BoughtDevice
  beforeAll(async () => {
    shop = await openShop(tlsPort, 'on')
    device = await buyVpn(shop)
    await untilTrue(async () => (await ask(vlessHead, echo.spot.port, 'hello')) === 'hello')
  })
  afterAll(() => shop.stop())

  /** The first bytes of the answer through a new tunnel; none if the gateway closes it. */
  async function ask(head: typeof vlessHead, port: number, text: string, length = 5): Promise<string> {
    const client = await KeyClient.open(tlsPort, made, head(device, { port }, 'tcp'))
    client.send(text)
    const answer = await client.readText(length)
    client.close()
    return answer
  }
  const request = 'GET /healthz HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n'
  const shopPort = () => Number(new URL(shop.url).port)
  const askShop = (head: typeof vlessHead) => ask(head, shopPort(), request, 12)
  const info = async () => (await shop.get('/vpn/info')).data

  /** Ends the term one second ago, as a month would. */
  const end = () =>
    shop.services.db.transact(async (tx) => {
      const nowMs = Date.now()
      await tx.run('UPDATE vpn_subscriptions SET expires_at = $1', [nowMs - 1000])
      await tx.run('UPDATE vpn_peers SET changed_at = $1', [nowMs])
    })

  test('an ended device reaches the shop, unbilled, and nothing else, until a renewal opens all within 2 s', async () => {
    const open = await KeyClient.open(tlsPort, made, vlessHead(device, { port: echo.spot.port }, 'tcp'))
    open.send('hello')
    expect(await open.readText(5)).toBe('hello')
    await end()
    await open.closed
    await untilTrue(async () => (await askShop(vlessHead)) === 'HTTP/1.1 200')
    expect(await askShop(trojanHead)).toBe('HTTP/1.1 200')
    for (const [, head] of protocols) expect(await ask(head, echo.spot.port, 'hello')).toBe('')
    expect((await info()).status).toBe('GRACE')
    const customer = await customerOf()
    await shop.services.setBlocked(customer, true)
    await untilTrue(async () => (await askShop(vlessHead)) === '')
    await shop.services.setBlocked(customer, false)
    await untilTrue(async () => (await askShop(vlessHead)) === 'HTTP/1.1 200')
    const page = 'GET /api/v1/openapi.json HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n'
    expect(await ask(vlessHead, shopPort(), page, payload.length)).toHaveLength(payload.length)
    const watch = startStopwatch()
    await shop.post('/vpn/renew', { period: 1 })
    await untilTrue(async () => (await ask(vlessHead, echo.spot.port, 'hello')) === 'hello')
    expect(watch.elapsedMs()).toBeLessThan(cutMs)
    expect((await info()).status).toBe('ACTIVE')
    // Counts are reported in order: with these bytes all earlier ones are in. The page from the shop is not among them.
    expect(await ask(vlessHead, echo.spot.port, payload, payload.length)).toBe(payload)
    const counted = async () => {
      const { rx_bytes: rx, tx_bytes: tx } = (await info()).traffic
      return rx + tx - 2 * payload.length
    }
    await untilTrue(async () => (await counted()) >= 0)
    expect(await counted()).toBeLessThan(payload.length)
  })

  const customerOf = async () => {
    const row = await shop.services.db.first<{ customer_id: string }>('SELECT customer_id FROM vpn_subscriptions')
    return row?.customer_id as never
  }
})

test('a gateway without TURNPIKE_GATEWAY_VPN=on gets no VPN devices and shows its site to their keys', async () => {
  const tlsPort = freePort()
  const shop = await openShop(tlsPort, 'off')
  const device = await buyVpn(shop)
  await shop.buyProxies()
  for (const head of [vlessHead, trojanHead]) {
    const client = await KeyClient.open(tlsPort, made, head(device, { port: echo.spot.port }, 'tcp'))
    expect(await client.readText(12)).toBe('HTTP/1.1 400')
    client.close()
  }
  await shop.stop()
})
