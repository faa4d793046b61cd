import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Address, addressFromNumber, addressToNumber, readAddress, readPrefix } from './address.ts'
import { type AddressClass, classify, isPublic } from './reserved.ts'

function at(text: string): Address {
  const address = readAddress(text)
  if (!address) throw new Error(`${text} is not an address`)
  return address
}

/** An IPv6 address from its bytes; readAddress would turn a mapped one into IPv4. */
const raw6 = (high: bigint, address: Address): Address => addressFromNumber(6, (high << 32n) | addressToNumber(address))

describe('classify', () => {
  const classes: readonly (readonly [AddressClass, ...string[]])[] = [
    // The first and last address of each range, and the public neighbours.
    ['reserved', '0.0.0.0', '0.255.255.255'],
    ['private', '10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
    ['private', '100.64.0.0', '100.127.255.255'],
    ['loopback', '127.0.0.0', '127.0.0.1', '127.255.255.255', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
    ['link-local', '169.254.0.0', '169.254.255.255', 'fe80::', 'fe80::1', 'febf:ffff::'],
    ['metadata', '169.254.169.254', '::ffff:169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16'],
    ['metadata', 'fd00:ec2::254', 'fd20:ce::254', '192.0.0.192'],
    ['reserved', '192.0.0.0', '192.0.0.9', '192.0.0.255', '198.18.0.0', '198.19.255.255'],
    ['reserved', '192.31.196.1', '192.52.193.1', '192.175.48.1'],
    [
      'documentation',
      '192.0.2.0',
      '192.0.2.255',
      '198.51.100.7',
      '203.0.113.7',
      '2001:db8::',
      '2001:db8:ffff::',
      '3fff:fff::',
    ],
    [
      'translated',
      '192.88.99.1',
      '::',
      '::7f00:1',
      '::8.8.8.8',
      '::ffff:0:7f00:1',
      '64:ff9b::7f00:1',
      '64:ff9b::808:808',
    ],
    ['translated', '64:ff9b:1::1', '2001::1', '2001:0:ffff::', '2002:7f00:1::', '2002:808:808::1'],
    ['multicast', '224.0.0.0', '239.255.255.255', 'ff02::1', 'ffff::'],
    [
      'reserved',
      '240.0.0.0',
      '255.255.255.255',
      '100::1',
      '100:0:0:1::1',
      '2001:2::1',
      '2001:10::1',
      '2001:20::1',
      '2001:1ff::',
    ],
    ['reserved', '2620:4f:8000::1', '5f00::1', '4000::', '1fff::1', '8000::1', 'e000::1'],
    ['private', 'fc00::', 'fdff:ffff::', 'fec0::1'],
    ['public', '1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    [
      'public',
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '191.255.255.255',
      '192.0.1.0',
      '192.0.3.0',
    ],
    [
      'public',
      '192.167.255.255',
      '192.169.0.0',
      '198.17.255.255',
      '198.20.0.0',
      '203.0.112.255',
      '203.0.114.0',
      '223.255.255.255',
    ],
    [
      'public',
      '::ffff:8.8.8.8',
      '2000::',
      '2001:200::1',
      '2001:4860:4860::8888',
      '2003::1',
      '2606:4700::1111',
      '3ffe::1',
      '3fff:1000::',
    ],
  ]

  test.each(classes.map(([addressClass, ...texts]) => [addressClass, texts] as const))(
    'classify returns %s for %j',
    (addressClass, texts) => {
      expect(texts.map((text) => [text, classify(at(text))])).toEqual(texts.map((text) => [text, addressClass]))
    },
  )

  test('classify gives an IPv4-mapped address the class of its IPv4 address, and public to no other embedding', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), (value) => {
        const address = addressFromNumber(4, value)
        expect(classify(raw6(0xffffn, address))).toBe(classify(address))
        expect(classify(raw6(0n, address))).not.toBe('public')
        expect(classify(raw6(0x64ff9bn << 64n, address))).not.toBe('public')
        expect(classify(addressFromNumber(6, (0x2002n << 112n) | (value << 80n)))).not.toBe('public')
      }),
      { numRuns: 2000 },
    )
  })

  test('classify returns public for no IPv6 address outside 2000::/3', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), (value) => {
        fc.pre(value >> 125n !== 1n && value >> 32n !== 0xffffn)
        expect(classify(addressFromNumber(6, value))).not.toBe('public')
      }),
      { numRuns: 2000 },
    )
  })
})

const judge = (text: string): boolean => {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error(`${text} is not a prefix`)
  return isPublic(prefix)
}

describe('isPublic', () => {
  test.each(['8.8.8.8', '1.1.1.0/24', '93.184.216.34', '2606:4700::1111', '2a00:1450::/56'])(
    'isPublic accepts %s',
    (text) => {
      expect(judge(text)).toBe(true)
    },
  )

  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.0.1',
    '192.0.2.1',
    '192.168.1.0/24',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    '::7f00:1',
    '64:ff9b::7f00:1',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2001::1',
    '3fff::1',
    '168.63.129.16',
    '192.31.196.0/24',
    '192.52.193.9',
    '192.175.48.0/24',
    '2620:4f:8000::/48',
  ])('isPublic refuses %s', (text) => {
    expect(judge(text)).toBe(false)
  })

  test('isPublic accepts a prefix of one address exactly when classify returns public for it', () => {
    for (const [version, bits] of [
      [4, 32n],
      [6, 128n],
    ] as const) {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: 2n ** bits - 1n }), (value) => {
          const base = addressFromNumber(version, value)
          expect(isPublic({ base, length: Number(bits) })).toBe(classify(base) === 'public')
        }),
        { numRuns: 2000 },
      )
    }
  })

  test.each(['168.63.128.0/17', '192.0.0.0/16', '2001::/16', '2620:4f::/32', '2000::/3', '0.0.0.0/0', '::/0'])(
    'isPublic refuses %s, which contains reserved addresses',
    (text) => {
      expect(judge(text)).toBe(false)
    },
  )

  test('isPublic decides on an IPv4-mapped address by its IPv4 address', () => {
    expect(judge('::ffff:127.0.0.1')).toBe(false)
    expect(judge('::ffff:8.8.8.8')).toBe(true)
  })
})
