import { expect, test } from 'bun:test'
import { allowance, count, grant, newLine } from './rules.ts'

const lease = 1000n

test('bytes on their way to a customer that stands still do not use up the lease of his other connections', () => {
  const first = grant(newLine('n', 'b', 's'), 1, lease, 10_000n).line
  expect(allowance(first)).toBe(1000n)
  // All of it is on its way and none has arrived: another lease, and no more than one.
  const second = grant(first, 2, lease, 9000n, 1000n).line
  expect(allowance(second)).toBe(2000n)
  expect(second.aside).toBe(2000n)
  // Whatever a node says is on its way, it gets one lease at a time, and what is there.
  expect(allowance(grant(second, 3, lease, 300n, 999_999n).line)).toBe(2300n)
})

test('what was on its way and did not arrive is there to be carried, and nothing is added to it', () => {
  const first = grant(newLine('n', 'b', 's'), 1, lease, 10_000n).line
  const second = grant(first, 2, lease, 9000n, 1000n).line
  const { line } = count(second, { claimed: 400n, believed: 400n }, false)
  const third = grant(line, 3, lease, 8000n, 0n)
  expect(allowance(third.line)).toBe(2000n)
  expect(third.effect).toMatchObject({ settle: 400n, grant: 0n })
})

test('what a node claims and is not believed goes to quarantine, whatever its lease allows, and its count goes on from there', () => {
  const first = grant(newLine('n', 'b', 's'), 1, lease, 10_000n).line
  const { line, quarantined } = count(first, { claimed: 700n, believed: 200n }, false)
  expect([quarantined, line.counted, line.quarantined, allowance(line)]).toEqual([500n, 700n, 500n, 1500n])
  expect(grant(line, 2, lease, 9000n).effect).toMatchObject({ settle: 200n, grant: 200n })
})
