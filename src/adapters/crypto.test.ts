import { describe, expect, test } from 'bun:test'
import { randomBytes } from './crypto.ts'

describe('random bytes', () => {
  test('randomBytes returns the requested number of bytes across blocks', () => {
    for (const count of [0, 1, 10, 255, 256, 257, 4096, 9999]) expect(randomBytes(count)).toHaveLength(count)
  })

  test('randomBytes returns no duplicate among 5,000 values of 10 bytes', () => {
    const texts = Array.from({ length: 5_000 }, () => randomBytes(10).toHex())
    expect(new Set(texts).size).toBe(texts.length)
  })

  test('randomBytes returns all byte values about equally often', () => {
    const counts = new Map<number, number>()
    for (let taken = 0; taken < 6_400; taken += 1) {
      for (const byte of randomBytes(40)) counts.set(byte, (counts.get(byte) ?? 0) + 1)
    }
    const each = [...counts.values()]
    expect(each).toHaveLength(256)
    expect(Math.min(...each)).toBeGreaterThan(750)
    expect(Math.max(...each)).toBeLessThan(1_250)
  })
})
