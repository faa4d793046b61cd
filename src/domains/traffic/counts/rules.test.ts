import { describe, expect, test } from 'bun:test'
import { bytes } from '../../../core/bytes.ts'
import { believe, firstBudget, largerOf, newIn, refill, settle, sumRefused } from './rules.ts'

const count = (subject: string, received: bigint, sent: bigint) => ({
  subject,
  received: bytes(received),
  sent: bytes(sent),
})
/** Bytes of an 8 Mbit/s link per millisecond. */
const eachMs = 1000n
const megabits = 8
const dayMs = 86_400_000

describe('byte counts', () => {
  test('newIn returns the increase of each direction over the known count, and largerOf the maximum of each', () => {
    const known = count('a', 10n, 10n)
    expect(newIn(count('a', 15n, 9n), known)).toEqual({ received: bytes(5n), sent: bytes(0n) })
    expect(newIn(count('a', 10n, 10n), known)).toEqual({ received: bytes(0n), sent: bytes(0n) })
    expect(newIn(count('a', 3n, 4n), undefined)).toEqual({ received: bytes(3n), sent: bytes(4n) })
    expect(largerOf(count('a', 15n, 9n), known)).toEqual(count('a', 15n, 10n))
    expect(largerOf(count('a', 9n, 15n), known)).toEqual(count('a', 10n, 15n))
  })

  test('settle keeps the maximum of each subject, sorted by subject', () => {
    expect(settle([count('b', 1n, 9n), count('a', 2n, 2n), count('b', 5n, 3n)])).toEqual([
      count('a', 2n, 2n),
      count('b', 5n, 9n),
    ])
  })
})

describe('byte budgets', () => {
  test('firstBudget returns the bytes of 100 ms of the link', () => {
    expect(firstBudget(megabits, 7)).toEqual({ rest: 100n * eachMs, at: 7 })
  })

  test('refill adds the bytes of the elapsed time, up to 10 s of the link while the node reports', () => {
    const empty = { rest: 0n, at: 0 }
    expect(refill(empty, megabits, 1)).toEqual({ rest: eachMs, at: 1 })
    expect(refill({ rest: 5n, at: 0 }, megabits, 1).rest).toBe(eachMs + 5n)
    expect(refill(empty, megabits, 10_000).rest).toBe(10_000n * eachMs)
    expect(refill({ rest: 9_500n * eachMs, at: 0 }, megabits, 1000).rest).toBe(10_000n * eachMs)
  })

  test('refill after a silence of 60 s sets the bytes of that time, up to one day', () => {
    expect(refill({ rest: 0n, at: 0 }, megabits, 60_000).rest).toBe(60_000n * eachMs)
    expect(refill({ rest: 9n, at: 0 }, megabits, 60_000).rest).toBe(60_000n * eachMs)
    expect(refill({ rest: 0n, at: 0 }, megabits, dayMs).rest).toBe(BigInt(dayMs) * eachMs)
    expect(refill({ rest: 0n, at: 0 }, megabits, dayMs + 1000).rest).toBe(BigInt(dayMs) * eachMs)
  })

  test('refill keeps the budget when the clock is set back', () => {
    expect(refill({ rest: 77n, at: 5000 }, megabits, 4000)).toEqual({ rest: 77n, at: 4000 })
  })

  test('refill never exceeds 100 TB, even for a link of 1 Tbit/s', () => {
    expect(refill({ rest: 0n, at: 0 }, 1_000_000, dayMs).rest).toBe(100_000_000_000_000n)
  })

  test('believe() accepts received bytes before sent ones, and sumRefused sums the refused bytes', () => {
    const claimed = { received: 10n, sent: 5n }
    expect(believe(claimed, 15n)).toEqual({ received: bytes(10n), sent: bytes(5n) })
    expect(believe(claimed, 14n)).toEqual({ received: bytes(10n), sent: bytes(4n) })
    expect(believe(claimed, 10n)).toEqual({ received: bytes(10n), sent: bytes(0n) })
    expect(believe(claimed, 3n)).toEqual({ received: bytes(3n), sent: bytes(0n) })
    const added = (max: bigint) => ({ claimed: 15n, ...believe(claimed, max) })
    expect(sumRefused([added(15n)])).toBe(0n)
    expect(sumRefused([added(14n), added(3n)])).toBe(13n)
  })
})
