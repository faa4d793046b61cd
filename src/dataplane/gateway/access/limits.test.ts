import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { createTokenBuckets } from '../../../core/token-buckets.ts'
import { createTunnelLimits, rateOf } from './limits.ts'

function atHand(limits: Partial<Parameters<typeof createTunnelLimits>[0]> = {}) {
  const clock = { nowMs: 0 }
  const all = { tunnels: 3, newPerSecond: 100, namesPerSecond: 1, ...limits }
  return { clock, limits: createTunnelLimits(all, () => clock.nowMs) }
}

test('the tunnel limit of a customer covers all credentials and leaves other customers alone', () => {
  const { limits } = atHand()
  for (const key of ['a', 'b', 'a']) expect(limits.enter('anna', key, null)).toBeUndefined()
  expect(limits.enter('anna', 'c', null)).toBe('too_many_tunnels')
  expect(limits.enter('boris', 'a', null)).toBeUndefined()
  limits.leave('anna', 'b')
  expect(limits.enter('anna', 'c', null)).toBeUndefined()
})

test('a sub-user has no more than its own limit, and one that is refused takes no place', () => {
  const { limits } = atHand({ tunnels: 10 })
  expect(limits.enter('anna', 'small', 1)).toBeUndefined()
  for (let again = 0; again < 20; again += 1) expect(limits.enter('anna', 'small', 1)).toBe('too_many_tunnels')
  for (let other = 0; other < 9; other += 1) expect(limits.enter('anna', 'large', null)).toBeUndefined()
  limits.leave('anna', 'small')
  expect(limits.enter('anna', 'small', 1)).toBeUndefined()
})

test('new connections may come in a burst of two seconds’ worth, then at their pace', () => {
  const { clock, limits } = atHand({ tunnels: 1000, newPerSecond: 5 })
  const enter = () => limits.enter('anna', 'a', null)
  for (let index = 0; index < 10; index += 1) expect(enter()).toBeUndefined()
  expect(enter()).toBe('too_many_new')
  clock.nowMs += 200
  expect(enter()).toBeUndefined()
  expect(enter()).toBe('too_many_new')
  expect(limits.enter('boris', 'b', null)).toBeUndefined()
})

test('one who is refused for too many at once has used up nothing of what is new', () => {
  const { limits } = atHand({ tunnels: 1, newPerSecond: 1 })
  expect(limits.enter('anna', 'a', null)).toBeUndefined()
  for (let index = 0; index < 10; index += 1) expect(limits.enter('anna', 'a', null)).toBe('too_many_tunnels')
  limits.leave('anna', 'a')
  expect(limits.enter('anna', 'a', null)).toBeUndefined()
})

test('over any stretch of time a bucket gives out no more than its burst and its pace allow', () => {
  const steps = fc.array(fc.tuple(fc.nat(2000), fc.constantFrom('anna', 'boris')), { maxLength: 200 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (pace, visits) => {
      let nowMs = 0
      const buckets = createTokenBuckets(rateOf(pace), () => nowMs)
      const given = { anna: 0, boris: 0 }
      for (const [waitMs, name] of visits) {
        nowMs += waitMs
        if (buckets.take(name)) given[name] += 1
        for (const count of Object.values(given)) expect(count).toBeLessThanOrEqual(pace * 2 + (nowMs * pace) / 1000)
      }
    }),
    { numRuns: scaled(2000) },
  )
})

test('a clock that is set back neither fills nor empties anybody’s bucket', () => {
  let nowMs = 1_000_000
  const buckets = createTokenBuckets(rateOf(1), () => nowMs)
  expect([buckets.take('a'), buckets.take('a'), buckets.take('a')]).toEqual([true, true, false])
  nowMs = 0
  expect(buckets.take('a')).toBeFalse()
  nowMs += 1000
  expect(buckets.take('a')).toBeTrue()
})

test('a hundred thousand names do not make the table grow, and take nothing from a name that is in use', () => {
  const buckets = createTokenBuckets(rateOf(1), () => 0)
  for (let index = 0; index < 100_000; index += 1) expect(buckets.take(`name ${index}`)).toBeTrue()
  expect(buckets.take('name 99999')).toBeTrue()
})
