import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { type DeviceStream, Inbox, openTlsStream, openWebSocket } from '../harness/device-stream.ts'
import type { BoughtDevice } from '../harness/gateway.ts'
import { KeyClient, trojanHead, vlessHead } from '../harness/key-client.ts'
import { MuxClient } from '../harness/mux-client.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { basic } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { openVpnPath, type VpnPath } from '../harness/vpn-path.ts'
import { findingsOf } from '../harness/wired.ts'
import { openXhttp, type XhttpMode } from '../harness/xhttp-client.ts'

const payloadBytes = 50_000
/** Longest time from a change until the last byte. */
const cutMs = 2000

let path: VpnPath
/** The first device with its keys for the exit. */
let device: BoughtDevice
beforeAll(async () => {
  path = await openVpnPath()
  device = await path.keysForExit(path.entry.device)
})
afterAll(() => path.stop())

/** Bytes each way through the exit. */
let carried = 0

const pathOf = ({ uuid }: BoughtDevice): string => pathOfDevice(createHash('sha256').update(uuid).digest('hex'))
const at = (of: BoughtDevice) => ({ tlsPort: path.entry.tlsPort, made: path.entry.made, path: pathOf(of) })
const xhttp = (mode: XhttpMode, version: 'h2' | 'http/1.1') => (of: BoughtDevice) => openXhttp(at(of), mode, version)

const carriers: Record<string, (of: BoughtDevice) => Promise<DeviceStream>> = {
  TLS: () => openTlsStream(path.entry.tlsPort, path.entry.made),
  WebSocket: (of) => openWebSocket(path.entry.tlsPort, path.entry.made, pathOf(of)),
  'XHTTP packet-up': xhttp('packet-up', 'h2'),
  'XHTTP stream-up': xhttp('stream-up', 'http/1.1'),
  'XHTTP stream-one': xhttp('stream-one', 'h2'),
}
const heads = { VLESS: [vlessHead, 2], Trojan: [trojanHead, 0] } as const

/** A CONNECT of HTTP/2. */
async function openConnect(of: BoughtDevice, authority: string, more: Record<string, string> = {}) {
  const { tlsPort, made } = path.entry
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca: made.cert, checkServerIdentity: () => undefined })
  session.on('error', () => {})
  const login = basic({ username: of.id, password: of.password, port: tlsPort })
  const stream = session.request({
    ':method': 'CONNECT',
    ':authority': authority,
    'proxy-authorization': login,
    ...more,
  })
  const inbox = new Inbox()
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()))
  stream.on('data', (bytes: Buffer) => inbox.add(bytes)).on('error', () => {})
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
  return { status: answer[':status'], stream, inbox, closed, close: () => session.destroy() }
}

const echo = (): string => `127.0.0.1:${path.entry.echo.spot.port}`

/** The exit has relayed what was billed, which is what was carried. */
async function expectCounted(): Promise<void> {
  const first = path.entry.bytesOfFirst
  const wanted = { received: carried + first, sent: carried + first }
  await untilTrue(async () => (await path.entry.counted(path.entry.device)).received >= wanted.received)
  expect(await path.entry.counted(path.entry.device)).toEqual(wanted)
  await untilTrue(async () => (await path.relayed()) >= 2 * carried)
  expect(await path.relayed()).toBe(2 * carried)
}

test.each(Object.keys(carriers).flatMap((carrier) => Object.keys(heads).map((protocol) => [protocol, carrier])))(
  '%s over %s enters at the entry and leaves at the exit',
  async (protocol, carrier) => {
    const [head, answerBytes] = heads[protocol as keyof typeof heads]
    const line = await (carriers[carrier] ?? expect.unreachable())(device)
    const payload = randomBytes(payloadBytes)
    line.send(head(device, path.entry.echo.spot, 'tcp'))
    line.send(payload)
    expect((await line.read(answerBytes + payloadBytes)).subarray(answerBytes).equals(payload)).toBe(true)
    carried += payloadBytes
    await expectCounted()
    line.close()
  },
)

test.each(['VLESS', 'Trojan'] as const)('UDP of %s leaves at the exit', async (protocol) => {
  const { tlsPort, made, udpEcho } = path.entry
  const client = await KeyClient.open(tlsPort, made, heads[protocol][0](device, udpEcho, 'udp'))
  for (const text of ['hello', 'x'.repeat(1400)]) {
    client.sendDatagram(text, udpEcho.port)
    expect(await client.readDatagram()).toBe(text)
    carried += text.length
  }
  await expectCounted()
  client.close()
})

test('Mux carries TCP and XUDP, which leave at the exit', async () => {
  const mux = MuxClient.open(await openTlsStream(path.entry.tlsPort, path.entry.made), device)
  mux.associate(0, path.entry.udpEcho.port, 'datagram', [1, 2, 3, 4, 5, 6, 7, 8])
  expect((await mux.receive()).text).toBe('datagram')
  mux.connect(1, path.entry.echo.spot.port, 'stream')
  expect((await mux.read(1, 6)).toString()).toBe('stream')
  carried += 14
  await expectCounted()
  mux.close()
})

test('CONNECT of HTTP/2, with NaïveProxy’s padding and without, leaves at the exit', async () => {
  const plain = await openConnect(device, echo())
  plain.stream.write('hello')
  expect((await plain.inbox.read(5)).toString()).toBe('hello')
  const naive = await openConnect(device, echo(), { padding: '~'.repeat(20), 'padding-type-request': '1, 0' })
  naive.stream.write(Buffer.concat([Buffer.of(0, 5, 2), Buffer.from('naive'), Buffer.alloc(2)]))
  expect((await naive.inbox.read(3)).readUInt16BE()).toBe(5)
  expect((await naive.inbox.read(5)).toString()).toBe('naive')
  carried += 10
  await expectCounted()
  for (const each of [plain, naive]) each.close()
})

