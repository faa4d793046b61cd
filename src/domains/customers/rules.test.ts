import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { sameBytes, tokenRandomBytes } from '../../core/token-text.ts'
import { hintOf, isTokenText, makeTokenText } from './rules.ts'

const random = fc.uint8Array({ minLength: tokenRandomBytes, maxLength: tokenRandomBytes })

describe('the text of a token', () => {
  test('a token text tells sandbox from production and passes its checksum', () => {
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

  test('a token text ends with its CRC-32, the same in every version', () => {
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

  test('a token text holds 160 random bits, each of which changes it', () => {
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

  test('a token text with one character mistyped or two neighbours swapped is refused', () => {
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyzIOLU_-'.split('')
    fc.assert(
      fc.property(random, fc.nat(46), fc.constantFrom(...alphabet), (bytes, at, typed) => {
        const text = makeTokenText('production', bytes)
        const slipped = text.slice(0, at) + typed + text.slice(at + 1)
        expect(isTokenText(slipped)).toBe(slipped === text)
        const swapped = text.slice(0, at) + text.slice(at + 1, at + 2) + text.slice(at, at + 1) + text.slice(at + 2)
        expect(isTokenText(swapped)).toBe(swapped === text)
      }),
      { numRuns: 1000 },
    )
  })

  test('a sandbox token text with the production prefix is refused', () => {
    const text = makeTokenText('sandbox', new Uint8Array(tokenRandomBytes))
    expect(isTokenText(text.replace('tp_test_', 'tp_live_'))).toBe(false)
  })

  test('the hint of a token is its first twelve characters, with 20 of the 160 random bits', () => {
    expect(hintOf(makeTokenText('production', new Uint8Array(tokenRandomBytes)))).toBe('tp_live_0000')
  })

  test('any other text, however long, is refused as a token', () => {
    for (const text of ['', 'tp_live_', 'tp_live_'.repeat(1000), 'x'.repeat(47), 'é'.repeat(47), '\0'.repeat(47)]) {
      expect(isTokenText(text)).toBe(false)
    }
  })
})

test('sameBytes compares every byte and the length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }), (a, b) => {
      expect(sameBytes(a, b)).toBe(Buffer.compare(a, b) === 0)
      expect(sameBytes(a, Uint8Array.from(a))).toBe(true)
    }),
  )
})
