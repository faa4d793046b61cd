import { expect, test } from 'bun:test'
import { allowance, count, grant, lapse, leaseSize, newLine } from './rules.ts'

const lease = 1000n

test('grant() adds at most one lease for bytes in flight to a stalled connection', () => {
  const first = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, lease, 10_000n).line
  expect(allowance(first)).toBe(1000n)
  // All bytes are in flight: one more lease is granted.
  const second = grant(first, 2, lease, 9000n, 1000n).line
  expect(allowance(second)).toBe(2000n)
  expect(second.aside).toBe(2000n)
  // A node gets at most one lease and the free bytes, however many bytes it reports in flight.
  expect(allowance(grant(second, 3, lease, 300n, 999_999n).line)).toBe(2300n)
})

test('grant() keeps the allowance for bytes in flight that were not delivered, and adds nothing', () => {
  const first = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, lease, 10_000n).line
  const second = grant(first, 2, lease, 9000n, 1000n).line
  const { line } = count(second, { claimed: 400n, believed: 400n }, false)
  const third = grant(line, 3, lease, 8000n, 0n)
  expect(allowance(third.line)).toBe(2000n)
  expect(third.effect).toMatchObject({ settle: 400n, grant: 0n })
})

test('count() puts claimed bytes that are not believed into quarantine, and continues from the claim', () => {
  const first = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, lease, 10_000n).line
  const { line, quarantined } = count(first, { claimed: 700n, believed: 200n }, false)
  expect([quarantined, line.counted, line.quarantined, allowance(line)]).toEqual([500n, 700n, 500n, 1500n])
  expect(grant(line, 2, lease, 9000n).effect).toMatchObject({ settle: 200n, grant: 200n })
})

test('leaseSize follows the rate of the node between minimum and maximum, up to 1/8 of the free bytes', () => {
  const terms = { leaseBytes: 1000n, maxLeaseBytes: 50_000n, leaseLastsMs: 1 }
  for (const [pace, available, size] of [
    [0n, 1_000_000n, 1000n],
    [999n, 1_000_000n, 1000n],
    [20_000n, 1_000_000n, 20_000n],
    [900_000n, 1_000_000n, 50_000n],
    [20_000n, 80_000n, 10_000n],
    [20_000n, 100n, 1000n],
  ] as const) {
    expect(leaseSize(terms, pace, available)).toBe(size)
  }
})

test('lapse() lets a node claim all held bytes of a large lease late, and otherwise at most one lease', () => {
  const large = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, 5000n, 100_000n).line
  const lapsed = lapse(large, false, lease)
  expect(lapsed.line.claimable).toBe(5000n)
  const again = grant({ ...lapsed.line, claimable: 900n }, 2, lease, 100_000n).line
  expect(lapse(again, false, lease).line.claimable).toBe(1000n)
})
