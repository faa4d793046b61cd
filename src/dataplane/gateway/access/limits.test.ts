import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../../test/harness/scale.ts'
import { createTokenBuckets } from '../../../core/token-buckets.ts'
import { createTunnelLimits, rateOf } from './limits.ts'

function openLimits(limits: Partial<Parameters<typeof createTunnelLimits>[0]> = {}) {
  const clock = { nowMs: 0 }
  const all = { tunnels: 3, newPerSecond: 100, namesPerSecond: 1, ...limits }
  return { clock, limits: createTunnelLimits(all, () => clock.nowMs) }
}

test('the tunnel limit of a customer counts all credentials together, and other customers separately', () => {
  const { limits } = openLimits()
  for (const key of ['a', 'b', 'a']) expect(limits.enter('anna', key, null)).toBeUndefined()
  expect(limits.enter('anna', 'c', null)).toBe('too_many_tunnels')
  expect(limits.enter('boris', 'a', null)).toBeUndefined()
  limits.leave('anna', 'b')
  expect(limits.enter('anna', 'c', null)).toBeUndefined()
})

test('a sub-user has its own tunnel limit, and a refused tunnel does not count for the customer', () => {
  const { limits } = openLimits({ tunnels: 10 })
  expect(limits.enter('anna', 'small', 1)).toBeUndefined()
  for (let again = 0; again < 20; again += 1) expect(limits.enter('anna', 'small', 1)).toBe('too_many_tunnels')
  for (let other = 0; other < 9; other += 1) expect(limits.enter('anna', 'large', null)).toBeUndefined()
  limits.leave('anna', 'small')
  expect(limits.enter('anna', 'small', 1)).toBeUndefined()
})

test('newPerSecond=5 admits a burst of 10 new connections, then one every 200 ms', () => {
  const { clock, limits } = openLimits({ tunnels: 1000, newPerSecond: 5 })
  const enter = () => limits.enter('anna', 'a', null)
  for (let index = 0; index < 10; index += 1) expect(enter()).toBeUndefined()
  expect(enter()).toBe('too_many_new')
  clock.nowMs += 200
  expect(enter()).toBeUndefined()
  expect(enter()).toBe('too_many_new')
  expect(limits.enter('boris', 'b', null)).toBeUndefined()
})

test('a tunnel that is refused with too_many_tunnels takes no token of the rate limit for new connections', () => {
  const { limits } = openLimits({ tunnels: 1, newPerSecond: 1 })
  expect(limits.enter('anna', 'a', null)).toBeUndefined()
  for (let index = 0; index < 10; index += 1) expect(limits.enter('anna', 'a', null)).toBe('too_many_tunnels')
  limits.leave('anna', 'a')
  expect(limits.enter('anna', 'a', null)).toBeUndefined()
})

test('a token bucket grants at most 2 seconds of its rate plus its rate over the elapsed time', () => {
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

test('a clock that is set back neither fills nor empties a token bucket', () => {
  let nowMs = 1_000_000
  const buckets = createTokenBuckets(rateOf(1), () => nowMs)
  expect([buckets.take('a'), buckets.take('a'), buckets.take('a')]).toEqual([true, true, false])
  nowMs = 0
  expect(buckets.take('a')).toBeFalse()
  nowMs += 1000
  expect(buckets.take('a')).toBeTrue()
})

test('each of 100,000 keys gets a token, and the last key gets its second one', () => {
  const buckets = createTokenBuckets(rateOf(1), () => 0)
  for (let index = 0; index < 100_000; index += 1) expect(buckets.take(`name ${index}`)).toBeTrue()
  expect(buckets.take('name 99999')).toBeTrue()
})
