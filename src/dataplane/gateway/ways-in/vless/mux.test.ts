import { expect, test } from 'bun:test'
import { byteByByte, toBytes } from '../../../../../test/harness/protocol.ts'
import { summarizeMux } from '../../../../../test/harness/vpn-protocol.ts'
import { readAddress } from '../../../../core/address.ts'
import { toDatagramFrame, toEndFrame, toStreamFrames } from './mux.ts'

const tcp = '\x00\x12\x00\x07\x01\x01\x01\x01\xbb\x02\x09a.example\x00\x03GET'
const xudp = '\x00\x14\x00\x00\x01\x01\x02\x00\x35\x01\xc0\x00\x02\x07\x01\x02\x03\x04\x05\x06\x07\x08\x00\x02hi'
const frames = [
  ['a TCP sub-stream with bytes', tcp, ['new 7 tcp a.example:443 "GET"']],
  [
    'bytes of a sub-stream',
    '\x00\x04\x00\x07\x02\x01\x00\x03abc\x00\x04\x00\x07\x02\x01\x00\x00',
    ['keep 7 "abc"', 'keep 7 ""'],
  ],
  ['XUDP with a global id', xudp, ['new 0 udp 192.0.2.7:53 0102030405060708 "hi"']],
  [
    'XUDP without a global id',
    '\x00\x14\x00\x00\x01\x01\x02\x00\x35\x01\xc0\x00\x02\x07\0\0\0\0\0\0\0\0\x00\x01a',
    ['new 0 udp 192.0.2.7:53 "a"'],
  ],
  [
    'a datagram with its own destination',
    '\x00\x0c\x00\x00\x02\x01\x02\x00\x50\x01\xc0\x00\x02\x08\x00\x01b',
    ['keep 0 udp 192.0.2.8:80 "b"'],
  ],
  ['an end, and one that gives up', '\x00\x04\x00\x07\x03\x00\x00\x04\x00\x08\x03\x02', ['end 7', 'end 8 failed']],
  ['a keep-alive with bytes', '\x00\x04\x00\x00\x04\x01\x00\x02xx', ['keep-alive 0 "xx"']],
  ['a target that is malformed', '\x00\x0e\x00\x07\x01\x00\x01\x00\x50\x02\x05a\r\nbc', ['new 7 tcp']],
  ['an unknown network', '\x00\x0c\x00\x07\x01\x00\x03\x00\x50\x01\xc0\x00\x02\x07', ['new 7']],
  ['an unknown status', '\x00\x04\x00\x07\x05\x00', ['refuse']],
  ['3 bytes of metadata', '\x00\x03\x00\x07\x05', ['refuse']],
  ['513 bytes of metadata', '\x02\x01\x00\x07\x01\x00', ['refuse']],
  ['half a frame', '\x00\x04\x00\x07\x02\x01\x00\x03ab', []],
] as const

test.each(frames)('MuxReader gives the same frames for every split of %s', (_, sent, expected) => {
  expect(summarizeMux([toBytes(sent)])).toEqual([...expected])
  expect(summarizeMux(byteByByte(toBytes(sent)))).toEqual([...expected])
})

test('frames that the gateway writes are read with the same bytes, at most 8192 of a stream in each', () => {
  const bytes = new Uint8Array(20_000).fill(0x61)
  const source = readAddress('2001:db8::1')
  if (!source) throw new Error('no address')
  const written = [toStreamFrames(9, bytes), toDatagramFrame(3, Buffer.from('hi'), source, 443), toEndFrame(9, true)]
  expect(summarizeMux([Buffer.concat(written)])).toEqual([
    `keep 9 "${'a'.repeat(8192)}"`,
    `keep 9 "${'a'.repeat(8192)}"`,
    `keep 9 "${'a'.repeat(20_000 - 2 * 8192)}"`,
    'keep 3 udp [2001:db8::1]:443 "hi"',
    'end 9 failed',
  ])
})
