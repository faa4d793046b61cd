import { describe, expect, test } from 'bun:test'
import { isIP } from 'node:net'
import * as fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import {
  type Address,
  addressFromNumber,
  addressToNumber,
  bracketed,
  contains,
  formatAddress,
  formatPrefix,
  hostAndPort,
  isWithinSorted,
  type Prefix,
  readAddress,
  readPrefix,
  withoutNested,
} from './address.ts'

const v4 = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes): Address => ({ version: 4, bytes }))
const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
const v6 = groups
  .map((parts): Address => ({ version: 6, bytes: Uint8Array.from(parts.flatMap((part) => [part >> 8, part & 255])) }))
  .filter((address) => addressToNumber(address) >> 32n !== 0xffffn)
const any = fc.oneof(v4, v6)
const bytesOf = (text: string): number[] | undefined => {
  const address = readAddress(text)
  return address && [...address.bytes]
}

describe('addresses', () => {
  test('readAddress reads the text of formatAddress back as the same bytes', () => {
    fc.assert(
      fc.property(any, (address) => {
        const text = formatAddress(address)
        expect(isIP(text)).toBe(address.version)
        expect(readAddress(text)).toEqual(address)
      }),
      { numRuns: 2000 },
    )
  })

  test('readAddress accepts exactly the texts that Node accepts as addresses without a zone', () => {
    const piece = fc.constantFrom(
      ...'0123456789abcdefABCDEF:.:.::%xg /'.split(''),
      '::',
      '255',
      '256',
      '00',
      'ffff',
      '1.2.3.4',
    )
    const near = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(near, (text) => {
        const expected = text.includes('%') ? 0 : isIP(text)
        expect(readAddress(text) !== undefined).toBe(expected !== 0)
      }),
      { numRuns: scaled(60_000) },
    )
  })

  test.each([
    // RFC 5952, section 2.2 and section 4: one canonical text for each address.
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8::1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8::0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0db8::1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:DB8:0:0:1::1', '2001:db8::1:0:0:1'],
    ['2001:db8:0000:0:1::1', '2001:db8::1:0:0:1'],
    ['2001:db8:aaaa:bbbb:cccc:dddd:eeee:0001', '2001:db8:aaaa:bbbb:cccc:dddd:eeee:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:0:0:2:1', '2001:db8::2:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['::1.2.3.4', '::102:304'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:ffff:102:304', '1.2.3.4'],
  ])('readAddress and formatAddress turn %s into %s', (text, canonical) => {
    const address = readAddress(text)
    expect(address && formatAddress(address)).toBe(canonical)
  })

  test.each([
    '127.1',
    '0x7f.1',
    '0x7f.0.0.1',
    '2130706433',
    '0177.0.0.1',
    '127.0.0.01',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '1.2.3.-4',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '1.2.3.4\n',
    '1.2.3.4%eth0',
    '１.2.3.4',
    '①②⑦.⓪.⓪.①',
    '1..2.3',
    '.1.2.3',
    '',
    'fe80::1%eth0',
    'fe80::1%25eth0',
    '[::1]',
    '::1/128',
    ':::',
    '::1::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '12345::',
    'g::',
    '1:2:3:4:5:6:7:8:9',
    '::1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7::8:9',
    '1.2.3.4::',
    '::1.2.3',
    '::1.2.3.4:5',
    '::ffff:01.2.3.4',
    '::ffff:0x7f.1',
    ':1',
    '1:',
    '1:2:3:4:5:6:7:',
    ':1:2:3:4:5:6:7',
    'localhost',
    '0000:0000:0000:0000:0000:ffff:0255.255.255.255',
    '::00000',
    '1:2:3:4:5:6:7:1.2.3.4',
  ])('readAddress refuses %j', (text) => {
    expect(readAddress(text)).toBeUndefined()
  })

  test('readAddress and readPrefix refuse a text with 100,000 colons', () => {
    expect(readAddress(':'.repeat(100_000))).toBeUndefined()
    expect(readPrefix(`${'1:'.repeat(100_000)}/64`)).toBeUndefined()
  })

  test('addressFromNumber inverts addressToNumber, and throws RangeError for a number out of range', () => {
    fc.assert(
      fc.property(any, (address) => {
        expect(addressFromNumber(address.version, addressToNumber(address))).toEqual(address)
      }),
    )
    expect(addressToNumber({ version: 4, bytes: Uint8Array.of(127, 0, 0, 1) })).toBe(2_130_706_433n)
    for (const [version, value] of [
      [4, 2n ** 32n],
      [6, 2n ** 128n],
      [4, -1n],
      [6, -1n],
    ] as const) {
      expect(() => addressFromNumber(version, value)).toThrow(RangeError)
    }
  })
})

