import { describe, expect, test } from 'bun:test'
import { base32Digit, isBase32, randomBase32 } from './base32.ts'

describe('base 32', () => {
  test('base 32 has 32 distinct digits in the order of their values', () => {
    const digits = Array.from({ length: 32 }, (_, value) => base32Digit(value))
    expect(new Set(digits).size).toBe(32)
    expect(digits.toSorted()).toEqual(digits)
    expect(digits.join('')).not.toMatch(/[ilou]/)
  })

  test('every character of a random text is as likely as any other', () => {
    const counts = new Map<string, number>()
    const text = randomBase32(Uint8Array.from({ length: 256 }, (_, byte) => byte))
    for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
    expect([...counts.values()]).toEqual(Array.from({ length: 32 }, () => 8))
  })

  test('a text with another character is not base 32', () => {
    expect(isBase32(randomBase32(Uint8Array.of(0, 31, 255, 7)))).toBeTrue()
    for (const text of ['0I', 'l', 'o', 'u', 'A', '-', ' ', 'é']) expect(isBase32(text)).toBeFalse()
  })
})
