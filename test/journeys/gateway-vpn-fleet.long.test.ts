import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { connect as connectHttp2 } from 'node:http2'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { makeCertificate, putCertificate } from '../harness/certificates.ts'
import { type DeviceStream, Inbox, openTlsStream, openWebSocket } from '../harness/device-stream.ts'
import { freePort } from '../harness/gateway.ts'
import { type GatewayProcess, makeGatewayProcess } from '../harness/gateway-process.ts'
import { KeyClient, trojanHead, vlessHead } from '../harness/key-client.ts'
import { MuxClient } from '../harness/mux-client.ts'
import { basic } from '../harness/transfers.ts'
import { runCommand, testDatabaseEnv, untilTrue } from '../harness/turnpike.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'
import { openXhttp } from '../harness/xhttp-client.ts'

const payloadBytes = 50_000
const [exitPort, exitTlsPort] = [freePort(), freePort()]
let entry: VpnGateway
let exit: GatewayProcess
let files: ReturnType<typeof putCertificate>
let carried: number

/** The gateway of `openVpnGateway` is the entry, and another one its exit. */
beforeAll(async () => {
  entry = await openVpnGateway()
  const made = await makeCertificate('exit')
  files = putCertificate(made)
  exit = await makeGatewayProcess(entry.shop, exitPort, {
    ...files.env,
    TURNPIKE_GATEWAY_TLS_PORT: String(exitTlsPort),
    TURNPIKE_GATEWAY_VPN: 'on',
  })
  await exit.start()
  const env = testDatabaseEnv(entry.shop.testDatabase)
  const entryName = `gateway-${entry.shop.port}`
  expect((await runCommand(['node', 'entry', entryName], env)).exit).toBe(0)
  expect((await runCommand(['node', 'exit', exit.name, '--via', entryName], env)).exit).toBe(0)
  carried = entry.bytesOfFirst
  places = [
    { tlsPort: entry.tlsPort, made: entry.made },
    { tlsPort: exitTlsPort, made },
  ]
})
afterAll(async () => {
  await exit.stop()
  exit.remove()
  files.remove()
  await entry.stop()
})

type Place = Pick<VpnGateway, 'tlsPort' | 'made'>
let places: readonly Place[] = []
const path = (): string => pathOfDevice(createHash('sha256').update(entry.device.uuid).digest('hex'))

const carriers: readonly (readonly [string, (at: Place) => Promise<DeviceStream>])[] = [
  ['TLS', ({ tlsPort, made }) => openTlsStream(tlsPort, made)],
  ['a WebSocket', ({ tlsPort, made }) => openWebSocket(tlsPort, made, path())],
  ['XHTTP packet-up', (at) => openXhttp({ ...at, path: path() }, 'packet-up', 'h2')],
  ['XHTTP stream-up', (at) => openXhttp({ ...at, path: path() }, 'stream-up', 'http/1.1')],
]

/** A head of so many bytes precedes the answer. */
async function expectEcho(line: DeviceStream, head: Uint8Array, before: number): Promise<void> {
  const payload = randomBytes(payloadBytes)
  line.send(head)
  line.send(payload)
  expect((await line.read(before + payloadBytes)).subarray(before).equals(payload)).toBe(true)
  carried += payloadBytes
  line.close()
}

async function expectDatagrams(at: Place): Promise<void> {
  for (const head of [vlessHead, trojanHead]) {
    const client = await KeyClient.open(at.tlsPort, at.made, head(entry.device, entry.udpEcho, 'udp'))
    client.sendDatagram('hello', entry.udpEcho.port)
    expect(await client.readDatagram()).toBe('hello')
    client.close()
  }
  const mux = MuxClient.open(await openTlsStream(at.tlsPort, at.made), entry.device)
  mux.associate(0, entry.udpEcho.port, 'hello')
  expect((await mux.receive()).text).toBe('hello')
  mux.close()
  carried += 3 * 5
}

async function expectConnect({ tlsPort, made }: Place): Promise<void> {
  const session = connectHttp2(`https://127.0.0.1:${tlsPort}`, { ca: made.cert, checkServerIdentity: () => undefined })
  const { id, password } = entry.device
  const stream = session.request({
    ':method': 'CONNECT',
    ':authority': `127.0.0.1:${entry.echo.spot.port}`,
    'proxy-authorization': basic({ username: id, password, port: tlsPort }),
  })
  const inbox = new Inbox()
  stream.on('data', (bytes: Buffer) => inbox.add(bytes))
  stream.write('hello')
  expect((await inbox.read(5)).toString()).toBe('hello')
  carried += 5
  session.destroy()
}

test('a VPN device is served by every protocol at an entry and at its exit, and each byte is billed once', async () => {
  for (const at of places) {
    await untilTrue(async () => {
      const client = await KeyClient.open(at.tlsPort, at.made, vlessHead(entry.device, entry.echo.spot, 'tcp'))
      client.send('hello')
      const isCarried = (await client.readText(5)) === 'hello'
      client.close()
      if (isCarried) carried += 5
      return isCarried
    })
    for (const [, open] of carriers) {
      await expectEcho(await open(at), vlessHead(entry.device, entry.echo.spot, 'tcp'), 2)
      await expectEcho(await open(at), trojanHead(entry.device, entry.echo.spot, 'tcp'), 0)
    }
    await expectDatagrams(at)
    await expectConnect(at)
  }
  await untilTrue(async () => (await entry.counted(entry.device)).received >= carried)
  expect(await entry.counted(entry.device)).toEqual({ received: carried, sent: carried })
})
