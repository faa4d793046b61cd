import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { hintOf, isTokenText, makeTokenText } from './rules.ts'

const random = fc.uint8Array({ minLength: tokenRandomBytes, maxLength: tokenRandomBytes })

describe('the text of a token', () => {
  test('makeTokenText writes the prefix tp_test_ or tp_live_, and isTokenText accepts the text', () => {
    fc.assert(
      fc.property(random, (bytes) => {
        for (const [mode, prefix] of [
          ['sandbox', 'tp_test_'],
          ['production', 'tp_live_'],
        ] as const) {
          const text = makeTokenText(mode, bytes)
          expect(text.startsWith(prefix)).toBe(true)
          expect(text).toMatch(/^tp_(live|test)_[0-9a-z]{39}$/)
          expect(isTokenText(text)).toBe(true)
        }
      }),
    )
  })

  test('makeTokenText ends a token with 7 digits of its CRC-32', () => {
    const digits = '0123456789abcdefghjkmnpqrstvwxyz'
    fc.assert(
      fc.property(random, (bytes) => {
        const text = makeTokenText('production', bytes)
        let rest = Bun.hash.crc32(text.slice(0, -7))
        let check = ''
        for (let index = 0; index < 7; index += 1) {
          check = digits.charAt(rest % 32) + check
          rest = Math.floor(rest / 32)
        }
        expect(text.slice(-7)).toBe(check)
      }),
    )
    expect(isTokenText('tp_live_18fpx4bjs07enw3ahrz6dmv29gqy5ckt2w7fwbp')).toBe(true)
  })

  test('makeTokenText writes 160 random bits, each of which changes the text', () => {
    const texts = new Set<string>()
    for (let byte = 0; byte < tokenRandomBytes; byte += 1) {
      for (let bit = 0; bit < 5; bit += 1) {
        const bytes = new Uint8Array(tokenRandomBytes)
        bytes[byte] = 1 << bit
        texts.add(makeTokenText('production', bytes))
      }
    }
    expect(texts.size).toBe(160)
  })

  test('isTokenText refuses a token with one mistyped character or two swapped neighbours', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyzIOLU_-'.split('')
    fc.assert(
      fc.property(random, fc.nat(46), fc.constantFrom(...alphabet), (bytes, at, typed) => {
        const text = makeTokenText('production', bytes)
        const mistyped = text.slice(0, at) + typed + text.slice(at + 1)
        expect(isTokenText(mistyped)).toBe(mistyped === text)
        const swapped = text.slice(0, at) + text.slice(at + 1, at + 2) + text.slice(at, at + 1) + text.slice(at + 2)
        expect(isTokenText(swapped)).toBe(swapped === text)
      }),
      { numRuns: 1000 },
    )
  })

  test('isTokenText refuses a sandbox token with the production prefix', () => {
    const text = makeTokenText('sandbox', new Uint8Array(tokenRandomBytes))
    expect(isTokenText(text.replace('tp_test_', 'tp_live_'))).toBe(false)
  })

  test('hintOf returns the first 12 characters of a token, with 20 of its 160 random bits', () => {
    expect(hintOf(makeTokenText('production', new Uint8Array(tokenRandomBytes)))).toBe('tp_live_0000')
  })

  test('isTokenText refuses an empty, a short, a long and a non-ASCII text', () => {
    for (const text of ['', 'tp_live_', 'tp_live_'.repeat(1000), 'x'.repeat(47), 'é'.repeat(47), '\0'.repeat(47)]) {
      expect(isTokenText(text)).toBe(false)
    }
  })
})

test('sameBytes is true exactly for byte arrays of the same length and content', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }), (a, b) => {
      expect(sameBytes(a, b)).toBe(Buffer.compare(a, b) === 0)
      expect(sameBytes(a, Uint8Array.from(a))).toBe(true)
    }),
  )
})
