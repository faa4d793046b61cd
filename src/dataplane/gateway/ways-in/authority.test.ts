import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { addressFromNumber, formatAddress, readAddress } from '../../../core/address.ts'
import { formatAuthority, readAuthority } from './authority.ts'

const edge = 'abcxyz019_'.split('')
const label = fc
  .tuple(fc.constantFrom(...edge), fc.array(fc.constantFrom(...edge, '-'), { maxLength: 20 }), fc.constantFrom(...edge))
  .map(([first, middle, last]) => `${first}${middle.join('')}${last}`)
const name = fc
  .tuple(fc.array(label, { maxLength: 6 }), fc.constantFrom('example', 'com', 'xn--p1ai', 'a1'))
  .map(([labels, last]) => [...labels, last].join('.'))
const v4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((value) => formatAddress(addressFromNumber(4, value)))
const v6 = fc
  .bigInt({ min: 0n, max: 2n ** 128n - 1n })
  .filter((value) => value >> 32n !== 0xffffn)
  .map((value) => formatAddress(addressFromNumber(6, value)))
const target = fc.record({ host: fc.oneof(name, v4, v6), port: fc.integer({ min: 1, max: 65_535 }) })

describe('readAuthority', () => {
  test('readAuthority returns every target that formatAuthority has written', () => {
    fc.assert(
      fc.property(target, fc.constantFrom(80, 443, undefined), (wanted, defaultPort) => {
        expect(readAuthority(formatAuthority(wanted, defaultPort), defaultPort)).toEqual(wanted)
      }),
      { numRuns: 3000 },
    )
  })

  test('readAuthority returns the same target for the canonical form of any text that it accepts', () => {
    const pieces = fc.constantFrom(
      ...'aZ09.-_:[]@%/\\ +x\0é①'.split(''),
      '127.1',
      '0x7f',
      '::',
      '::ffff:',
      ':80',
      ':0080',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 10 }), (parts) => {
        const read = readAuthority(parts.join(''), 80)
        if (!read) return
        expect(readAuthority(formatAuthority(read))).toEqual(read)
        expect(read.host).toMatch(/^[a-z0-9._:-]+$/)
        expect(Number.isInteger(read.port) && read.port >= 1 && read.port <= 65_535).toBe(true)
      }),
      { numRuns: scaled(40_000) },
    )
  })

  test('readAuthority refuses octal, hexadecimal and short forms of IPv4 addresses', () => {
    const number = fc.nat(0xffffffff)
    const spelled = fc
      .tuple(number, fc.constantFrom(8, 10, 16))
      .map(([value, base]) => `${base === 8 ? '0' : ''}${base === 16 ? '0x' : ''}${value.toString(base)}`)
    fc.assert(
      fc.property(fc.array(spelled, { minLength: 1, maxLength: 4 }), (parts) => {
        const text = parts.join('.')
        expect(readAuthority(text, 80)?.host).toBe(readAddress(text) ? text : undefined)
      }),
      { numRuns: 3000 },
    )
  })

  test('readAuthority accepts only decimal ports from 1 to 65535 without sign, blanks or leading zeros', () => {
    for (let port = -2; port < 70_000; port += 1) {
      expect(readAuthority(`a:${port}`)?.port).toBe(port >= 1 && port <= 65_535 ? port : undefined)
    }
    for (const text of ['', '00', '080', '+80', ' 80', '80 ', '8_0', '8e1', '0x50', '٨٠', '80\n']) {
      expect(readAuthority(`a:${text}`, 80)).toBeUndefined()
    }
  })

  test('readAuthority accepts a name of 253 characters and refuses one of 254', () => {
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`
    expect(readAuthority(`${long}.:65535`)).toEqual({ host: long, port: 65_535 })
    expect(readAuthority(`${long}d:80`)).toBeUndefined()
  })

  test('readAuthority refuses a host of 1 MB', () => {
    expect(readAuthority('a.'.repeat(500_000), 80)).toBeUndefined()
    expect(readAuthority(`[${':'.repeat(1_000_000)}]`, 80)).toBeUndefined()
  })
})
