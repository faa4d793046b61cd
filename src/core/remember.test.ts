import { beforeEach, describe, expect, test } from 'bun:test'
import { failureOf } from '../../test/harness/failure.ts'
import { type Remembered, remember } from './remember.ts'

let nowMs: number
let asked: string[]
let found: string | undefined
let known: Remembered<string, string | undefined>

beforeEach(() => {
  nowMs = 1_000
  asked = []
  found = 'here'
  known = remember({
    ask: async (key) => {
      asked.push(key)
      if (found === 'fails') throw new Error('not reached')
      return found
    },
    clock: () => nowMs,
    forMs: 500,
    most: 3,
    isWorthKeeping: (value) => value !== undefined,
  })
})

describe('what is remembered for a while', () => {
  test('is asked once by all who ask at once, and once more when it is too old', async () => {
    expect(await Promise.all([known.get('a'), known.get('a'), known.get('b')])).toEqual(['here', 'here', 'here'])
    expect(asked).toEqual(['a', 'b'])
    nowMs += 499
    await known.get('a')
    expect(asked).toEqual(['a', 'b'])
    nowMs += 1
    found = 'moved'
    expect(await known.get('a')).toBe('moved')
    expect(asked).toEqual(['a', 'b', 'a'])
  })

  test('is as old as whoever asks can use, and what was asked anew is everybody’s', async () => {
    await known.get('a')
    nowMs += 600
    found = 'moved'
    expect(await known.get('a', 1_000)).toBe('here')
    expect(await known.get('a')).toBe('moved')
    expect(await known.get('a', 1_000)).toBe('moved')
    expect(asked).toEqual(['a', 'a'])
  })

  test('and is waited for no longer than usual while nobody has answered', async () => {
    let count = 0
    const slow = remember({
      ask: () => (count++ === 0 ? new Promise<string>(() => {}) : Promise.resolve('at once')),
      clock: () => nowMs,
      forMs: 500,
      most: 3,
    })
    void slow.get('a', 10_000)
    nowMs += 500
    expect(await slow.get('a', 10_000)).toBe('at once')
  })

  test('lasts no longer because a clock is set back', async () => {
    await known.get('a')
    nowMs -= 1
    await known.get('a')
    expect(asked).toEqual(['a', 'a'])
  })

  test('is not a failure, nor an answer that is not worth keeping', async () => {
    found = 'fails'
    expect((await failureOf(known.get('a'))).message).toBe('not reached')
    found = undefined
    expect(await known.get('a')).toBeUndefined()
    found = 'here'
    expect(await known.get('a')).toBe('here')
    expect(asked).toEqual(['a', 'a', 'a'])
  })

  test('is kept when a later answer to the same question came while an earlier one failed', async () => {
    const { promise, reject } = Promise.withResolvers<string>()
    const answers = [promise, Promise.resolve('later')]
    let count = 0
    const slow = remember({
      ask: () => answers[count++] ?? Promise.resolve('once more'),
      clock: () => nowMs,
      forMs: 500,
      most: 3,
    })
    const first = slow.get('a')
    nowMs += 500
    expect(await slow.get('a')).toBe('later')
    reject(new Error('too slow'))
    expect((await failureOf(first)).message).toBe('too slow')
    expect(await slow.get('a')).toBe('later')
  })

  test('can be forgotten, and never grows past its limit', async () => {
    await known.get('a')
    known.forget()
    await known.get('a')
    expect(asked).toEqual(['a', 'a'])
    for (const key of ['b', 'c', 'd']) await known.get(key)
    await known.get('d')
    await known.get('a')
    expect(asked).toEqual(['a', 'a', 'b', 'c', 'd', 'a'])
  })
})
