import { createHash } from 'node:crypto'
import { pathOfDevice } from '../../src/core/device-path.ts'
import type { ConnectTarget } from '../../src/dataplane/gateway/ways-in/authority.ts'
import { KeyReader } from '../../src/dataplane/gateway/ways-in/key-reader.ts'
import { trojan } from '../../src/dataplane/gateway/ways-in/trojan/request.ts'
import { MuxReader } from '../../src/dataplane/gateway/ways-in/vless/mux.ts'
import { vless } from '../../src/dataplane/gateway/ways-in/vless/request.ts'
import type { Made } from './certificates.ts'
import { type DeviceStream, openTls, openTlsStream, openWebSocket } from './device-stream.ts'
import { type Dice, mutate } from './dice.ts'
import type { BoughtDevice } from './gateway.ts'
import { trojanHead, vlessHead } from './key-client.ts'
import { atMainPort } from './protocol.ts'
import { openXhttp } from './xhttp-client.ts'

type Where = {
  readonly tlsPort: number
  readonly made: Made
  readonly device: BoughtDevice
  /** On 127.0.0.1. */
  readonly echoPort: number
  readonly udpPort: number
}

const loopback = [127, 0, 0, 1]
const twoBytes = (value: number): number[] => [value >> 8, value & 255]

/** Valid streams of a device: tunnels, datagrams and sub-streams to echoes. */
function makeStreams({ device, echoPort, udpPort }: Where): Uint8Array[] {
  const [tcp, udp] = [{ port: echoPort }, { port: udpPort }]
  const trojanDatagram = Buffer.from([1, ...loopback, ...twoBytes(udpPort), 0, 2, 13, 10, 104, 105])
  const muxHead = [0, ...Buffer.from(device.uuid.replaceAll('-', ''), 'hex'), 0, 3]
  const newStream = [0, 12, 0, 1, 1, 1, 1, ...twoBytes(echoPort), 1, ...loopback, 0, 2, 104, 105]
  const xudp = [0, 20, 0, 0, 1, 1, 2, ...twoBytes(udpPort), 1, ...loopback, 1, 2, 3, 4, 5, 6, 7, 8, 0, 2, 104, 105]
  const more = [0, 4, 0, 1, 2, 1, 0, 3, 97, 98, 99, 0, 4, 0, 1, 3, 0]
  return [
    Buffer.concat([vlessHead(device, tcp, 'tcp'), Buffer.from('hello')]),
    Buffer.concat([vlessHead(device, udp, 'udp'), Buffer.from([0, 2, 104, 105, 0, 0, 0, 1, 120])]),
    Buffer.from([...muxHead, ...newStream, ...xudp, ...more]),
    Buffer.concat([trojanHead(device, tcp, 'tcp'), Buffer.from('hello')]),
    Buffer.concat([trojanHead(device, udp, 'udp'), trojanDatagram, trojanDatagram]),
  ]
}

const isName = (target: ConnectTarget | undefined): boolean => target !== undefined && !/^[\d.]+$|:/.test(target.host)

/** Whether a gateway would look a name up for a stream: names are fuzzed where the test has a resolver of its own. */
function asksForName(stream: Uint8Array): boolean {
  const reader = new KeyReader(atMainPort, stream[0] === 0 ? vless : trojan)
  const [event] = reader.feed(stream)
  if (event?.type !== 'request') return false
  const { request } = event
  if ('target' in request && isName(request.target)) return true
  const rest = reader.rest()
  let found = false
  if (request.asks === 'capsules') request.codec.feed(rest, (_, target) => void (found ||= isName(target)))
  if (request.asks === 'streams') new MuxReader().feed(rest, ({ target }) => void (found ||= isName(target)))
  return found
}

/** Opens a device's stream by one of the carriers. */
function openCarrier({ tlsPort, made, device }: Where, dice: Dice, from: string): Promise<DeviceStream> {
  const path = pathOfDevice(createHash('sha256').update(device.uuid).digest('hex'))
  const kind = dice(6)
  if (kind < 2) return openTlsStream(tlsPort, made, from)
  if (kind === 2) return openWebSocket(tlsPort, made, path, undefined, from)
  const mode = (['packet-up', 'stream-up', 'stream-one'] as const)[dice(3)] ?? 'packet-up'
  return openXhttp({ tlsPort, made, path, nextAddress: () => from }, mode, dice(2) === 0 ? 'h2' : 'http/1.1')
}

/** Heads of requests of a device's path, and frames of a WebSocket behind one: no valid key follows. */
function makeRequests({ device }: Where): Uint8Array[] {
  const path = pathOfDevice(createHash('sha256').update(device.uuid).digest('hex'))
  const padding = `Referer: https://a.example/?x_padding=${'X'.repeat(120)}\r\n`
  const upgrade = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
  ].join('\r\n')
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'
  return [
    `GET ${path} HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n\x82\x85\0\0\0\0hello\x89\x81\0\0\0\0p\x88\x80\0\0\0\0`,
    `GET ${path}/s HTTP/1.1\r\nHost: a\r\n${padding}\r\n`,
    `POST ${path}/s/0 HTTP/1.1\r\nHost: a\r\n${padding}Content-Length: 5\r\n\r\nhello`,
    `POST ${path}/s HTTP/1.1\r\nHost: a\r\n${padding}${chunked}`,
    `POST ${path} HTTP/1.1\r\nHost: a\r\n${padding}${chunked}`,
  ].map((text) => Buffer.from(text, 'latin1'))
}

/** Client addresses: a gateway limits the handshakes of each. */
export const fuzzAddresses = 16

/** Sends one mutated stream of a device, or one mutated request of its path, and leaves. Returns how many: 1. */
export async function fuzzDevice(where: Where, dice: Dice): Promise<number> {
  const from = `127.0.${dice(fuzzAddresses)}.1`
  if (dice(4) === 0) {
    const line = await openTls(where.tlsPort, where.made, 'http/1.1', from)
    line.on('data', () => {})
    const closed = new Promise((resolve) => line.once('close', resolve))
    line.end(mutate(makeRequests(where), dice))
    // A session of XHTTP waits for its other half.
    if (dice(2) === 0) line.destroy()
    const timer = setTimeout(() => line.destroy(), leaveAfterMs)
    await closed
    clearTimeout(timer)
    return 1
  }
  let stream = mutate(makeStreams(where), dice)
  while (asksForName(stream)) stream = mutate(makeStreams(where), dice)
  const line = await openCarrier(where, dice, from)
  const cut = dice(stream.length + 1)
  if (cut > 0) line.send(stream.subarray(0, cut))
  if (cut < stream.length) line.send(stream.subarray(cut))
  const timer = setTimeout(() => line.close(), dice(2) * leaveAfterMs)
  await line.closed
  clearTimeout(timer)
  return 1
}

/** A mutated stream may wait for bytes, as a valid one does. Its client leaves then. */
const leaveAfterMs = 50
