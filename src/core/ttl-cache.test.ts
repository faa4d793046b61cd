import { beforeEach, describe, expect, test } from 'bun:test'
import { failureOf } from '../../test/harness/failure.ts'
import { createTtlCache, type TtlCache } from './ttl-cache.ts'

let nowMs: number
let lookups: string[]
let found: string | undefined
let known: TtlCache<string, string | undefined>

beforeEach(() => {
  nowMs = 1_000
  lookups = []
  found = 'here'
  known = createTtlCache({
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
  test('concurrent callers share one load, and an entry is loaded again after 500 ms', async () => {
    expect(await Promise.all([known.get('a'), known.get('a'), known.get('b')])).toEqual(['here', 'here', 'here'])
    expect(lookups).toEqual(['a', 'b'])
    nowMs += 499
    await known.get('a')
    expect(lookups).toEqual(['a', 'b'])
    nowMs += 1
    found = 'moved'
    expect(await known.get('a')).toBe('moved')
    expect(lookups).toEqual(['a', 'b', 'a'])
  })

  test('a caller may accept an older entry, and a newer load replaces it for all callers', async () => {
    await known.get('a')
    nowMs += 600
    found = 'moved'
    expect(await known.get('a', 1_000)).toBe('here')
    expect(await known.get('a')).toBe('moved')
    expect(await known.get('a', 1_000)).toBe('moved')
    expect(lookups).toEqual(['a', 'a'])
  })

  test('a load that does not end is shared for the ttl of the cache only', async () => {
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

  test('a clock that is set back expires the entry', async () => {
    await known.get('a')
    nowMs -= 1
    await known.get('a')
    expect(lookups).toEqual(['a', 'a'])
  })

  test('a failed load and a value that shouldKeep rejects are not cached', async () => {
    found = 'fails'
    expect((await failureOf(known.get('a'))).message).toBe('not reached')
    found = undefined
    expect(await known.get('a')).toBeUndefined()
    found = 'here'
    expect(await known.get('a')).toBe('here')
    expect(lookups).toEqual(['a', 'a', 'a'])
  })

  test('the failure of an earlier load does not drop the entry of a later one', async () => {
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

  test('clear() drops all entries, and a full cache is cleared', async () => {
    await known.get('a')
    known.clear()
    await known.get('a')
    expect(lookups).toEqual(['a', 'a'])
    for (const key of ['b', 'c', 'd']) await known.get(key)
    await known.get('d')
    await known.get('a')
    expect(lookups).toEqual(['a', 'a', 'b', 'c', 'd', 'a'])
  })
})
