import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { createDice } from '../harness/dice.ts'
import { vlessHead } from '../harness/key-client.ts'
import { isLong, scaled } from '../harness/scale.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'
import { WireClient } from '../harness/wire-client.ts'
import { openXhttp, openXhttpBy, overHttp2, type Requester, toPacket } from '../harness/xhttp-client.ts'

/**
 * Sessions at the same time, and HTTP/2 connections that they share. Each has up to seven requests before its key is
 * known, and a device at most 128 of those in a reactor.
 */
const sessions = Math.max(4, scaled(16))
const connections = 4
const payloadBytes = 100_000
/** Fewer than the machines that may use the device. */
const addresses = 4

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Sessions over HTTP/1.1 as Xray's client has them. */
const xraySessions = Math.max(4, scaled(40))
/** Bytes of a packet, and of all that one connection carries: they fit into the gateway's kernel at a reset. */
const maxPart = 8000
const maxOfConnection = 30_000

/**
 * Connections that packets of all sessions share, each for one at a time. Like Xray's client it reads no answers and
 * leaves connections to a garbage collector, which closes them at any time: with unread answers that is a reset.
 */
class PacketPool {
  dropped = 0
  private readonly free: { readonly client: WireClient; sent: number }[] = []

  constructor(
    private readonly dice: (sides: number) => number,
    private readonly open: () => Promise<WireClient>,
  ) {}

  async send(packet: Uint8Array): Promise<void> {
    const used = this.free.pop() ?? { client: await this.open(), sent: 0 }
    used.client.readOnly(0)
    await used.client.send(packet)
    used.sent += packet.length
    if (used.sent + packet.length <= maxOfConnection && this.dice(4) > 0) this.free.push(used)
    else this.drop(used.client)
  }

  close(): void {
    for (const { client } of this.free) this.drop(client)
  }

  private drop(client: WireClient): void {
    client.drop()
    this.dropped += 1
  }
}

