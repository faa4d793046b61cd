import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { pathOfDevice } from '../../src/core/device-path.ts'
import { type GatewayProtocol, gatewayProtocols } from '../../src/core/vpn-protocols.ts'
import { type DeviceStream, openTls, openTlsStream, openWebSocket } from '../harness/device-stream.ts'
import type { BoughtDevice } from '../harness/gateway.ts'
import { trojanHead, vlessHead } from '../harness/key-client.ts'
import { basic } from '../harness/transfers.ts'
import { openVpnGateway, type VpnGateway } from '../harness/vpn-gateway.ts'
import { openXhttp } from '../harness/xhttp-client.ts'

/** The machines of the five devices are at the first address; another machine is at the second. */
const [home, elsewhere] = ['127.0.0.1', '127.0.0.7']

let gateway: VpnGateway
beforeAll(async () => {
  gateway = await openVpnGateway()
  for (let added = 0; added < 4; added += 1) await gateway.addDevice()
  expect((await gateway.shop.get('/vpn/info')).data).toMatchObject({ device_limit: 5, limited_by: ['devices'] })
})
afterAll(() => gateway.stop())

const pathOf = ({ uuid }: BoughtDevice): string => pathOfDevice(createHash('sha256').update(uuid).digest('hex'))
const loginOf = ({ id, password }: BoughtDevice): string => basic({ username: id, password, port: gateway.tlsPort })

/** Whether a stream carries 5 bytes to the echo and back. */
async function isCarried(stream: DeviceStream, head: Uint8Array, answerBytes: number): Promise<boolean> {
  stream.send(Buffer.concat([head, Buffer.from('hello')]))
  const got = await stream.read(answerBytes + 5)
  stream.close()
  return got.subarray(answerBytes).toString() === 'hello'
}

/** The status of a CONNECT of HTTP/2. */
async function statusOf(from: string, authority: string, more: Record<string, string> = {}): Promise<number> {
  const line = await openTls(gateway.tlsPort, gateway.made, 'h2', from)
  const session = connectHttp2(`https://127.0.0.1:${gateway.tlsPort}`, { createConnection: () => line })
  session.on('error', () => {})
  const login = loginOf(gateway.device)
  const stream = session.request({
    ':method': 'CONNECT',
    ':authority': authority,
    'proxy-authorization': login,
    ...more,
  })
  stream.on('error', () => {})
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
  session.destroy()
  return answer[':status'] ?? 0
}

const echo = (): string => `127.0.0.1:${gateway.echo.spot.port}`

/** Whether the first device's key opens a tunnel from an address, in each protocol. */
const opens: Record<GatewayProtocol, (from: string) => Promise<boolean>> = {
  vless: async (from) =>
    isCarried(
      await openTlsStream(gateway.tlsPort, gateway.made, from),
      vlessHead(gateway.device, gateway.echo.spot, 'tcp'),
      2,
    ),
  trojan: async (from) =>
    isCarried(
      await openTlsStream(gateway.tlsPort, gateway.made, from),
      trojanHead(gateway.device, gateway.echo.spot, 'tcp'),
      0,
    ),
  websocket: async (from) =>
    isCarried(
      await openWebSocket(gateway.tlsPort, gateway.made, pathOf(gateway.device), undefined, from),
      vlessHead(gateway.device, gateway.echo.spot, 'tcp'),
      2,
    ),
  xhttp: async (from) => {
    const where = {
      tlsPort: gateway.tlsPort,
      made: gateway.made,
      path: pathOf(gateway.device),
      nextAddress: () => from,
    }
    const stream = await openXhttp(where, 'stream-one', 'h2')
    return isCarried(stream, vlessHead(gateway.device, gateway.echo.spot, 'tcp'), 2)
  },
  http: async (from) => {
    const line = await openTlsStream(gateway.tlsPort, gateway.made, from)
    const head = `CONNECT ${echo()} HTTP/1.1\r\nHost: ${echo()}\r\nProxy-Authorization: ${loginOf(gateway.device)}\r\n\r\n`
    line.send(Buffer.from(head))
    const status = (await line.read(12)).toString().slice(9)
    line.close()
    return status === '200'
  },
  naive: async (from) => (await statusOf(from, echo(), { padding: '~'.repeat(20) })) === 200,
  trusttunnel: async (from) => (await statusOf(from, '_udp2')) === 200,
}

test.each([...gatewayProtocols])(
  'a sixth machine with a copied key is refused over %s on a limit of five, and the five are not',
  async (protocol) => {
    expect(await opens[protocol](home)).toBe(true)
    expect(await opens[protocol](elsewhere)).toBe(false)
    expect(await opens[protocol](home)).toBe(true)
  },
)

test('a refused machine opens tunnels once a removed device has left a slot', async () => {
  const devices: { id: string }[] = (await gateway.shop.get('/vpn/info')).data.devices
  const removed = devices.find(({ id }) => id !== gateway.device.id)
  await gateway.shop.post('/vpn/devices/remove', { device: removed?.id })
  expect(await opens.trojan(elsewhere)).toBe(true)
})
