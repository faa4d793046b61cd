import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../test/harness/scale.ts'
import { contains, type Prefix, readAddress, readPrefix } from '../../core/address.ts'
import { drawShares, randomAddress, saleWeight, scattered, sizeOf } from './rules.ts'

function prefixOf(text: string): Prefix {
  const prefix = readPrefix(text)
  if (!prefix) throw new Error(`${text} is not a prefix`)
  return prefix
}

test('scattered() lists every address of a prefix once, for /16 to /32 and /114 to /128', () => {
  for (let length = 32; length >= 16; length -= 1) {
    const prefix = prefixOf(`10.0.0.0/${length}`)
    const seen = new Set(scattered(prefix))
    expect(BigInt(seen.size)).toBe(sizeOf(prefix))
  }
  for (let length = 128; length >= 114; length -= 1) {
    const prefix = prefixOf(`2001:db8::/${length}`)
    const seen = [...scattered(prefix)]
    expect(BigInt(new Set(seen).size)).toBe(sizeOf(prefix))
    for (const text of seen.slice(0, 100)) {
      const address = readAddress(text)
      expect(address && contains(prefix, address)).toBeTrue()
    }
  }
})

test('scattered() lists no two addresses of a /24 in sequence that are 10 or less apart', () => {
  const numbers = [...scattered(prefixOf('203.0.113.0/24'))].map((text) => Number(text.split('.')[3]))
  for (const [index, each] of numbers.entries()) {
    if (index > 0) expect(Math.abs(each - (numbers[index - 1] ?? 0))).toBeGreaterThan(10)
  }
})

test('scattered() throws RangeError for an IPv6 /64', () => {
  expect(() => [...scattered(prefixOf('2001:db8::/64'))]).toThrow(RangeError)
})

test('randomAddress returns an address inside the prefix, and never the first, the anycast address of routers', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
      fc.integer({ min: 32, max: 127 }),
      (chance, length) => {
        const prefix = prefixOf(`2001:db8::/${length}`)
        const address = randomAddress(prefix, () => chance)
        expect(contains(prefix, address)).toBeTrue()
        expect(address.bytes).not.toEqual(prefix.base.bytes)
      },
    ),
    { numRuns: scaled(2000) },
  )
})

test('drawShares gives every slot to a gateway with a weight above 0, whatever the random bytes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-9, max: 1e12, noNaN: true })), { maxLength: 8 }),
      fc.integer({ min: 1, max: 50 }),
      fc.uint8Array({ minLength: 200, maxLength: 200 }),
      (weights, count, bytes) => {
        const shares = drawShares(weights, count, (length) => bytes.subarray(0, length))
        const isAny = weights.some((weight) => weight > 0)
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(isAny ? count : 0)
        for (const [index, weight] of weights.entries()) if (weight === 0) expect(shares[index]).toBe(0)
      },
    ),
    { numRuns: scaled(20_000) },
  )
})

test('saleWeight grows with free slots and bandwidth, and falls with open tunnels', () => {
  const idle = { linkMegabits: 1000, health: { tunnels: 0 } }
  expect(saleWeight(idle, 20)).toBe(2 * saleWeight(idle, 10))
  expect(saleWeight({ ...idle, linkMegabits: 500 }, 20)).toBe(saleWeight(idle, 10))
  expect(saleWeight({ ...idle, health: { tunnels: 100 } }, 20)).toBe(saleWeight(idle, 10))
  expect(saleWeight({ ...idle, health: null }, 10)).toBe(saleWeight(idle, 10))
})
