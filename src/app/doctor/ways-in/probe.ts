import { connect as connectHttp2 } from 'node:http2'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { WayInStage } from '../messages-en.ts'
import { type DoctorKeys, openDeviceStream } from './streams.ts'
import { OpenSockets, openTcp, openTls, type Spot, type TlsSpot, WayInFailed } from './tls.ts'

export type WayInOutcome =
  | { readonly way: string; readonly at: Spot; readonly works: true }
  | {
      readonly way: string
      readonly at: Spot
      readonly works: false
      readonly stage: WayInStage
      readonly problem: string
    }

const answerWithinMs = 10_000

/** Runs an attempt with its own sockets and time limit. */
async function attempt(way: string, at: Spot, act: (sockets: OpenSockets) => Promise<void>): Promise<WayInOutcome> {
  const sockets = new OpenSockets()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new WayInFailed('protocol', 'no answer in time')), answerWithinMs)
  const acting = act(sockets)
  acting.catch(() => {})
  try {
    await Promise.race([acting, late.promise])
    return { way, at, works: true }
  } catch (error) {
    const stage = error instanceof WayInFailed ? error.stage : 'protocol'
    const problem = error instanceof Error ? error.message : String(error)
    return { way, at, works: false, stage, problem }
  } finally {
    clearTimeout(timer)
    sockets.destroy()
  }
}

/** The text that a stream answers, up to so many characters or its end. */
function readText(stream: Duplex, isEnough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = (): void => resolve(text)
    stream.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      if (isEnough(text) || text.length > maxAnswer) end()
    })
    stream.once('end', end).once('close', end).once('error', end).resume()
  })
}

const maxAnswer = 16 * 1024
const isHealthy = (text: string): boolean => /^HTTP\/1\.[01] 200 [\s\S]*"ok":true/.test(text)

/** Asks the shop for its health over a stream that leads to it. */
async function askShop(line: Duplex, shop: URL, sockets: OpenSockets): Promise<void> {
  const name = shop.hostname.replace(/^\[|\]$/g, '')
  const isTls = shop.protocol === 'https:'
  // The shop's certificate has a check of its own.
  const options = { socket: line, rejectUnauthorized: false, ...(isIP(name) === 0 && { servername: name }) }
  const stream = isTls ? sockets.keep(connectTls(options)) : line
  stream.on('error', () => {})
  stream.write(`GET /healthz HTTP/1.1\r\nHost: ${shop.host}\r\nConnection: close\r\n\r\n`)
  const text = await readText(stream, isHealthy)
  if (isHealthy(text)) return
  const said = text === '' ? 'nothing came back' : `the answer begins with ${JSON.stringify(text.slice(0, 40))}`
  throw new WayInFailed('protocol', `the shop (${shop.origin}) did not answer through it: ${said}`)
}

/** Proxies and VPN devices both have a way in by HTTP. */
export const vpnWay = (protocol: GatewayProtocol): string => `VPN ${protocol}`

/** Whether the shop answers the device of `doctor` through a protocol of a gateway. */
export function tryDevice(protocol: GatewayProtocol, at: TlsSpot, keys: DoctorKeys, shop: URL): Promise<WayInOutcome> {
  const port = Number(shop.port) || (shop.protocol === 'https:' ? 443 : 80)
  const to = { host: shop.hostname.replace(/^\[|\]$/g, ''), port }
  return attempt(vpnWay(protocol), at, async (sockets) => {
    const line = sockets.keep(await openDeviceStream(protocol, at, keys, to, sockets))
    line.on('error', () => {})
    await askShop(line, shop, sockets)
  })
}

const nowhere = 'check.invalid:443'

/** HTTP without a login: the gateway asks for one, or shows its site. */
async function askHttp(line: Duplex): Promise<void> {
  line.write(`CONNECT ${nowhere} HTTP/1.1\r\nHost: ${nowhere}\r\n\r\n`)
  const text = await readText(line, (so) => so.includes('\r\n\r\n'))
  if (!/^HTTP\/1\.[01] 4\d\d /.test(text)) throw new WayInFailed('protocol', 'it is no HTTP proxy')
}

/** RFC 1928: of the methods, the gateway chooses name and password. */
async function askSocks(line: Duplex): Promise<void> {
  line.write(Buffer.of(5, 1, 2))
  const text = await readText(line, (so) => so.length >= 2)
  if (text.slice(0, 2) !== '\x05\x02') throw new WayInFailed('protocol', 'it does not speak SOCKS5')
}

async function askHttp2(line: Awaited<ReturnType<typeof openTls>>, at: Spot, sockets: OpenSockets): Promise<void> {
  const origin = `https://${at.host.includes(':') ? `[${at.host}]` : at.host}:${at.port}`
  const session = sockets.keep(connectHttp2(origin, { createConnection: () => line }))
  const failed = (error?: Error) => new WayInFailed('protocol', error?.message ?? 'the gateway closed the connection')
  const status = await new Promise<number>((resolve, reject) => {
    session.on('error', (error) => reject(failed(error)))
    const stream = session.request({ ':method': 'CONNECT', ':authority': nowhere })
    stream.once('response', (answer) => resolve(Number(answer[':status'])))
    stream.on('error', (error) => reject(failed(error))).once('close', () => reject(failed()))
  })
  if (status < 400 || status > 499) throw new WayInFailed('protocol', `the gateway answered ${status}`)
}

/** Whether a way in for proxies answers a client without a login. */
export function tryProxy(way: 'http' | 'socks5', at: Spot): Promise<WayInOutcome> {
  return attempt(way, at, async (sockets) => {
    const line = await openTcp(at, sockets)
    await (way === 'http' ? askHttp(line) : askSocks(line))
  })
}

export function tryTlsProxy(way: 'https' | 'h2', at: TlsSpot): Promise<WayInOutcome> {
  return attempt(way, at, async (sockets) => {
    const line = await openTls(at, way === 'h2' ? 'h2' : 'http/1.1', sockets)
    await (way === 'h2' ? askHttp2(line, at, sockets) : askHttp(line))
  })
}