test('CONNECT of HTTP/1.1 leaves at the exit', async () => {
  const line = await openTlsStream(path.entry.tlsPort, path.entry.made)
  const login = basic({ username: device.id, password: device.password, port: path.entry.tlsPort })
  line.send(Buffer.from(`CONNECT ${echo()} HTTP/1.1\r\nHost: ${echo()}\r\nProxy-Authorization: ${login}\r\n\r\nhello`))
  expect((await line.read(12)).toString()).toBe('HTTP/1.1 200')
  for (let text = ''; !text.endsWith('\r\n\r\n'); ) text += (await line.read(1)).toString('latin1')
  expect((await line.read(5)).toString()).toBe('hello')
  carried += 5
  await expectCounted()
  line.close()
})

test('TrustTunnel’s _check and _udp2 take the login of an exit, and its datagrams leave there', async () => {
  expect((await openConnect(device, '_check')).status).toBe(200)
  const { stream, inbox, close } = await openConnect(device, '_udp2')
  const spot = (port: number): Buffer =>
    Buffer.concat([Buffer.alloc(12), Buffer.of(127, 0, 0, 1, port >> 8, port & 255)])
  const [source, to] = [spot(5000), spot(path.entry.udpEcho.port)]
  const rest = Buffer.concat([source, to, Buffer.of(3), Buffer.from('apphello')])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(rest.length)
  stream.write(Buffer.concat([length, rest]))
  const got = await inbox.read((await inbox.read(4)).readUInt32BE())
  expect(got.toString('hex')).toBe(Buffer.concat([to, source, Buffer.from('hello')]).toString('hex'))
  carried += 5
  await expectCounted()
  close()
})

test('a device’s own keys leave at the entry, and its keys for the exit are unknown at the exit itself', async () => {
  const relayed = await path.relayed()
  await path.entry.addDevice()
  const strange = await KeyClient.open(
    path.exitAt.tlsPort,
    path.exitAt.made,
    vlessHead(device, path.entry.echo.spot, 'tcp'),
  )
  strange.send('hello')
  expect(await strange.readText(5)).not.toBe('hello')
  strange.close()
  expect(await path.relayed()).toBe(relayed)
})

test('a removed device loses its tunnels and datagrams through the exit within 2 s', async () => {
  const added = await path.entry.addDevice()
  const keys = await path.keysForExit(added)
  const lines = await Promise.all(Object.values(carriers).map((open) => open(keys)))
  for (const line of lines) {
    line.send(vlessHead(keys, path.entry.echo.spot, 'tcp'))
    line.send(Buffer.from('hello'))
    expect((await line.read(7)).subarray(2).toString()).toBe('hello')
  }
  const mux = MuxClient.open(await openTlsStream(path.entry.tlsPort, path.entry.made), keys)
  mux.associate(0, path.entry.udpEcho.port, 'hi')
  expect((await mux.receive()).text).toBe('hi')
  const connect = await openConnect(keys, echo())
  const kept = await openConnect(device, echo())
  const watch = startStopwatch()
  await path.entry.remove(added)
  await Promise.all([...lines.map(({ closed }) => closed), mux.closed, connect.closed])
  expect(watch.elapsedMs()).toBeLessThan(cutMs)
  kept.stream.write('still')
  expect((await kept.inbox.read(5)).toString()).toBe('still')
  carried += 5
  kept.close()
})

test('removing a device ends its streams of an HTTP/2 connection that another device shares, through the exit too', async () => {
  const added = await path.entry.addDevice()
  const { tlsPort, made } = path.entry
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca: made.cert, checkServerIdentity: () => undefined })
  session.on('error', () => {})
  const open = async (of: BoughtDevice) => {
    const login = basic({ username: of.id, password: of.password, port: tlsPort })
    const stream = session.request({ ':method': 'CONNECT', ':authority': echo(), 'proxy-authorization': login })
    const inbox = new Inbox()
    const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()))
    stream.on('data', (bytes: Buffer) => inbox.add(bytes)).on('error', () => {})
    stream.write('hello')
    expect((await inbox.read(5)).toString()).toBe('hello')
    return { stream, inbox, closed }
  }
  const removed = [await open(added), await open(await path.keysForExit(added))]
  const kept = [await open(path.entry.device), await open(device)]
  const watch = startStopwatch()
  await path.entry.remove(added)
  await Promise.all(removed.map(({ closed }) => closed))
  expect(watch.elapsedMs()).toBeLessThan(cutMs)
  for (const { stream, inbox } of kept) {
    stream.write('still')
    expect((await inbox.read(5)).toString()).toBe('still')
  }
  session.destroy()
})

test('an exit that ends is left out of the link, and ending the path cuts its tunnels', async () => {
  const tunnel = await openConnect(device, echo())
  await path.run('node', 'exit', path.exit.name)
  await tunnel.closed
  expect((await openConnect(device, echo())).status).not.toBe(200)
  await path.run('node', 'exit', path.exit.name, '--via', path.entryName)
  await untilTrue(async () => (await openConnect(device, echo())).status === 200)
  await path.exit.kill()
  await untilTrue(async () => (await path.keysForExit(path.entry.device).catch(() => 'none')) === 'none')
  expect(await findingsOf(path.entry.shop.services)).toEqual([])
})
