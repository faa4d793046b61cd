import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { createLosses, maxLost } from './losses.ts'

const hourMs = 3_600_000
const mebibyte = 1024 * 1024

test('createLosses waives at most 1 MiB of lost bytes per customer within any hour', () => {
  const drop = fc.record({
    afterMs: fc.integer({ min: 0, max: hourMs / 3 }),
    bytes: fc.integer({ min: 0, max: 65536 }),
  })
  fc.assert(
    fc.property(fc.array(drop, { minLength: 20, maxLength: 200 }), (drops) => {
      let nowMs = 1_800_000_000_000
      const losses = createLosses(() => nowMs)
      const waived: { at: number; bytes: number }[] = []
      for (const { afterMs, bytes } of drops) {
        nowMs += afterMs
        waived.push({ at: nowMs, bytes: losses.bear('owner', bytes) })
        const lately = waived.filter(({ at }) => nowMs - at < hourMs).reduce((sum, each) => sum + each.bytes, 0)
        expect(lately).toBeLessThanOrEqual(maxLost.ofOwner)
      }
    }),
  )
})

test('createLosses waives up to 1 MiB for each customer separately, and again 65 minutes later', () => {
  let nowMs = 1_800_000_000_000
  const losses = createLosses(() => nowMs)
  for (let count = 0; count < 16; count += 1) expect(losses.bear('a', 65_536)).toBe(65_536)
  expect(losses.bear('a', 65_536)).toBe(0)
  expect(losses.bear('b', 65_536)).toBe(65_536)
  nowMs += hourMs + 5 * 60_000
  expect(losses.bear('a', 65_536)).toBe(65_536)
})

test('createLosses forgets the oldest of more than 50,000 customers', () => {
  const losses = createLosses(() => 1_800_000_000_000)
  losses.bear('owner 0', mebibyte)
  for (let count = 1; count < 50_002; count += 1) losses.bear(`owner ${count}`, mebibyte)
  expect(losses.bear('owner 0', 1)).toBe(1)
  expect(losses.bear('owner 50001', 1)).toBe(0)
})
