import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { type GatewayProtocol, gatewayProtocols } from '../../src/core/vpn-protocols.ts'
import { type DeviceStream, Inbox, openTls, openTlsStream, openWebSocket } from '../harness/device-stream.ts'
import type { BoughtDevice } from '../harness/gateway.ts'
import { trojanHead, vlessHead } from '../harness/key-client.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { basic } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'
import { openXhttp } from '../harness/xhttp-client.ts'

/** Longest time from a change until the last byte. */
const cutMs = 2000

let gateway: VpnGateway
beforeAll(async () => {
  gateway = await openVpnGateway()
})
afterAll(() => gateway.stop())

const stranger: BoughtDevice = {
  id: `dev_${'0'.repeat(26)}`,
  uuid: '11111111-2222-4333-8444-555555555555',
  password: 'a'.repeat(27),
}
const pathOf = ({ uuid }: BoughtDevice): string => pathOfDevice(createHash('sha256').update(uuid).digest('hex'))
const loginOf = ({ id, password }: BoughtDevice): string => basic({ username: id, password, port: gateway.tlsPort })
const authority = (): string => `127.0.0.1:${gateway.echo.spot.port}`

const nodeName = async (): Promise<string> =>
  (await gateway.shop.services.fleet.nodes('gateway')).find((each) => each.health?.isForVpn)?.name ?? ''

const setProtocols = async (protocols: readonly GatewayProtocol[] | null): Promise<void> => {
  await gateway.shop.services.fleet.setVpnLinks(await nodeName(), { protocols })
}

/** A CONNECT of HTTP/2 on a connection of its own, with its answer without the date. */
async function openConnect(to: string, device: BoughtDevice, more: Record<string, string> = {}) {
  const session = connectHttp2(`https://127.0.0.1:${gateway.tlsPort}`, {
    ca: gateway.made.cert,
    checkServerIdentity: () => undefined,
  })
  session.on('error', () => {})
  const stream = session.request({
    ':method': 'CONNECT',
    ':authority': to,
    'proxy-authorization': loginOf(device),
    ...more,
  })
  const inbox = new Inbox()
  stream.on('data', (bytes: Buffer) => inbox.add(bytes))
  stream.on('error', () => {}).once('end', () => inbox.end())
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()))
  stream.once('close', () => {
    inbox.end()
    session.destroy()
  })
  const [{ date: _, ...answer }] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
  return { answer, closed, read: (length: number) => inbox.read(length), close: () => session.destroy() }
}

/** A CONNECT of HTTP/1.1. */
async function openHttp1(device: BoughtDevice): Promise<DeviceStream> {
  const line = await openTlsStream(gateway.tlsPort, gateway.made)
  line.send(
    Buffer.from(
      `CONNECT ${authority()} HTTP/1.1\r\nHost: ${authority()}\r\nProxy-Authorization: ${loginOf(device)}\r\n\r\n`,
    ),
  )
  return line
}

const naive = { padding: '~'.repeat(20) }
const where = (device: BoughtDevice) => ({ tlsPort: gateway.tlsPort, made: gateway.made, path: pathOf(device) })
const withHello = (head: Uint8Array): Uint8Array => Buffer.concat([head, Buffer.from('hello')])
const keyed = (stream: DeviceStream, head: Uint8Array): DeviceStream => {
  stream.send(withHello(head))
  return stream
}

/** A connection of each protocol that the gateway serves; resolves once it has carried bytes or was answered. */
const open: Record<GatewayProtocol, () => Promise<{ readonly closed: Promise<unknown>; close(): void }>> = {
  async vless() {
    const line = await openTlsStream(gateway.tlsPort, gateway.made)
    await keyed(line, vlessHead(gateway.device, gateway.echo.spot, 'tcp')).read(7)
    return line
  },
  async trojan() {
    const line = await openTlsStream(gateway.tlsPort, gateway.made)
    await keyed(line, trojanHead(gateway.device, gateway.echo.spot, 'tcp')).read(5)
    return line
  },
  async websocket() {
    const line = await openWebSocket(gateway.tlsPort, gateway.made, pathOf(gateway.device))
    await keyed(line, trojanHead(gateway.device, gateway.echo.spot, 'tcp')).read(5)
    return line
  },
  async xhttp() {
    const line = await openXhttp(where(gateway.device), 'stream-one', 'h2')
    await keyed(line, vlessHead(gateway.device, gateway.echo.spot, 'tcp')).read(7)
    return line
  },
  async http() {
    const line = await openHttp1(gateway.device)
    expect((await line.read(12)).toString()).toBe('HTTP/1.1 200')
    return line
  },
  naive: () => openConnect(authority(), gateway.device, naive),
  trusttunnel: () => openConnect('_udp2', gateway.device),
}

