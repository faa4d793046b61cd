import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { type DeviceStream, openTls, openTlsStream, openWebSocket } from '../harness/device-stream.ts'
import { gatewayEngine } from '../harness/engine.ts'
import type { BoughtDevice } from '../harness/gateway.ts'
import { trojanHead, vlessHead } from '../harness/key-client.ts'
import { MuxClient } from '../harness/mux-client.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { UdpPeer } from '../harness/udp.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'
import { WireClient } from '../harness/wire-client.ts'
import { openXhttp, sendPackets, toPacket } from '../harness/xhttp-client.ts'

/** Longest time from a removal until the last byte. */
const cutMs = 2000
const globalId = [1, 2, 3, 4, 5, 6, 7, 8]

let gateway: VpnGateway
beforeAll(async () => {
  gateway = await openVpnGateway()
})
afterAll(() => gateway.stop())

/** Waits until the shop has counted exactly these bytes beside those of the device's first tunnel. */
async function expectCounted(device: BoughtDevice, bytes: { sent: number; received: number }): Promise<void> {
  const first = gateway.bytesOfFirst
  const wanted = { sent: bytes.sent + first, received: bytes.received + first }
  await untilTrue(async () => {
    const { sent, received } = await gateway.counted(device)
    return sent >= wanted.sent && received >= wanted.received
  })
  expect(await gateway.counted(device)).toEqual(wanted)
}

