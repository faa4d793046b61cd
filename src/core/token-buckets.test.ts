import { describe, expect, test } from 'bun:test'
import { createTokenBuckets } from './token-buckets.ts'

/** How many of `tries` takes at one moment succeed. */
const taken = (buckets: { take(name: string): boolean }, name: string, tries: number): number =>
  Array.from({ length: tries }, () => buckets.take(name)).filter(Boolean).length

describe('token buckets', () => {
  test('a token bucket allows a burst of 5 and then 10 takes per second', () => {
    let nowMs = 1_000
    const buckets = createTokenBuckets({ perSecond: 10, burst: 5 }, () => nowMs)
    expect(taken(buckets, 'anna', 20)).toBe(5)
    expect(buckets.level('anna')).toBe(0)
    nowMs += 99
    expect(buckets.take('anna')).toBeFalse()
    nowMs += 1
    expect(buckets.take('anna')).toBeTrue()
    nowMs += 60_000
    expect(buckets.level('anna')).toBe(5)
    expect(taken(buckets, 'anna', 20)).toBe(5)
  })

  test('each key has its own token bucket, and level() takes no token', () => {
    const buckets = createTokenBuckets({ perSecond: 1, burst: 2 }, () => 0)
    expect(taken(buckets, 'anna', 9)).toBe(2)
    expect([buckets.level('boris'), buckets.level('boris'), taken(buckets, 'boris', 9)]).toEqual([2, 2, 2])
  })

  test('a clock that is set back neither fills nor empties a token bucket', () => {
    let nowMs = 10_000
    const buckets = createTokenBuckets({ perSecond: 1, burst: 2 }, () => nowMs)
    buckets.take('anna')
    nowMs = 0
    expect(buckets.level('anna')).toBe(1)
    expect(taken(buckets, 'anna', 9)).toBe(1)
  })

  test('above the limit of 4 keys full token buckets are deleted first, and an empty one keeps its level', () => {
    let nowMs = 0
    const buckets = createTokenBuckets({ perSecond: 1, burst: 10 }, () => nowMs, 4)
    for (const name of ['a', 'b', 'c']) buckets.take(name)
    taken(buckets, 'flood', 10)
    nowMs += 1_000
    buckets.take('new')
    expect(buckets.level('flood')).toBe(1)
  })

  test('above the limit of 4 keys all token buckets are deleted if none is full', () => {
    const buckets = createTokenBuckets({ perSecond: 1, burst: 10 }, () => 0, 4)
    for (const name of ['a', 'b', 'c', 'd']) taken(buckets, name, 10)
    buckets.take('new')
    expect(buckets.level('a')).toBe(10)
  })
})
