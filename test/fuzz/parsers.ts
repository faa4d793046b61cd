import {
  flags,
  frameTypes,
  toFrame,
  toGoaway,
  toHeaders,
  toReset,
  toSettings,
  toWindowUpdate,
} from '../../src/dataplane/gateway/ways-in/http2/frames.ts'
import { encodeFields, type Field } from '../../src/dataplane/gateway/ways-in/http2/hpack.ts'
import { DatagramReader } from '../../src/dataplane/gateway/ways-in/trojan/datagrams.ts'
import { trojan } from '../../src/dataplane/gateway/ways-in/trojan/request.ts'
import { LengthReader } from '../../src/dataplane/gateway/ways-in/vless/datagrams.ts'
import { vless } from '../../src/dataplane/gateway/ways-in/vless/request.ts'
import { summarizeKeyed } from '../harness/keyed.ts'
import { toBytes } from '../harness/protocol.ts'
import {
  summarizeCapsules,
  summarizeCarried,
  summarizeDatagrams,
  summarizeHttp2,
  summarizeMux,
  summarizePadding,
  summarizeTrustTunnel,
  summarizeWebSocket,
} from '../harness/vpn-protocol.ts'

/** A parser of bytes that clients of VPN devices send. */
export type FuzzedParser = {
  readonly name: string
  /** Valid inputs, which are changed in a few places. */
  readonly seeds: readonly Uint8Array[]
  /** Its events for these pieces, which must be the same for every split. */
  readonly summarize: (pieces: readonly Uint8Array[]) => readonly string[]
}

const key = 'k'.repeat(16)
const digits = '0123456789abcdef'.repeat(4).slice(0, 56)
const [ipv4, ipv6] = ['\xc0\x00\x02\x07', `\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01`]
const zeros = '\0'.repeat(12)
const mask = '\x37\xfa\x21\x3d'
const path = '/0123456789abcdef0123456789abcdef'
const session = '11111111-2222-4333-8444-555555555555'

const vlessHeads = [
  `\x00${key}\x00\x01\x01\xbb\x02\x09a.exampleGET`,
  `\x00${key}\x00\x02\x00\x35\x01${ipv4}\x00\x02hi`,
  `\x00${key}\x00\x01\x00\x50\x03${ipv6}`,
  `\x00${key}\x00\x03\x00\x04\x00\x07\x03\x00`,
  `\x00${key}\x12\x0a\x10xtls-rprx-vision\x01\x01\xbb`,
]
const trojanHeads = [
  `${digits}\r\n\x01\x03\x09a.example\x01\xbb\r\nGET`,
  `${digits}\r\n\x01\x01${ipv4}\x00\x50\r\n`,
  `${digits}\r\n\x01\x04${ipv6}\x00\x50\r\n`,
  `${digits}\r\n\x03\x01\x00\x00\x00\x00\x00\x00\r\nab`,
]
const muxFrames = [
  '\x00\x12\x00\x07\x01\x01\x01\x01\xbb\x02\x09a.example\x00\x03GET',
  `\x00\x14\x00\x00\x01\x01\x02\x00\x35\x01${ipv4}\x01\x02\x03\x04\x05\x06\x07\x08\x00\x02hi`,
  '\x00\x04\x00\x07\x02\x01\x00\x03abc\x00\x04\x00\x07\x02\x01\x00\x00',
  `\x00\x0c\x00\x00\x02\x01\x02\x00\x50\x01${ipv4}\x00\x01b`,
  '\x00\x04\x00\x07\x03\x00\x00\x04\x00\x08\x03\x02',
  '\x00\x04\x00\x00\x04\x01\x00\x02xx',
]
const webSocketFrames = [
  `\x82\x85${mask}hello`,
  `\x02\x82${mask}he\x89\x81${mask}p\x80\x83${mask}llo`,
  `\x82\xfe\x00\xc8${mask}${'a'.repeat(200)}`,
  `\x82\xff${'\0'.repeat(7)}\x03${mask}abc`,
  `\x82\x81${mask}x\x88\x82${mask}\x03\xe8`,
  `\x8a\x80${mask}`,
]
const padding = `Referer: https://a.example/?x_padding=${'X'.repeat(120)}\r\n`
const carriedRequests = [
  `GET ${path}/${session} HTTP/1.1\r\nHost: a\r\n${padding}\r\n`,
  `POST ${path}/${session}/17 HTTP/1.1\r\nHost: a\r\n${padding}Content-Length: 5\r\n\r\nhello`,
  `POST ${path}/${session} HTTP/1.1\r\nHost: a\r\n${padding}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  `POST ${path}/?x_padding=${'0'.repeat(100)} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
  `GET ${path} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: -_-_\r\n\r\nearly`,
]
const naiveFrame = (text: string, bytes: number): string =>
  `\0${String.fromCharCode(text.length, bytes)}${text}${'\0'.repeat(bytes)}`
