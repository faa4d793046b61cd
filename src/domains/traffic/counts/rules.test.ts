import { describe, expect, test } from 'bun:test'
import { bytes } from '../../../core/bytes.ts'
import { believe, firstBudget, largerOf, newIn, refill, settle, sumRefused } from './rules.ts'

const count = (subject: string, received: bigint, sent: bigint) => ({
  subject,
  received: bytes(received),
  sent: bytes(sent),
})
/** What a link of 8 Mbit/s carries in a millisecond. */
const eachMs = 1000n
const megabits = 8
const dayMs = 86_400_000

describe('what a node counts', () => {
  test('is new as far as it is more than was known, each direction by itself', () => {
    const known = count('a', 10n, 10n)
    expect(newIn(count('a', 15n, 9n), known)).toEqual({ received: bytes(5n), sent: bytes(0n) })
    expect(newIn(count('a', 10n, 10n), known)).toEqual({ received: bytes(0n), sent: bytes(0n) })
    expect(newIn(count('a', 3n, 4n), undefined)).toEqual({ received: bytes(3n), sent: bytes(4n) })
    expect(largerOf(count('a', 15n, 9n), known)).toEqual(count('a', 15n, 10n))
    expect(largerOf(count('a', 9n, 15n), known)).toEqual(count('a', 10n, 15n))
  })

  test('of one subject is its largest, and subjects come in one order', () => {
    expect(settle([count('b', 1n, 9n), count('a', 2n, 2n), count('b', 5n, 3n)])).toEqual([
      count('a', 2n, 2n),
      count('b', 5n, 9n),
    ])
  })
})

describe('what a node can have carried', () => {
  test('is a tenth of a second of its link at first', () => {
    expect(firstBudget(megabits, 7)).toEqual({ rest: 100n * eachMs, at: 7 })
  })

  test('grows with time, to ten seconds while it is in touch', () => {
    const empty = { rest: 0n, at: 0 }
    expect(refill(empty, megabits, 1)).toEqual({ rest: eachMs, at: 1 })
    expect(refill({ rest: 5n, at: 0 }, megabits, 1).rest).toBe(eachMs + 5n)
    expect(refill(empty, megabits, 10_000).rest).toBe(10_000n * eachMs)
    expect(refill({ rest: 9_500n * eachMs, at: 0 }, megabits, 1000).rest).toBe(10_000n * eachMs)
  })

  test('is all of a silence, up to a day', () => {
    expect(refill({ rest: 0n, at: 0 }, megabits, 60_000).rest).toBe(60_000n * eachMs)
    expect(refill({ rest: 9n, at: 0 }, megabits, 60_000).rest).toBe(60_000n * eachMs)
    expect(refill({ rest: 0n, at: 0 }, megabits, dayMs).rest).toBe(BigInt(dayMs) * eachMs)
    expect(refill({ rest: 0n, at: 0 }, megabits, dayMs + 1000).rest).toBe(BigInt(dayMs) * eachMs)
  })

  test('is neither more nor less by a clock that was set back', () => {
    expect(refill({ rest: 77n, at: 5000 }, megabits, 4000)).toEqual({ rest: 77n, at: 4000 })
  })

  test('is never more than 100 TB in one report, whatever its link', () => {
    expect(refill({ rest: 0n, at: 0 }, 1_000_000, dayMs).rest).toBe(100_000_000_000_000n)
  })

  test('is believed for what went to the customer first, and the rest is refused', () => {
    const claimed = { received: 10n, sent: 5n }
    expect(believe(claimed, 15n)).toEqual({ received: bytes(10n), sent: bytes(5n) })
    expect(believe(claimed, 14n)).toEqual({ received: bytes(10n), sent: bytes(4n) })
    expect(believe(claimed, 10n)).toEqual({ received: bytes(10n), sent: bytes(0n) })
    expect(believe(claimed, 3n)).toEqual({ received: bytes(3n), sent: bytes(0n) })
    const added = (most: bigint) => ({ claimed: 15n, ...believe(claimed, most) })
    expect(sumRefused([added(15n)])).toBe(0n)
    expect(sumRefused([added(14n), added(3n)])).toBe(13n)
  })
})