/** What a client gets at the TLS port for these bytes: a refusal whole, without the date, anything else in part. */
async function rawAnswer(bytes: Uint8Array): Promise<string> {
  const line = await openTls(gateway.tlsPort, gateway.made)
  const inbox = new Inbox()
  line.on('data', (part: Buffer) => inbox.add(part))
  line.once('close', () => inbox.end())
  line.write(bytes)
  const start = (await inbox.read(2)).toString('latin1')
  const head = start === 'HT' ? (await inbox.readUntil('\r\n\r\n')).toString('latin1') : ''
  const isRefusal = head.startsWith('TP/1.1 4')
  const length = isRefusal ? Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) : 0
  const text = start + head + (await inbox.read(length)).toString('latin1')
  line.destroy()
  return text.replace(/\r\ndate: [^\r]*/i, '')
}

const request = (line: string, ...fields: readonly string[]): Uint8Array =>
  Buffer.from([`${line} HTTP/1.1`, 'Host: site.example', ...fields, '', ''].join('\r\n'))
const padded = `Referer: https://site.example/?x_padding=${'X'.repeat(200)}`
const webSocketFields = [
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

/** The answer to a client of each protocol with the keys of a device. */
const answer: Record<GatewayProtocol, (of: BoughtDevice) => Promise<unknown>> = {
  vless: (of) => rawAnswer(withHello(vlessHead(of, gateway.echo.spot, 'tcp'))),
  trojan: (of) => rawAnswer(withHello(trojanHead(of, gateway.echo.spot, 'tcp'))),
  websocket: (of) => rawAnswer(request(`GET ${pathOf(of)}`, ...webSocketFields, 'Upgrade: websocket')),
  xhttp: (of) => rawAnswer(request(`GET ${pathOf(of)}/11111111-2222-4333-8444-555555555555`, padded)),
  http: (of) => rawAnswer(request(`CONNECT ${authority()}`, `Proxy-Authorization: ${loginOf(of)}`)),
  naive: async (of) => (await openConnect(authority(), of, naive)).answer,
  trusttunnel: async (of) => (await openConnect('_check', of)).answer,
}

test.each([...gatewayProtocols])(
  'turning %s off closes its connection within 2 s, and its key gets what a stranger gets, until it is on again',
  async (protocol) => {
    const before = await open[protocol]()
    const kept = await open[protocol === 'vless' ? 'trojan' : 'vless']()
    const keptState = { isClosed: false }
    void kept.closed.then(() => Object.assign(keptState, { isClosed: true }))
    const watch = startStopwatch()
    const off = protocol === 'http' ? ['http', 'trusttunnel'] : [protocol]
    await setProtocols(gatewayProtocols.filter((each) => !off.includes(each)))
    await before.closed
    expect(watch.elapsedMs()).toBeLessThan(cutMs)
    expect(await answer[protocol](gateway.device)).toEqual(await answer[protocol](stranger))
    expect(keptState.isClosed).toBe(false)
    kept.close()
    await setProtocols(null)
    const isServed = async () =>
      JSON.stringify(await answer[protocol](gateway.device)) !== JSON.stringify(await answer[protocol](stranger))
    await untilTrue(isServed)
    const after = await open[protocol]()
    after.close()
  },
)

test('a gateway with trusttunnel as its only protocol serves HTTP/2 CONNECT, and shows HTTP/1.1 CONNECT the site', async () => {
  await setProtocols(['trusttunnel'])
  const isOff = async () => (await answer.http(gateway.device)) === (await answer.http(stranger))
  await untilTrue(isOff)
  const connected = await openConnect(authority(), gateway.device)
  expect(connected.answer[':status']).toBe(200)
  connected.close()
  await setProtocols(null)
  await untilTrue(async () => !(await isOff()))
})

test('the login of a removed device gets the site’s 405 and no Proxy-Authenticate', async () => {
  const removed = await gateway.addDevice()
  await gateway.remove(removed)
  await untilTrue(async () => (await answer.http(removed)) === (await answer.http(stranger)))
  expect(await answer.http(removed)).not.toContain('407')
})
