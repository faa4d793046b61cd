import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { summarizeKeyed, summarizeSplits } from '../../../../../test/harness/keyed.ts'
import { admitted, atMainPort, splitAt, toBytes, wrongLogin } from '../../../../../test/harness/protocol.ts'
import { KeyReader } from '../key-reader.ts'
import { LengthReader, toLengthCapsule } from './datagrams.ts'
import { vless } from './request.ts'

const uuid = '11111111-2222-4333-8444-555555555555'
const key = String.fromCharCode(...Uint8Array.fromHex(uuid.replaceAll('-', '')))
const head = (rest: string): string => `\x00${key}${rest}`

test.each([
  ['TCP to a name', head('\x00\x01\x01\xbb\x02\x09a.exampleGET'), [`tunnel a.example:443 by ${uuid}`, 'rest GET']],
  ['TCP to an IPv4 address', head('\x00\x01\x00\x50\x01\xc0\x00\x02\x07'), [`tunnel 192.0.2.7:80 by ${uuid}`]],
  [
    'TCP to an IPv6 address',
    head(`\x00\x01\x00\x50\x03\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01`),
    [`tunnel [2001:db8::1]:80 by ${uuid}`],
  ],
  ['an address as a name', head('\x00\x01\x00\x50\x02\x09127.0.0.1'), [`tunnel 127.0.0.1:80 by ${uuid}`]],
  ['UDP', head('\x00\x02\x00\x35\x02\x09a.example\x00\x02hi'), [`capsules a.example:53 by ${uuid}`, 'rest \x00\x02hi']],
  ['another version', `\x01${key}\x00\x01\x01\xbb`, ['refuse']],
  ['addons', head('\x12\x0a\x10xtls-rprx-vision\x01\x01\xbb'), ['refuse']],
  ['Mux', head('\x00\x03\x00\x04'), [`streams * by ${uuid}`, 'rest \x00\x04']],
  ['an unknown command', head('\x00\x04'), ['refuse']],
  ['an unknown address type', head('\x00\x01\x01\xbb\x04'), ['refuse']],
  ['an empty name', head('\x00\x01\x01\xbb\x02\x00'), ['refuse']],
  ['a name with a line end', head('\x00\x01\x01\xbb\x02\x05a\r\nbc'), ['refuse']],
  ['port 0', head('\x00\x01\x00\x00\x02\x09a.example'), ['refuse']],
  ['a head without its end', head('\x00\x01\x01\xbb\x02\x09a.exampl'), []],
])('the VLESS parser gives the same events for every split of %s', (_, sent, expected) => {
  expect(summarizeKeyed(vless, [toBytes(sent)])).toEqual(expected)
  summarizeSplits(vless, toBytes(sent), expected)
})

test('VLESS answers an admitted request with version 0 and no addons, and closes after a refusal', () => {
  const reader = new KeyReader(atMainPort, vless)
  expect(reader.answer(admitted)).toEqual({ bytes: Uint8Array.of(0, 0), isLast: false })
  expect(reader.answer(wrongLogin)).toEqual({ bytes: new Uint8Array(0), isLast: true })
})

test('LengthReader returns the datagrams that toLengthCapsule has written, for every split', () => {
  const datagrams = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 })
  fc.assert(
    fc.property(datagrams, fc.array(fc.nat(1500), { maxLength: 8 }), (sent, cuts) => {
      const received: Uint8Array[] = []
      const reader = new LengthReader(65_527)
      const stream = new Uint8Array(Buffer.concat(sent.map(toLengthCapsule)))
      for (const piece of splitAt(stream, cuts))
        expect(reader.feed(piece, (each) => received.push(each.slice()))).toBe(true)
      expect(received).toEqual(sent)
    }),
    { numRuns: 1000 },
  )
})

test('LengthReader(100) refuses a datagram of 101 bytes', () => {
  expect(new LengthReader(100).feed(Uint8Array.of(0, 101), () => {})).toBe(false)
})
