import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { summarizeKeyed, summarizeSplits } from '../../../../../test/harness/keyed.ts'
import { admitted, atMainPort, splitAt, toBytes } from '../../../../../test/harness/protocol.ts'
import { readAddress } from '../../../../core/address.ts'
import type { ConnectTarget } from '../authority.ts'
import { KeyReader } from '../key-reader.ts'
import { DatagramReader, toDatagram } from './datagrams.ts'
import { trojan } from './request.ts'

const key = '0123456789abcdef'.repeat(4).slice(0, 56)
const head = (rest: string): string => `${key}\r\n${rest}`

test.each([
  ['CONNECT to a name', head('\x01\x03\x09a.example\x01\xbb\r\nGET'), [`tunnel a.example:443 by ${key}`, 'rest GET']],
  ['CONNECT to an IPv4 address', head('\x01\x01\xc0\x00\x02\x07\x00\x50\r\n'), [`tunnel 192.0.2.7:80 by ${key}`]],
  [
    'CONNECT to an IPv6 address',
    head(`\x01\x04\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01\x00\x50\r\n`),
    [`tunnel [2001:db8::1]:80 by ${key}`],
  ],
  ['UDP ASSOCIATE', head('\x03\x01\x00\x00\x00\x00\x00\x00\r\nab'), [`capsules * by ${key}`, 'rest ab']],
  ['UDP ASSOCIATE by name', head('\x03\x03\x01a\x00\x00\r\n'), [`capsules * by ${key}`]],
  ['capitals in the key', `${key.toUpperCase()}\r\n\x01`, ['refuse']],
  ['55 digits', `${key.slice(1)}\r\n\x01\x03\x09a.example\x01\xbb\r\n`, ['refuse']],
  ['LF alone', `${key}\n\x01`, ['refuse']],
  ['BIND', head('\x02'), ['refuse']],
  ['an unknown address type', head('\x01\x05'), ['refuse']],
  ['an empty name', head('\x01\x03\x00'), ['refuse']],
  ['port 0', head('\x01\x03\x09a.example\x00\x00\r\n'), ['refuse']],
  ['no line end after the target', head('\x01\x03\x09a.example\x01\xbbGET'), ['refuse']],
  ['a head without its end', head('\x01\x03\x09a.example\x01\xbb\r'), []],
])('the Trojan parser gives the same events for every split of %s', (_, sent, expected) => {
  expect(summarizeKeyed(trojan, [toBytes(sent)])).toEqual(expected)
  summarizeSplits(trojan, toBytes(sent), expected)
})

test('Trojan sends nothing before the bytes of the origin', () => {
  expect(new KeyReader(atMainPort, trojan).answer(admitted)).toEqual({ bytes: new Uint8Array(0), isLast: false })
})

test('DatagramReader returns the datagrams that toDatagram has written with their addresses, for every split', () => {
  const datagram = fc.record({
    host: fc.constantFrom('192.0.2.7', '2001:db8::1'),
    port: fc.integer({ min: 1, max: 65_535 }),
    payload: fc.uint8Array({ maxLength: 300 }),
  })
  fc.assert(
    fc.property(fc.array(datagram, { maxLength: 6 }), fc.array(fc.nat(1500), { maxLength: 8 }), (sent, cuts) => {
      const received: (ConnectTarget & { payload: Uint8Array })[] = []
      const reader = new DatagramReader()
      const stream = sent.map(({ host, port, payload }) => {
        const address = readAddress(host)
        return address ? toDatagram(payload, address, port) : new Uint8Array(0)
      })
      for (const piece of splitAt(new Uint8Array(Buffer.concat(stream)), cuts)) {
        const isValid = reader.feed(piece, (each, target) => received.push({ ...target, payload: each.slice() }))
        expect(isValid).toBe(true)
      }
      expect(received).toEqual(sent)
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['a payload of 8193 bytes', '\x01\x01\x02\x03\x04\x00\x35\x20\x01\r\n'],
  ['no line end', '\x01\x01\x02\x03\x04\x00\x35\x00\x01\n'],
  ['an unknown address type', '\x02'],
])('DatagramReader refuses %s', (_, sent) => {
  expect(new DatagramReader().feed(toBytes(sent), () => {})).toBe(false)
})
