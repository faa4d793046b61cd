import { expect, test } from 'bun:test'
import { byteByByte, toBytes, toText } from '../../../../../test/harness/protocol.ts'
import { summarizeWebSocket } from '../../../../../test/harness/vpn-protocol.ts'
import { toBinaryFrame, toCloseFrame, toPongFrame } from './frames.ts'
import { readUpgrade } from './upgrade.ts'

/** The mask 0 leaves the payload as it is. */
const mask = '\0\0\0\0'
const frames = [
  ['a binary message', `\x82\x85${mask}hello`, ['bytes hello']],
  ['a masked text message', '\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58', ['bytes Hello']],
  [
    'a message in two frames with a ping between',
    `\x02\x82${mask}he\x89\x81${mask}p\x80\x83${mask}llo`,
    ['bytes he', 'ping p', 'bytes llo'],
  ],
  ['an empty message', `\x82\x80${mask}\x82\x81${mask}x`, ['bytes x']],
  ['a length of 2 bytes', `\x82\xfe\x00\xc8${mask}${'a'.repeat(200)}`, [`bytes ${'a'.repeat(200)}`]],
  ['a length of 8 bytes', `\x82\xff${'\0'.repeat(7)}\x03${mask}abc`, ['bytes abc']],
  ['a close', `\x82\x81${mask}x\x88\x82${mask}\x03\xe8`, ['bytes x', 'close', 'over']],
  ['a pong', `\x8a\x80${mask}`, []],
  ['a frame without a mask', '\x82\x05hello', ['over']],
  ['a reserved bit', `\xc2\x81${mask}x`, ['over']],
  ['a continuation without a message', `\x80\x81${mask}x`, ['over']],
  ['a message within a message', `\x02\x81${mask}x\x82\x81${mask}y`, ['bytes x', 'over']],
  ['a control frame of 126 bytes', `\x89\xfe\x00\x7e${mask}`, ['over']],
  ['a control frame in parts', `\x09\x81${mask}x`, ['over']],
] as const

test.each(frames)('WebSocketReader gives the same events for every split of %s', (_, sent, expected) => {
  expect(summarizeWebSocket([toBytes(sent)])).toEqual([...expected])
  expect(summarizeWebSocket(byteByByte(toBytes(sent)))).toEqual([...expected])
})

test('frames of the gateway have the shortest form of their length, and no mask', () => {
  const lengths = [0, 125, 126, 65_535, 65_536].map((length) =>
    toText(toBinaryFrame(new Uint8Array(length)).slice(0, 10)),
  )
  expect(lengths.map((text) => text.replace(/\0+$/, ''))).toEqual([
    '\x82',
    '\x82\x7d',
    '\x82\x7e\x00\x7e',
    '\x82\x7e\xff\xff',
    '\x82\x7f\0\0\0\0\0\x01',
  ])
  expect(toText(toPongFrame(toBytes('p')))).toBe('\x8a\x01p')
  expect(toText(toCloseFrame())).toBe('\x88\x02\x03\xe8')
})

const upgrade: Readonly<Record<string, string>> = {
  upgrade: 'WebSocket',
  connection: 'keep-alive, Upgrade',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
const read = (fields: Readonly<Record<string, string>>, method = 'GET') =>
  readUpgrade(
    method,
    (name) => (fields[name] === undefined ? [] : [fields[name]]),
    (text) => Bun.SHA1.hash(text) as Uint8Array,
  )

test('readUpgrade answers the key of RFC 6455, 1.3, and takes early data of either alphabet of base64', () => {
  expect(read(upgrade)?.fields).toContainEqual(['sec-websocket-accept', 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='])
  for (const text of ['-_-_', '+/+/', '-_-_=='])
    expect([...(read({ ...upgrade, 'sec-websocket-protocol': text })?.early ?? [])]).toEqual([251, 255, 191])
  const named = read({ ...upgrade, 'sec-websocket-protocol': 'chat, superchat' })
  expect([named?.early.length, named?.fields.length]).toEqual([0, 3])
})

test.each([
  ['POST', upgrade],
  ['GET', { ...upgrade, upgrade: 'h2c' }],
  ['GET', { ...upgrade, connection: 'close' }],
  ['GET', { ...upgrade, 'sec-websocket-version': '8' }],
  ['GET', { ...upgrade, 'sec-websocket-key': 'short' }],
])('readUpgrade finds no upgrade in wrong request %#', (method, fields) => {
  expect(read(fields, method)).toBeUndefined()
})
