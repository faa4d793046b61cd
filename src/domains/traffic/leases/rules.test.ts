import { expect, test } from 'bun:test'
import { allowance, count, grant, lapse, leaseSize, newLine } from './rules.ts'

const lease = 1000n

test('bytes on their way to a stalled connection do not use up the lease of the customer’s other connections', () => {
  const first = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, lease, 10_000n).line
  expect(allowance(first)).toBe(1000n)
  // All of it is on its way: one more lease is granted.
  const second = grant(first, 2, lease, 9000n, 1000n).line
  expect(allowance(second)).toBe(2000n)
  expect(second.aside).toBe(2000n)
  // However much a node says is on its way, it gets at most one lease and the free bytes.
  expect(allowance(grant(second, 3, lease, 300n, 999_999n).line)).toBe(2300n)
})

test('bytes that were on their way and did not arrive may still be carried, and nothing is added to them', () => {
  const first = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, lease, 10_000n).line
  const second = grant(first, 2, lease, 9000n, 1000n).line
  const { line } = count(second, { claimed: 400n, believed: 400n }, false)
  const third = grant(line, 3, lease, 8000n, 0n)
  expect(allowance(third.line)).toBe(2000n)
  expect(third.effect).toMatchObject({ settle: 400n, grant: 0n })
})

test('claims that are not believed go to quarantine, and the count continues from the claim', () => {
  const first = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, lease, 10_000n).line
  const { line, quarantined } = count(first, { claimed: 700n, believed: 200n }, false)
  expect([quarantined, line.counted, line.quarantined, allowance(line)]).toEqual([500n, 700n, 500n, 1500n])
  expect(grant(line, 2, lease, 9000n).effect).toMatchObject({ settle: 200n, grant: 200n })
})

test('a lease grows with the node’s pace, between the smallest and the largest, up to an eighth of the free bytes', () => {
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

test('the held bytes of a large lease may be claimed late after it lapsed, and at most one lease', () => {
  const large = grant(newLine({ node: 'n', boot: 'b' }, 's'), 1, 5000n, 100_000n).line
  const lapsed = lapse(large, false, lease)
  expect(lapsed.line.claimable).toBe(5000n)
  const again = grant({ ...lapsed.line, claimable: 900n }, 2, lease, 100_000n).line
  expect(lapse(again, false, lease).line.claimable).toBe(1000n)
})