test('hostAndPort and bracketed put brackets around an IPv6 address, and not around a name or an IPv4 address', () => {
  expect(hostAndPort('2001:db8::1', 443)).toBe('[2001:db8::1]:443')
  expect(hostAndPort('127.0.0.1', 80)).toBe('127.0.0.1:80')
  expect(hostAndPort('shop.example', 8080)).toBe('shop.example:8080')
  for (const host of ['::', 'fe80::1', '192.0.2.1', 'a.example']) {
    expect(new URL(`http://${hostAndPort(host, 81)}`).host).toBe(`${bracketed(host)}:81`)
  }
})

describe('prefixes', () => {
  const block = fc
    .tuple(any, fc.nat(128))
    .map(([address, length]) => ({ address, length: Math.min(length, address.bytes.length * 8) }))

  test('contains() is true exactly for the addresses from the first to the last one of a prefix', () => {
    fc.assert(
      fc.property(block, any, ({ address, length }, other) => {
        const bits = BigInt(address.bytes.length * 8 - length)
        const first = (addressToNumber(address) >> bits) << bits
        const last = first + (1n << bits) - 1n
        const prefix = { base: addressFromNumber(address.version, first), length }
        expect(contains(prefix, address)).toBe(true)
        expect(contains(prefix, addressFromNumber(address.version, last))).toBe(true)
        const number = addressToNumber(other)
        expect(contains(prefix, other)).toBe(other.version === address.version && number >= first && number <= last)
        const beyond = last + 1n
        if (beyond < 1n << BigInt(address.bytes.length * 8)) {
          expect(contains(prefix, addressFromNumber(address.version, beyond))).toBe(false)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test('readPrefix reads the text of formatPrefix back, and refuses a prefix with host bits set', () => {
    fc.assert(
      fc.property(block, ({ address, length }) => {
        const bits = BigInt(address.bytes.length * 8 - length)
        const first = (addressToNumber(address) >> bits) << bits
        const base = addressFromNumber(address.version, first)
        // Blocks of mapped IPv4 addresses are read as IPv4 blocks, which have another length.
        fc.pre(address.version === 4 || first >> 32n !== 0xffffn)
        expect(readPrefix(formatPrefix({ base, length }))).toEqual({ base, length })
        const isCanonical = first === addressToNumber(address)
        expect(readPrefix(`${formatAddress(address)}/${length}`) !== undefined).toBe(isCanonical)
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7/32', '203.0.113.7'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['2001:DB8::/32', '2001:db8::/32'],
    ['::1/128', '::1'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
  ])('readPrefix and formatPrefix turn %s into %s', (text, canonical) => {
    const prefix = readPrefix(text)
    expect(prefix && formatPrefix(prefix)).toBe(canonical)
  })

  test.each([
    '203.0.113.1/24',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    '/8',
    '10.0.0.0/8 ',
    '10.0.0.0/+8',
    '10.0.0.0/0x8',
    '10.0.0.0/8.0',
    '10/8',
    '2001:db8::1/32',
    '::/129',
    '::ffff:10.0.0.0/8',
    '10.0.0.0/255.0.0.0',
    '',
  ])('readPrefix refuses %j', (text) => {
    expect(readPrefix(text)).toBeUndefined()
  })

  test('contains() is false for the prefix ::/0 and an IPv4 address', () => {
    expect(
      contains(
        { base: { version: 6, bytes: new Uint8Array(16) }, length: 0 },
        { version: 4, bytes: new Uint8Array(4) },
      ),
    ).toBe(false)
  })

  test('readAddress reads both spellings of an IPv4-mapped IPv6 address as the 4 bytes of the IPv4 address', () => {
    expect(bytesOf('::ffff:203.0.113.7')).toEqual([203, 0, 113, 7])
    expect(bytesOf('::ffff:cb00:7107')).toEqual([203, 0, 113, 7])
  })

  test('isWithinSorted agrees with a comparison with every prefix, and withoutNested returns no nested prefix', () => {
    const someBlock = fc
      .tuple(fc.constantFrom(4 as const, 6 as const), fc.nat(255), fc.nat(32))
      .map(([version, high, length]): Prefix => {
        const bits = version === 4 ? 32n : 128n
        const drop = bits - BigInt(length)
        const value = (((BigInt(high) << (bits - 8n)) + BigInt(high)) >> drop) << drop
        return { base: addressFromNumber(version, value), length }
      })
    fc.assert(
      fc.property(fc.array(someBlock, { maxLength: 30 }), someBlock, (blocks, { base }) => {
        const sorted = withoutNested(blocks)
        expect(isWithinSorted(sorted, base)).toBe(blocks.some((each) => contains(each, base)))
        for (const [at, each] of sorted.entries()) {
          expect(sorted.some((other, index) => index !== at && contains(other, each.base))).toBe(false)
        }
      }),
      { numRuns: 1000 },
    )
  })
})
