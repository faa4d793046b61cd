import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { toHex } from '../../../../../test/harness/protocol.ts'
import { scaled } from '../../../../../test/harness/scale.ts'
import { type Address, formatAddress, readAddress } from '../../../../core/address.ts'
import { readSocksDatagram, toAssociateReply, toSocksHeader } from './udp.ts'

const port = fc.integer({ min: 1, max: 65_535 })
const payload = fc.uint8Array({ maxLength: 2000 })
const address = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes): Address => ({ version: 4, bytes })),
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes): Address => ({ version: 6, bytes })),
)

describe('SOCKS5 datagrams', () => {
  test('readSocksDatagram reads the address, port and payload that toSocksHeader wrote', () => {
    fc.assert(
      fc.property(address, port, payload, (from, number, sent) => {
        const read = readSocksDatagram(Buffer.concat([toSocksHeader(from, number), sent]))
        // A mapped address is its IPv4 address.
        const host = formatAddress(readAddress(formatAddress(from)) ?? from)
        expect(read?.target).toEqual({ host, port: number })
        expect(Buffer.from(read?.payload ?? []).equals(Buffer.from(sent))).toBe(true)
      }),
      { numRuns: scaled(2000) },
    )
  })

  test('readSocksDatagram reads names, and refuses those that are no host names', () => {
    const named = (name: string, at = '\x01\xbb') =>
      readSocksDatagram(Buffer.from(`\0\0\0\x03${String.fromCharCode(name.length)}${name}${at}payload`, 'latin1'))
    expect(named('A.Example')).toMatchObject({ target: { host: 'a.example', port: 443 } })
    expect(named('127.0.0.1')).toMatchObject({ target: { host: '127.0.0.1', port: 443 } })
    for (const name of ['', 'a b', 'a.example/', '127.1', '0x7f000001', 'a\0b']) expect(named(name)).toBeUndefined()
    expect(named('a.example', '\0\0')).toBeUndefined()
  })

  test('readSocksDatagram refuses fragments, set reserved bytes and unknown address types', () => {
    const whole = [0, 0, 0, 1, 1, 2, 3, 4, 0, 80, 120]
    expect(readSocksDatagram(Uint8Array.from(whole))).toBeDefined()
    for (const [at, value] of [
      [0, 1],
      [1, 1],
      [2, 1],
      [2, 0x80],
      [3, 0],
      [3, 2],
      [3, 255],
    ] as const) {
      expect(readSocksDatagram(Uint8Array.from(whole.with(at, value)))).toBeUndefined()
    }
  })

  test('readSocksDatagram refuses every datagram that ends within its header', () => {
    fc.assert(
      fc.property(address, port, (from, number) => {
        const header = toSocksHeader(from, number)
        for (let length = 0; length < header.length; length += 1)
          expect(readSocksDatagram(header.subarray(0, length))).toBeUndefined()
        expect(readSocksDatagram(header)?.payload).toHaveLength(0)
      }),
    )
  })

  test('readSocksDatagram accepts no random datagram with a payload longer than the datagram minus 7 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const read = readSocksDatagram(bytes)
        if (read) expect(read.payload.length).toBeLessThanOrEqual(bytes.length - 7)
      }),
      { numRuns: scaled(20_000) },
    )
  })

  test('toAssociateReply has version 5, code 0 and the address and port of the relay', () => {
    const at = (text: string) => readAddress(text) as Address
    expect(toHex(toAssociateReply(at('192.0.2.1'), 0x1234))).toBe('05000001c00002011234')
    expect(toHex(toAssociateReply(at('::1'), 80))).toBe(`05000004${'0'.repeat(30)}010050`)
  })
})
