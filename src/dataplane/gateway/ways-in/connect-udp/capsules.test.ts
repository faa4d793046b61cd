import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { CapsuleReader, maxUdpPayload, readUdpPath, toDatagramCapsule } from './capsules.ts'

/** RFC 9000, 16, in the given number of bytes. */
function varint(value: number, bytes: 1 | 2 | 4 | 8 = 1): Uint8Array {
  const out = Buffer.alloc(bytes)
  out.writeUIntBE(value, Math.max(0, bytes - 6), Math.min(6, bytes))
  out[0] = (out[0] ?? 0) | ({ 1: 0, 2: 0x40, 4: 0x80, 8: 0xc0 }[bytes] ?? 0)
  return out
}

/** Feeds the bytes in pieces; `undefined` at the end means malformed. */
function read(bytes: Uint8Array, pieceBytes = bytes.length): (string | undefined)[] {
  const reader = new CapsuleReader()
  const payloads: (string | undefined)[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.slice(at, at + pieceBytes)
    if (!reader.feed(piece, (payload) => payloads.push(Buffer.from(payload).toString('latin1'))))
      return [...payloads, undefined]
  }
  return payloads
}

describe('CapsuleReader', () => {
  test('payloads of 0 to 65,527 bytes come back from their capsules, however they are cut into pieces', () => {
    const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 })
    fc.assert(
      fc.property(payloads, fc.integer({ min: 1, max: 400 }), (sent, pieceBytes) => {
        const bytes = Buffer.concat(sent.map(toDatagramCapsule))
        expect(read(bytes, pieceBytes)).toEqual(sent.map((each) => Buffer.from(each).toString('latin1')))
      }),
    )
    for (const length of [0, 62, 63, 64, 16_382, 16_383, 16_384, maxUdpPayload]) {
      const payload = new Uint8Array(length).fill(7)
      for (const pieceBytes of [1 << 20, 1000])
        expect(read(toDatagramCapsule(payload), pieceBytes)).toEqual([Buffer.from(payload).toString('latin1')])
    }
  })

  test('a capsule has type, length, context and payload', () => {
    expect([...toDatagramCapsule(Buffer.from('hi'))]).toEqual([0, 3, 0, 0x68, 0x69])
  })

  test('integers may be longer than needed', () => {
    const bytes = Buffer.concat([varint(0, 8), varint(4 + 2, 4), varint(0, 4), Buffer.from('hi')])
    for (const pieceBytes of [1, 3, 100]) expect(read(bytes, pieceBytes)).toEqual(['hi'])
  })

  test('unknown capsule types and unknown contexts are skipped', () => {
    const unknownType = Buffer.concat([varint(0x1f0a, 2), varint(5), Buffer.from('other')])
    const emptyUnknown = Buffer.concat([varint(9), varint(0)])
    const unknownContext = Buffer.concat([varint(0), varint(5), varint(2), Buffer.from('late')])
    const bytes = Buffer.concat([unknownType, emptyUnknown, unknownContext, toDatagramCapsule(Buffer.from('mine'))])
    for (const pieceBytes of [1, 2, 7, 100]) expect(read(bytes, pieceBytes)).toEqual(['mine'])
    const huge = Buffer.concat([varint(0x40, 2), varint(2 ** 40, 8), Buffer.alloc(100_000)])
    expect(read(huge, 5000)).toEqual([])
  })

  test.each([
    ['a datagram without a context', Buffer.concat([varint(0), varint(0)])],
    ['a context that is longer than its capsule', Buffer.concat([varint(0), varint(1), varint(1, 2)])],
    ['a payload of 65,528 bytes', Buffer.concat([varint(0), varint(maxUdpPayload + 2, 4), varint(0)])],
  ])('%s is malformed', (_, bytes) => {
    expect(read(Buffer.concat([toDatagramCapsule(Buffer.from('a')), bytes]))).toEqual(['a', undefined])
  })

  test('random bytes make no reader throw, and no payload exceeds 65,527 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), fc.integer({ min: 1, max: 500 }), (bytes, pieceBytes) => {
        for (const payload of read(bytes, pieceBytes)) expect((payload ?? '').length).toBeLessThanOrEqual(maxUdpPayload)
      }),
    )
  })
})

describe('readUdpPath', () => {
  test.each([
    ['/.well-known/masque/udp/192.0.2.6/443/', '192.0.2.6', 443],
    ['/.well-known/masque/udp/2001%3Adb8%3A%3a42/53/', '2001:db8::42', 53],
    ['/.well-known/masque/udp/Example.COM/65535/', 'example.com', 65_535],
  ])('%s names %s, port %i', (path, host, port) => {
    expect(readUdpPath(path)).toEqual({ host, port })
  })

  test.each([
    '/.well-known/masque/udp/192.0.2.6/443',
    '/.well-known/masque/udp/192.0.2.6/0/',
    '/.well-known/masque/udp/192.0.2.6/65536/',
    '/.well-known/masque/udp/192.0.2.6/0443/',
    '/.well-known/masque/udp//443/',
    '/.well-known/masque/udp/127.1/443/',
    '/.well-known/masque/udp/fe80::1%25eth0/443/',
    '/.well-known/masque/udp/[::1]/443/',
    '/.well-known/masque/udp/%/443/',
    '/.well-known/masque/udp/a%2Fb/443/',
    '/.well-known/masque/udp/a%00/443/',
    '/.well-known/masque/udp/a.example/443/?x',
    '/.well-known/masque/udp/a.example/443/443/',
    '/masque/udp/a.example/443/',
  ])('%s names no target', (path) => {
    expect(readUdpPath(path)).toBeUndefined()
  })
})
