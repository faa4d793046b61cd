import { beforeEach, describe, expect, test } from 'bun:test'
import { failureOf } from '../../test/harness/failure.ts'
import { createTtlCache, type TtlCache } from './ttl-cache.ts'

let nowMs: number
let lookups: string[]
let found: string | undefined
let cache: TtlCache<string, string | undefined>

beforeEach(() => {
  nowMs = 1_000
  lookups = []
  found = 'here'
  cache = createTtlCache({
    load: async (key) => {
      lookups.push(key)
      if (found === 'fails') throw new Error('not reached')
      return found
    },
    clock: () => nowMs,
    ttlMs: 500,
    maxEntries: 3,
    shouldKeep: (value) => value !== undefined,
  })
})

describe('TtlCache', () => {
  test('TtlCache shares one load between concurrent callers, and loads an entry again after 500 ms', async () => {
    expect(await Promise.all([cache.get('a'), cache.get('a'), cache.get('b')])).toEqual(['here', 'here', 'here'])
    expect(lookups).toEqual(['a', 'b'])
    nowMs += 499
    await cache.get('a')
    expect(lookups).toEqual(['a', 'b'])
    nowMs += 1
    found = 'moved'
    expect(await cache.get('a')).toBe('moved')
    expect(lookups).toEqual(['a', 'b', 'a'])
  })

  test('TtlCache returns an entry of 600 ms to a caller that accepts 1 s, until a newer load replaces it', async () => {
    await cache.get('a')
    nowMs += 600
    found = 'moved'
    expect(await cache.get('a', 1_000)).toBe('here')
    expect(await cache.get('a')).toBe('moved')
    expect(await cache.get('a', 1_000)).toBe('moved')
    expect(lookups).toEqual(['a', 'a'])
  })

  test('TtlCache shares a pending load for its ttl of 500 ms only', async () => {
    let count = 0
    const slow = createTtlCache({
      load: () => (count++ === 0 ? new Promise<string>(() => {}) : Promise.resolve('at once')),
      clock: () => nowMs,
      ttlMs: 500,
      maxEntries: 3,
    })
    void slow.get('a', 10_000)
    nowMs += 500
    expect(await slow.get('a', 10_000)).toBe('at once')
  })

  test('TtlCache loads an entry again when the clock is set back', async () => {
    await cache.get('a')
    nowMs -= 1
    await cache.get('a')
    expect(lookups).toEqual(['a', 'a'])
  })

  test('TtlCache caches neither a failed load nor a value that shouldKeep rejects', async () => {
    found = 'fails'
    expect((await failureOf(cache.get('a'))).message).toBe('not reached')
    found = undefined
    expect(await cache.get('a')).toBeUndefined()
    found = 'here'
    expect(await cache.get('a')).toBe('here')
    expect(lookups).toEqual(['a', 'a', 'a'])
  })

  test('TtlCache keeps the entry of a later load when an earlier load fails', async () => {
    const { promise, reject } = Promise.withResolvers<string>()
    const answers = [promise, Promise.resolve('later')]
    let count = 0
    const slow = createTtlCache({
      load: () => answers[count++] ?? Promise.resolve('once more'),
      clock: () => nowMs,
      ttlMs: 500,
      maxEntries: 3,
    })
    const first = slow.get('a')
    nowMs += 500
    expect(await slow.get('a')).toBe('later')
    reject(new Error('too slow'))
    expect((await failureOf(first)).message).toBe('too slow')
    expect(await slow.get('a')).toBe('later')
  })

  test('TtlCache drops all entries on clear() and when it exceeds 3 entries', async () => {
    await cache.get('a')
    cache.clear()
    await cache.get('a')
    expect(lookups).toEqual(['a', 'a'])
    for (const key of ['b', 'c', 'd']) await cache.get(key)
    await cache.get('d')
    await cache.get('a')
    expect(lookups).toEqual(['a', 'a', 'b', 'c', 'd', 'a'])
  })
})