const naiveFrames = [
  ['a', 'bc', '', 'd', 'e', 'f', 'g', 'h'].map((text, bytes) => naiveFrame(text, bytes)).join(''),
  naiveFrame('hello', 255),
  `${naiveFrame('x'.repeat(200), 3)}${naiveFrame('', 0)}raw`,
]
const spot = `${zeros}\x0a\x00\x00\x01\x04\xd2`
const trustTunnelDatagrams = [
  `\0\0\0\x2b${spot}${zeros}${ipv4}\x00\x35\x04appAhi`,
  `\0\0\0\x25${spot}${ipv6}\x01\xbb\0`,
]
const capsules = [
  '\x00\x03\x00hi',
  '\x40\x00\x80\x00\x00\x04\x00abc',
  '\x5f\x0a\x05other\x00\x05\x02late',
  '\x00\x01\x00',
]

const login: Field = ['proxy-authorization', 'Basic YTpi']
const connect: readonly Field[] = [[':method', 'CONNECT'], [':authority', 'a.example:443'], login]
const toRequest = (method: string, target: string): readonly Field[] => [
  [':method', method],
  [':scheme', 'https'],
  [':path', target],
  [':authority', 'a.example'],
]
const opened = toSettings({ enablePush: 0, initialWindowSize: 100_000 })
const http2Connections = [
  [
    toHeaders(1, encodeFields([...connect, ['padding', '~'.repeat(20)]]), false),
    toFrame(frameTypes.data, 0, 1, toBytes(naiveFrames[0] ?? '')),
    toFrame(frameTypes.data, flags.endStream, 1, toBytes('end')),
  ],
  [
    toHeaders(1, encodeFields([[':method', 'CONNECT'], [':authority', '_udp2'], login]), false),
    toFrame(frameTypes.data, 0, 1, toBytes(trustTunnelDatagrams[0] ?? '')),
    toReset(1, 'cancel'),
  ],
  [
    toHeaders(1, encodeFields(toRequest('GET', `${path}/${session}`)), true),
    toHeaders(3, encodeFields(toRequest('POST', `${path}/${session}/0`)), false),
    toFrame(frameTypes.data, flags.endStream, 3, toBytes('hello')),
    toWindowUpdate(1, 1000),
    toWindowUpdate(0, 1000),
    toGoaway(3, 'none'),
  ],
  [
    toFrame(frameTypes.headers, 0, 1, encodeFields(connect).subarray(0, 10)),
    toFrame(frameTypes.continuation, flags.endHeaders, 1, encodeFields(connect).subarray(10)),
    toFrame(frameTypes.ping, 0, 0, new Uint8Array(8)),
    toFrame(frameTypes.priority, 0, 1, new Uint8Array(5)),
  ],
].map((frames) => new Uint8Array(Buffer.concat([opened, ...frames])))

/** Of every VPN way in of the gateway. */
export const vpnParsers: readonly FuzzedParser[] = [
  { name: 'vless', seeds: vlessHeads.map(toBytes), summarize: (pieces) => summarizeKeyed(vless, pieces) },
  {
    name: 'vless-udp',
    seeds: ['\x00\x05hello\x00\x00\x00\x01x', `\x01\x2c${'a'.repeat(300)}`].map(toBytes),
    summarize: (pieces) => summarizeDatagrams(new LengthReader(1000).feed, pieces),
  },
  { name: 'mux', seeds: muxFrames.map(toBytes), summarize: summarizeMux },
  { name: 'trojan', seeds: trojanHeads.map(toBytes), summarize: (pieces) => summarizeKeyed(trojan, pieces) },
  {
    name: 'trojan-udp',
    seeds: [
      `\x01${ipv4}\x00\x35\x00\x02\r\nhi`,
      `\x03\x09a.example\x01\xbb\x00\x00\r\n`,
      `\x04${ipv6}\x00\x50\x00\x01\r\nx`,
    ].map(toBytes),
    summarize: (pieces) => summarizeDatagrams(new DatagramReader().feed, pieces),
  },
  { name: 'websocket', seeds: webSocketFrames.map(toBytes), summarize: summarizeWebSocket },
  { name: 'xhttp', seeds: carriedRequests.map(toBytes), summarize: summarizeCarried },
  { name: 'trusttunnel-udp', seeds: trustTunnelDatagrams.map(toBytes), summarize: summarizeTrustTunnel },
  { name: 'naive-padding', seeds: naiveFrames.map(toBytes), summarize: summarizePadding },
  { name: 'connect-udp', seeds: capsules.map(toBytes), summarize: summarizeCapsules },
  { name: 'http2', seeds: http2Connections, summarize: summarizeHttp2 },
]