/** Connections from different addresses reach different reactors of a gateway. */
describe.each(isLong ? [1, 2, 4] : [4])('XHTTP at a gateway with %i reactors', (reactors) => {
  let gateway: VpnGateway
  let path: string
  let carried: number
  const seed = Math.floor(Math.random() * 2 ** 31)
  const dice = createDice(seed)
  const nextAddress = (): string => `127.0.0.${1 + dice(addresses)}`
  const where = () => ({ ...gateway, path, nextAddress })

  beforeAll(async () => {
    gateway = await openVpnGateway({ TURNPIKE_GATEWAY_REACTORS: String(reactors) })
    path = pathOfDevice(createHash('sha256').update(gateway.device.uuid).digest('hex'))
    carried = gateway.bytesOfFirst
    // Each address counts as a machine with a copied key.
    await gateway.shop.services.db.transact((tx) => tx.run('UPDATE vpn_subscriptions SET device_limit = 300'))
  })
  afterAll(() => gateway.stop())

  /** Sends a payload to an echo through a stream, and expects it back and billed once each way. */
  async function expectEchoes(lines: readonly Awaited<ReturnType<typeof openXhttp>>[]): Promise<void> {
    const payloads = lines.map(() => randomBytes(payloadBytes))
    for (const [index, line] of lines.entries()) {
      line.send(vlessHead(gateway.device, gateway.echo.spot, 'tcp'))
      line.send(payloads[index] ?? new Uint8Array(0))
    }
    const answers = await Promise.all(lines.map((line) => line.read(2 + payloadBytes)))
    const digests = answers.map((each) => digestOf(each.subarray(2)))
    expect({ seed, digests }).toEqual({ seed, digests: payloads.map(digestOf) })
    carried += lines.length * payloadBytes
    await untilTrue(async () => (await gateway.counted(gateway.device)).received >= carried)
    expect(await gateway.counted(gateway.device)).toEqual({ sent: carried, received: carried })
    for (const line of lines) line.close()
  }

  test.each(['packet-up', 'stream-up'] as const)(
    'a session of %s carries 100 kB each way when each request has a connection of its own',
    async (mode) => {
      const lines = await Promise.all(Array.from({ length: 4 }, () => openXhttp(where(), mode, 'http/1.1')))
      await expectEchoes(lines)
    },
  )

  test.each(['packet-up', 'stream-up'] as const)(
    `${sessions} sessions of %s share ${connections} HTTP/2 connections, and each request takes any of them`,
    async (mode) => {
      const shared: Requester[] = await Promise.all(Array.from({ length: connections }, () => overHttp2(where())))
      const pick = (): Requester => shared[dice(connections)] ?? expect.unreachable()
      const lines = await Promise.all(Array.from({ length: sessions }, () => openXhttpBy(pick, path, mode)))
      await expectEchoes(lines)
      for (const each of shared) each.close()
    },
  )

  // Bun closes a paused socket at a reset: the portable engine has no reactors and is not tried here.
  test(`${xraySessions} sessions of packet-up share HTTP/1.1 connections whose answers are not read, and of which one in four is reset`, async () => {
    const lines = await Promise.all(
      Array.from({ length: xraySessions }, () => openXhttp(where(), 'packet-up', 'http/1.1')),
    )
    const pool = new PacketPool(dice, () => WireClient.connect(gateway.tlsPort, undefined, nextAddress(), true))
    const payloads = lines.map(() => randomBytes(payloadBytes))
    await Promise.all(
      lines.map(async ({ session }, index) => {
        const payload = payloads[index] ?? new Uint8Array(0)
        const parts: Uint8Array[] = [vlessHead(gateway.device, gateway.echo.spot, 'tcp')]
        for (let at = 0; at < payload.length; at += parts.at(-1)?.length ?? 0)
          parts.push(payload.subarray(at, at + 1 + dice(maxPart)))
        for (const [seq, part] of parts.entries()) await pool.send(toPacket(`${path}/${session}/${seq}`, part))
      }),
    )
    const answers = await Promise.all(lines.map((line) => line.read(2 + payloadBytes)))
    const digests = answers.map((each) => digestOf(each.subarray(2)))
    expect({ seed, digests }).toEqual({ seed, digests: payloads.map(digestOf) })
    expect(pool.dropped).toBeGreaterThan(0)
    carried += lines.length * payloadBytes
    await untilTrue(async () => (await gateway.counted(gateway.device)).received >= carried)
    expect(await gateway.counted(gateway.device)).toEqual({ sent: carried, received: carried })
    for (const line of lines) line.close()
    pool.close()
  })

  test('uploads that come before their download wait in other reactors, and go to it', async () => {
    const [early, late] = await Promise.all([overHttp2(where()), overHttp2(where())])
    for (let count = 0; count < 4; count += 1) {
      const session = crypto.randomUUID()
      const text = Buffer.concat([vlessHead(gateway.device, gateway.echo.spot, 'tcp'), Buffer.from('early')])
      const post = await early.open('POST', `${path}/${session}/0`, () => {}, text.length)
      post.end(text)
      const line = await openXhttpBy(() => late, path, 'packet-up', session)
      expect((await line.read(7)).toString()).toBe('\0\0early')
      await post.closed
    }
    carried += 4 * 5
    for (const each of [early, late]) each.close()
  })

  test('an upload that breaks off in another reactor ends its session', async () => {
    const [down, up] = await Promise.all([overHttp2(where()), overHttp2(where())])
    const session = crypto.randomUUID()
    const requesters = [down, up]
    const line = await openXhttpBy(() => requesters.shift() ?? up, path, 'stream-up', session)
    line.send(vlessHead(gateway.device, gateway.echo.spot, 'tcp'))
    line.send(Buffer.from('hello'))
    expect((await line.read(7)).toString()).toBe('\0\0hello')
    carried += 5
    up.close()
    await line.closed
    down.close()
  })
})
