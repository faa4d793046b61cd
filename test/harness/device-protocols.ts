import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { pathOfDevice } from '../../src/core/device-path.ts'
import type { GatewayProtocol } from '../../src/core/vpn-protocols.ts'
import type { Made } from './certificates.ts'
import { type DeviceStream, openTls, openTlsStream, openWebSocket } from './device-stream.ts'
import type { BoughtDevice } from './gateway.ts'
import { trojanHead, vlessHead } from './key-client.ts'
import { basic } from './transfers.ts'
import { openXhttp } from './xhttp-client.ts'

/** A gateway's TLS port, and an echo on this machine that devices reach through it. */
export type DevicePlace = {
  readonly tlsPort: number
  readonly made: Made
  readonly echo: { readonly spot: { readonly port: number } }
}

const pathOf = ({ uuid }: BoughtDevice): string => pathOfDevice(createHash('sha256').update(uuid).digest('hex'))
const loginOf = ({ id, password }: BoughtDevice, port: number): string => basic({ username: id, password, port })
const echoOf = ({ echo }: DevicePlace): string => `127.0.0.1:${echo.spot.port}`

/** Whether a stream carries 5 bytes to the echo and back. */
async function isCarried(stream: DeviceStream, head: Uint8Array, answerBytes: number): Promise<boolean> {
  stream.send(Buffer.concat([head, Buffer.from('hello')]))
  const got = await stream.read(answerBytes + 5)
  stream.close()
  return got.subarray(answerBytes).toString() === 'hello'
}

/** The status of a CONNECT of HTTP/2. */
async function statusOf(
  at: DevicePlace,
  device: BoughtDevice,
  from: string,
  authority: string,
  more: Record<string, string> = {},
): Promise<number> {
  const line = await openTls(at.tlsPort, at.made, 'h2', from)
  const session = connectHttp2(`https://127.0.0.1:${at.tlsPort}`, { createConnection: () => line })
  session.on('error', () => {})
  const stream = session.request({
    ':method': 'CONNECT',
    ':authority': authority,
    'proxy-authorization': loginOf(device, at.tlsPort),
    ...more,
  })
  stream.on('error', () => {})
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
  session.destroy()
  return answer[':status'] ?? 0
}

/** Whether a device's key opens a tunnel from an address of this machine, in each protocol. */
export const opensTunnel: Record<
  GatewayProtocol,
  (at: DevicePlace, device: BoughtDevice, from: string) => Promise<boolean>
> = {
  vless: async (at, device, from) =>
    isCarried(await openTlsStream(at.tlsPort, at.made, from), vlessHead(device, at.echo.spot, 'tcp'), 2),
  trojan: async (at, device, from) =>
    isCarried(await openTlsStream(at.tlsPort, at.made, from), trojanHead(device, at.echo.spot, 'tcp'), 0),
  websocket: async (at, device, from) =>
    isCarried(
      await openWebSocket(at.tlsPort, at.made, pathOf(device), undefined, from),
      vlessHead(device, at.echo.spot, 'tcp'),
      2,
    ),
  xhttp: async (at, device, from) => {
    const where = { tlsPort: at.tlsPort, made: at.made, path: pathOf(device), nextAddress: () => from }
    return isCarried(await openXhttp(where, 'stream-one', 'h2'), vlessHead(device, at.echo.spot, 'tcp'), 2)
  },
  http: async (at, device, from) => {
    const line = await openTlsStream(at.tlsPort, at.made, from)
    const login = `Proxy-Authorization: ${loginOf(device, at.tlsPort)}`
    line.send(Buffer.from(`CONNECT ${echoOf(at)} HTTP/1.1\r\nHost: ${echoOf(at)}\r\n${login}\r\n\r\n`))
    const status = (await line.read(12)).toString().slice(9)
    line.close()
    return status === '200'
  },
  naive: async (at, device, from) =>
    (await statusOf(at, device, from, echoOf(at), { padding: '~'.repeat(20) })) === 200,
  trusttunnel: async (at, device, from) => (await statusOf(at, device, from, '_udp2')) === 200,
}