/** The site answers a request of the device's path that is no stream. */
async function expectSite(device: BoughtDevice): Promise<void> {
  const line = await openTls(gateway.tlsPort, gateway.made)
  line.write(`GET ${pathOf(device)}/a-session HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
  let text = ''
  line.on('data', (bytes: Buffer) => void (text += bytes.toString('latin1')))
  await new Promise((resolve) => line.once('close', resolve))
  expect(text).toStartWith('HTTP/1.1 404')
}

const openLine = (): Promise<DeviceStream> => openTlsStream(gateway.tlsPort, gateway.made)

test('20 TCP sub-streams of one connection carry 100 kB each, and exactly these bytes are billed', async () => {
  const device = await gateway.addDevice()
  const mux = MuxClient.open(await openLine(), device)
  const ids = Array.from({ length: 20 }, (_, index) => index + 1)
  const payloads = ids.map((id) => Buffer.alloc(100_000, `${id},`))
  for (const id of ids) mux.connect(id, gateway.echo.spot.port)
  for (const [index, id] of ids.entries()) mux.write(id, payloads[index] ?? '')
  const answers = await Promise.all(ids.map((id) => mux.read(id, 100_000)))
  expect(answers.map((each, index) => each.equals(payloads[index] ?? each.subarray(1)))).toEqual(ids.map(() => true))
  await expectCounted(device, { sent: 2_000_000, received: 2_000_000 })
  mux.close()
})

test('XUDP carries datagrams to two destinations, with their sources, and bills their payload', async () => {
  const device = await gateway.addDevice()
  const other = await UdpPeer.open('127.0.0.1', true)
  const mux = MuxClient.open(await openLine(), device)
  mux.associate(0, gateway.udpEcho.port, 'first', globalId)
  expect(await mux.receive()).toEqual({ text: 'first', port: gateway.udpEcho.port })
  mux.datagram(0, 'second', other.port)
  expect(await mux.receive()).toEqual({ text: 'second', port: other.port })
  mux.datagram(0, 'third')
  expect(await mux.receive()).toEqual({ text: 'third', port: gateway.udpEcho.port })
  await expectCounted(device, { sent: 16, received: 16 })
  mux.close()
  other.stop()
})

test('XUDP with the same global id keeps its UDP port on the next connection, and for no other device', async () => {
  const peer = await UdpPeer.open('127.0.0.1', true)
  const other = await gateway.addDevice()
  for (const device of [gateway.device, gateway.device, other]) {
    const mux = MuxClient.open(await openLine(), device)
    mux.associate(0, peer.port, 'hi', globalId)
    await mux.receive()
    // The next one continues while this connection is still open.
    if (device === other) mux.close()
  }
  const [first, second, third] = peer.received.map(({ port }) => port)
  expect(second).toBe(first ?? 0)
  expect(third).not.toBe(first ?? 0)
  const mux = MuxClient.open(await openLine(), other)
  mux.associate(0, peer.port, 'after the close', globalId)
  expect((await mux.receive()).text).toBe('after the close')
  expect(peer.received.at(-1)?.port).toBe(third ?? 0)
  mux.close()
  peer.stop()
})

test('a sub-stream to a denied port is given up, and the others of the connection continue', async () => {
  const mux = MuxClient.open(await openLine(), gateway.device)
  mux.connect(1, gateway.echo.spot.port, 'one')
  mux.connect(2, 25, 'two')
  expect(await mux.endOf(2)).toBe(true)
  expect((await mux.read(1, 3)).toString()).toBe('one')
  mux.close()
})

test('a client may half-close a sub-stream and read the rest of its answer', async () => {
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    allowHalfOpen: true,
    socket: { data() {}, end: (socket) => void socket.end('after the end') },
  })
  const mux = MuxClient.open(await openLine(), gateway.device)
  mux.connect(1, server.port, 'x')
  mux.end(1)
  expect((await mux.read(1, 13)).toString()).toBe('after the end')
  expect(await mux.endOf(1)).toBe(false)
  mux.close()
  server.stop(true)
})

test('a connection opens 128 of 130 sub-streams and gives up 2', async () => {
  const mux = MuxClient.open(await openLine(), gateway.device)
  for (let id = 1; id <= 130; id += 1) mux.connect(id, gateway.echo.spot.port, 'x')
  await Promise.all(Array.from({ length: 128 }, (_, index) => mux.read(index + 1, 1)))
  expect([await mux.endOf(129), await mux.endOf(130)]).toEqual([true, true])
  mux.close()
})

test('removing a device closes its Mux connections within 2 s, also unused ones', async () => {
  const removed = await gateway.addDevice()
  const [busy, unused] = await Promise.all([openLine(), openLine()])
  const clients = [MuxClient.open(busy, removed), MuxClient.open(unused, removed)]
  clients[0]?.connect(1, gateway.echo.spot.port, 'hello')
  await clients[0]?.read(1, 5)
  clients[0]?.associate(2, gateway.udpEcho.port, 'hi', globalId)
  await clients[0]?.receive()
  const watch = startStopwatch()
  await gateway.remove(removed)
  await Promise.all(clients.map(({ closed }) => closed))
  expect(watch.elapsedMs()).toBeLessThan(cutMs)
})

const pathOf = ({ uuid }: BoughtDevice): string => pathOfDevice(createHash('sha256').update(uuid).digest('hex'))
const whereOf = (device: BoughtDevice) => ({ ...gateway, path: pathOf(device) })
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Ways to carry a device's bytes, without its head. */
const carriers: readonly (readonly [string, (device: BoughtDevice) => Promise<DeviceStream>])[] = [
  ['a WebSocket', (device) => openWebSocket(gateway.tlsPort, gateway.made, pathOf(device))],
  ...(['packet-up', 'stream-up', 'stream-one'] as const).flatMap((mode) =>
    (['h2', 'http/1.1'] as const).map(
      (version) =>
        [`XHTTP ${mode} over ${version}`, (device: BoughtDevice) => openXhttp(whereOf(device), mode, version)] as const,
    ),
  ),
]

test.each(carriers)(
  'VLESS over %s carries 300 kB to an echo and back, and exactly these bytes are billed',
  async (...[, open]) => {
    const device = await gateway.addDevice()
    const line = await open(device)
    const payload = randomBytes(300_000)
    line.send(vlessHead(device, gateway.echo.spot, 'tcp'))
    line.send(payload)
    expect([...(await line.read(2))]).toEqual([0, 0])
    expect(digestOf(await line.read(payload.length))).toBe(digestOf(payload))
    await expectCounted(device, { sent: payload.length, received: payload.length })
    line.close()
  },
)

test.each(carriers)(
  'Mux over %s carries datagrams to a UDP echo and back, and bills their payload',
  async (...[, open]) => {
    const device = await gateway.addDevice()
    const mux = MuxClient.open(await open(device), device)
    mux.associate(0, gateway.udpEcho.port, 'first', globalId)
    expect((await mux.receive()).text).toBe('first')
    mux.connect(1, gateway.echo.spot.port, 'a stream')
    expect((await mux.read(1, 8)).toString()).toBe('a stream')
    await expectCounted(device, { sent: 13, received: 13 })
    mux.close()
  },
)

test('Trojan over a WebSocket takes the head as early data', async () => {
  const { device, tlsPort, made, echo } = gateway
  const line = await openWebSocket(tlsPort, made, `${pathOf(device)}?ed=2048`, trojanHead(device, echo.spot, 'tcp'))
  line.send(Buffer.from('hello'))
  expect((await line.read(5)).toString()).toBe('hello')
  line.close()
})

test('removing a device closes its streams over WebSocket and XHTTP within 2 s', async () => {
  const removed = await gateway.addDevice()
  const lines = await Promise.all(carriers.map(([, open]) => open(removed)))
  for (const line of lines) {
    line.send(vlessHead(removed, gateway.echo.spot, 'tcp'))
    line.send(Buffer.from('hello'))
    expect((await line.read(7)).toString()).toBe('\0\0hello')
  }
  const watch = startStopwatch()
  await gateway.remove(removed)
  await Promise.all(lines.map(({ closed }) => closed))
  expect(watch.elapsedMs()).toBeLessThan(cutMs)
  const after = await openWebSocket(gateway.tlsPort, gateway.made, pathOf(removed))
  expect(after.status).toBe(404)
  for (const line of [...lines, after]) line.close()
})

test('XHTTP passes packets on in the order of their numbers, not of their arrival', async () => {
  const { device } = gateway
  const line = await openXhttp(whereOf(device), 'packet-up', 'h2')
  const head = vlessHead(device, gateway.echo.spot, 'tcp')
  const parts = ['one ', 'two ', 'three'].map((text) => Buffer.from(text))
  const [first, second, third] = parts as [Buffer, Buffer, Buffer]
  await sendPackets(whereOf(device), line.session, [
    [3, third],
    [1, first],
    [2, second],
    [0, head],
  ])
  expect((await line.read(15)).toString()).toBe('\0\0one two three')
  line.close()
})

// Bun closes a paused socket at a reset, so the portable engine keeps only what was read ahead.
test.each(gatewayEngine === 'linux' ? ['before', 'after'] : ['after'])(
  'XHTTP over HTTP/1.1 carries packets that wait for their turn when their client resets the connection, %s the key has come',
  async (when) => {
    const device = await gateway.addDevice()
    const line = await openXhttp(whereOf(device), 'packet-up', 'http/1.1')
    const head = [0, vlessHead(device, gateway.echo.spot, 'tcp')] as const
    if (when === 'after') await sendPackets(whereOf(device), line.session, [head])
    const uploads = await WireClient.connect(gateway.tlsPort, undefined, undefined, true)
    const waiting = (
      [
        [2, 'two '],
        [4, 'four'],
      ] as const
    ).map(([seq, text]) => toPacket(`${pathOf(device)}/${line.session}/${seq}`, Buffer.from(text)))
    await uploads.send(Buffer.concat(waiting))
    await uploads.reset()
    // The gateway has noticed the reset once it has answered on a later connection.
    await expectSite(device)
    const rest = [
      [1, Buffer.from('one ')],
      [3, Buffer.from('three ')],
    ] as const
    await sendPackets(whereOf(device), line.session, when === 'after' ? rest : [head, ...rest])
    expect((await line.read(20)).toString()).toBe('\0\0one two three four')
    await expectCounted(device, { sent: 18, received: 18 })
    line.close()
  },
)

test('XHTTP resets a session at a packet 31 ahead, one of 1,000,001 bytes and one that came before', async () => {
  const { device } = gateway
  const head = vlessHead(device, gateway.echo.spot, 'tcp')
  const wrong: readonly (readonly (readonly [number, Uint8Array])[])[] = [
    [[31, head]],
    [[0, Buffer.concat([head, Buffer.alloc(1_000_001 - head.length)])]],
    [
      [0, head],
      [0, head],
    ],
  ]
  for (const packets of wrong) {
    const line = await openXhttp(whereOf(device), 'packet-up', 'h2')
    await sendPackets(whereOf(device), line.session, packets)
    await line.closed
    line.close()
  }
})

test('XHTTP does not read packets whose download has not come, and resets the 31st', async () => {
  const { device } = gateway
  const packets = Array.from({ length: 31 }, (_, seq) => [seq, Buffer.alloc(1000)] as const)
  await sendPackets(whereOf(device), 'without-download', packets)
})

test('a path of one device carries no other device', async () => {
  const other = await gateway.addDevice()
  for (const [, open] of carriers) {
    const line = await open(gateway.device)
    line.send(vlessHead(other, gateway.echo.spot, 'tcp'))
    expect((await line.read(1)).length).toBe(0)
    line.close()
  }
})

test('a request of a device’s path that is neither WebSocket nor XHTTP gets the site’s answer', async () => {
  const answers = await Promise.all(
    [`${pathOf(gateway.device)}/a-session`, '/another'].map(async (path) => {
      const line = await openTls(gateway.tlsPort, gateway.made)
      line.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      let text = ''
      line.on('data', (bytes: Buffer) => void (text += bytes.toString('latin1')))
      await new Promise((resolve) => line.once('close', resolve))
      return text.replace(/Date: .*/, '')
    }),
  )
  expect(answers[0]).toBe(answers[1] ?? '')
  expect(answers[0]).toStartWith('HTTP/1.1 404')
})
