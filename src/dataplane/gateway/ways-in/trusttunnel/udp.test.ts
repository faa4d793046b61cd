import { expect, test } from 'bun:test'
import { byteByByte, toBytes, toText } from '../../../../../test/harness/protocol.ts'
import { summarizeTrustTunnel } from '../../../../../test/harness/vpn-protocol.ts'
import { readAddress } from '../../../../core/address.ts'
import { TrustTunnelDatagrams } from './udp.ts'

const zeros = '\0'.repeat(12)
const source = `${zeros}\x0a\x00\x00\x01\x04\xd2`
const datagram = `\0\0\0\x2b${source}${zeros}\xc0\x00\x02\x07\x00\x35\x04appAhi`
const toSix = `\0\0\0\x25${source}\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01\x01\xbb\0`

test.each([
  [
    'a datagram with the name of an app, and an empty one',
    datagram + toSix,
    ['192.0.2.7:53 "hi"', '[2001:db8::1]:443 ""'],
  ],
  ['a length below 37', '\0\0\0\x24', ['refuse']],
  ['a name beyond the length', `\0\0\0\x25${source}${source}\x05`, ['refuse']],
  ['a length of 2 GB', '\x80\0\0\0', ['refuse']],
])('TrustTunnel’s UDP gives the same datagrams for every split of %s', (_, sent, expected) => {
  expect(summarizeTrustTunnel([toBytes(sent)])).toEqual(expected)
  expect(summarizeTrustTunnel(byteByByte(toBytes(sent)))).toEqual(expected)
})

test('an answer goes to the client’s socket that sent to its source', () => {
  const codec = new TrustTunnelDatagrams()
  codec.feed(toBytes(datagram), () => {})
  const from = readAddress('192.0.2.7')
  if (!from) throw new Error('no address')
  expect(toText(codec.toCapsule(toBytes('yes'), from, 53))).toBe(
    `\0\0\0\x27${zeros}\xc0\x00\x02\x07\x00\x35${source}yes`,
  )
})
