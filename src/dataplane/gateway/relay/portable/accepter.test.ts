import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isWholeHello } from './accepter.ts'

/** A ClientHello of so many bytes, cut into records at the given places. */
function toRecords(bodyBytes: number, cuts: readonly number[]): Uint8Array {
  const body = Array.from({ length: bodyBytes }, (_, index) => index % 256)
  const message = [1, 0, bodyBytes >> 8, bodyBytes & 255, ...body]
  const places = [0, ...new Set(cuts.map((each) => each % message.length)), message.length].toSorted((a, b) => a - b)
  const parts = places.slice(1).map((end, index) => message.slice(places[index], end))
  const records = parts.filter((part) => part.length > 0)
  return Uint8Array.from(records.flatMap((part) => [22, 3, 1, part.length >> 8, part.length & 255, ...part]))
}

test('isWholeHello is false for every beginning of a ClientHello in any records, and true for all of it', () => {
  const cuts = fc.array(fc.nat(), { maxLength: 5 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), cuts, fc.nat(), (bodyBytes, places, end) => {
      const bytes = toRecords(bodyBytes, places)
      expect(isWholeHello(bytes)).toBe(true)
      expect(isWholeHello(bytes.subarray(0, end % bytes.length))).toBe(false)
    }),
  )
})

test.each([
  ['plain HTTP', Buffer.from('GET / HTTP/1.1')],
  ['an alert', Uint8Array.of(21, 3, 1, 0, 2, 1, 0)],
  ['an empty record', Uint8Array.of(22, 3, 1, 0, 0)],
  ['a record longer than TLS allows', Uint8Array.of(22, 3, 1, 0xff, 0xff, 1)],
  ['a message longer than 16 KiB', Uint8Array.of(22, 3, 1, 0x10, 0, 1, 1, 0, 0)],
])('isWholeHello hands %s on, for TLS to refuse', (_, bytes) => {
  expect(isWholeHello(bytes)).toBe(true)
})
