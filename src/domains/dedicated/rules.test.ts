import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { scaled } from '../../../test/harness/scale.ts'
import { isHeld, isToRenew, leftAt, makeUsername, prolonged, readUsername, statusAt } from './rules.ts'

const runs = { numRuns: scaled(2000) }
const id = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const chance = fc.uint8Array({ minLength: 4, maxLength: 4 })
const dayMs = 86_400_000

test('readUsername returns the number of the proxy, and the name needs no escaping in a URL', () => {
  fc.assert(
    fc.property(id, chance, (number, random) => {
      const username = makeUsername(number, () => random)
      expect(readUsername(username)).toBe(number)
      expect(encodeURIComponent(username)).toBe(username)
    }),
    runs,
  )
})

test('readUsername returns undefined for a text that does not have the form of a user name', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const found = readUsername(text)
      if (found !== undefined) expect(text).toMatch(/^tp[0-9a-z]{5,15}$/)
    }),
    runs,
  )
})

test('statusAt ends a term to the millisecond, and isHeld ends its grace period 3 days later', () => {
  const proxy = { expiresAt: 1_000_000_000_000, state: 'held' as const, interruptedAt: null }
  expect(statusAt(proxy, proxy.expiresAt - 1)).toBe('active')
  expect(statusAt(proxy, proxy.expiresAt)).toBe('expired')
  expect(isHeld(proxy, proxy.expiresAt + 3 * dayMs - 1)).toBeTrue()
  expect(isHeld(proxy, proxy.expiresAt + 3 * dayMs)).toBeFalse()
  expect(isHeld({ ...proxy, state: 'gone' }, 0)).toBeFalse()
})

test('statusAt, isHeld, leftAt and prolonged() pause a term while its proxy is interrupted', () => {
  const proxy = { expiresAt: 10 * dayMs, state: 'held' as const, interruptedAt: 9 * dayMs }
  expect(statusAt(proxy, 20 * dayMs)).toBe('active')
  expect(isHeld(proxy, 20 * dayMs)).toBeTrue()
  expect(leftAt(proxy, 20 * dayMs)).toBe(dayMs)
  expect(prolonged(proxy, 7, 20 * dayMs)).toBe(17 * dayMs)
})

test('prolonged() adds whole days to the end of the term, or to now if the term has ended', () => {
  const moment = fc.integer({ min: 0, max: 4_000_000_000_000 })
  fc.assert(
    fc.property(moment, moment, fc.integer({ min: 1, max: 3650 }), (expiresAt, nowMs, days) => {
      const proxy = { expiresAt, interruptedAt: null }
      expect(prolonged(proxy, days, nowMs)).toBe(Math.max(expiresAt, nowMs) + days * dayMs)
    }),
    runs,
  )
})

test('isToRenew is true within a day of the end, and only for the period that is set', () => {
  const proxy = { expiresAt: 10 * dayMs, renewPeriod: 30 }
  expect(isToRenew(proxy, 30, 9 * dayMs)).toBeTrue()
  expect(isToRenew(proxy, 30, 9 * dayMs - 1)).toBeFalse()
  expect(isToRenew(proxy, 7, 9 * dayMs)).toBeFalse()
  expect(isToRenew({ ...proxy, renewPeriod: null }, 30, 9 * dayMs)).toBeFalse()
})
