import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { Inbox } from '../harness/device-stream.ts'
import type { BoughtDevice } from '../harness/gateway.ts'
import { basic } from '../harness/transfers.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'

let gateway: VpnGateway
let session: ClientHttp2Session
beforeAll(async () => {
  gateway = await openVpnGateway()
  session = connectHttp2(`https://127.0.0.1:${gateway.tlsPort}`, {
    ca: gateway.made.cert,
    checkServerIdentity: () => undefined,
  })
})
afterAll(async () => {
  session.destroy()
  await gateway.stop()
})

const loginOf = ({ id, password }: BoughtDevice): string => basic({ username: id, password, port: gateway.tlsPort })

/** A CONNECT of HTTP/2, and its answer. */
async function openConnect(authority: string, login: string, more: Record<string, string> = {}) {
  const fields = { ':method': 'CONNECT', ':authority': authority, 'proxy-authorization': login, ...more }
  const stream = session.request(fields)
  const inbox = new Inbox()
  stream.on('data', (bytes: Buffer) => inbox.add(bytes))
  stream.on('error', () => {}).once('end', () => inbox.end())
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
  return { stream, inbox, answer }
}

test('a client of NaïveProxy has padding in its first 8 frames each way, and pays only for its bytes', async () => {
  const device = await gateway.addDevice()
  const authority = `127.0.0.1:${gateway.echo.spot.port}`
  const more = { padding: '~'.repeat(20), 'padding-type-request': '1, 0' }
  const { stream, inbox, answer } = await openConnect(authority, loginOf(device), more)
  expect(answer['padding-type-reply']).toBe('1')
  expect(String(answer['padding']).length).toBeWithin(30, 63)
  const parts = Array.from({ length: 8 }, () => randomBytes(1000))
  for (const [index, part] of parts.entries())
    stream.write(Buffer.concat([Buffer.of(1000 >> 8, 1000 & 255, index), part, Buffer.alloc(index)]))
  const last = randomBytes(5000)
  stream.write(last)
  const received: Buffer[] = []
  let frames = 0
  for (let left = 13_000; left > 0 && frames < 8; frames += 1) {
    const head = await inbox.read(3)
    const payload = await inbox.read(head.readUInt16BE())
    expect((await inbox.read(head[2] ?? 0)).every((byte) => byte === 0)).toBe(true)
    received.push(payload)
    left -= payload.length
  }
  received.push(await inbox.read(13_000 - Buffer.concat(received).length))
  expect(Buffer.concat(received).equals(Buffer.concat([...parts, last]))).toBe(true)
  const bytes = 13_000 + gateway.bytesOfFirst
  await untilTrue(async () => (await gateway.counted(device)).received >= bytes)
  expect(await gateway.counted(device)).toEqual({ sent: bytes, received: bytes })
  stream.destroy()
})

test('TrustTunnel’s _check is 200 with the device’s password, and the site’s 405 with another', async () => {
  const right = await openConnect('_check', loginOf(gateway.device))
  expect(right.answer[':status']).toBe(200)
  expect((await right.inbox.read(1)).length).toBe(0)
  const wrong = await openConnect('_check', loginOf({ ...gateway.device, password: 'wrong' }))
  expect(wrong.answer[':status']).toBe(405)
  const ping = await openConnect('_icmp', loginOf(gateway.device))
  expect(ping.answer[':status']).toBe(501)
})

test('TrustTunnel’s _udp2 carries datagrams of two client sockets and gives each its answer', async () => {
  const { stream, inbox, answer } = await openConnect('_udp2', loginOf(gateway.device))
  expect(answer[':status']).toBe(200)
  const spot = (last: number, port: number): Buffer =>
    Buffer.concat([Buffer.alloc(12), Buffer.of(127, 0, 0, last, port >> 8, port & 255)])
  const echo = spot(1, gateway.udpEcho.port)
  for (const [source, text] of [
    [spot(7, 5000), 'one'],
    [spot(8, 6000), 'two'],
  ] as const) {
    const rest = Buffer.concat([source, echo, Buffer.of(3), Buffer.from(`app${text}`)])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(rest.length)
    stream.write(Buffer.concat([length, rest]))
    const got = await inbox.read((await inbox.read(4)).readUInt32BE())
    expect(got.toString('hex')).toBe(Buffer.concat([echo, source, Buffer.from(text)]).toString('hex'))
  }
  stream.destroy()
})
