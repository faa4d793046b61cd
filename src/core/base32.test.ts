import { describe, expect, test } from 'bun:test'
import { base32Digit, isBase32, randomBase32 } from './base32.ts'

describe('base 32', () => {
  test('base32Digit returns 32 distinct digits in ascending order, without i, l, o and u', () => {
    const digits = Array.from({ length: 32 }, (_, value) => base32Digit(value))
    expect(new Set(digits).size).toBe(32)
    expect(digits.toSorted()).toEqual(digits)
    expect(digits.join('')).not.toMatch(/[ilou]/)
  })

  test('randomBase32 maps the 256 byte values evenly to the 32 characters', () => {
    const counts = new Map<string, number>()
    const text = randomBase32(Uint8Array.from({ length: 256 }, (_, byte) => byte))
    for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
    expect([...counts.values()]).toEqual(Array.from({ length: 32 }, () => 8))
  })

  test('isBase32 refuses a text with a character outside the alphabet', () => {
    expect(isBase32(randomBase32(Uint8Array.of(0, 31, 255, 7)))).toBeTrue()
    for (const text of ['0I', 'l', 'o', 'u', 'A', '-', ' ', 'é']) expect(isBase32(text)).toBeFalse()
  })
})
