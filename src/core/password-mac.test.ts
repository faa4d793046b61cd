import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { scaled } from '../../test/harness/scale.ts'
import { hmacSha256, randomBytes } from '../adapters/crypto.ts'
import { base32Digit } from './base32.ts'
import { hasPasswordMac, makePassword } from './password-mac.ts'

const runs = { numRuns: scaled(1000) }
const key = new Uint8Array(32).fill(7)
const other = new Uint8Array(32).fill(8)
const make = (name: string, of = key) => makePassword(hmacSha256, of, name, randomBytes)
const has = (username: string, password: string, ...keys: Uint8Array[]) =>
  hasPasswordMac(hmacSha256, keys.length > 0 ? keys : [key], username, password)

test('makePassword makes 27 characters that need no escaping in a URL, without a duplicate among 5,000', () => {
  const made = Array.from({ length: 5000 }, () => make('tp1abcd'))
  expect(new Set(made).size).toBe(5000)
  for (const password of made) expect(password).toMatch(/^[0-9a-hjkmnp-tv-z]{27}$/)
})

test('hasPasswordMac is true for the name that the password was made for, with parameters and in any case', () => {
  const password = make('u7k2m9x4qa')
  for (const username of ['u7k2m9x4qa', 'U7K2M9X4QA', 'u7k2m9x4qa-pool-residential-session-a8f3']) {
    expect(has(username, password)).toBe(true)
  }
  expect(has('u7k2m9x4qb', password)).toBe(false)
})

test('hasPasswordMac is true for each of two accepted keys, and false for another key or none', () => {
  const password = make('tp1abcd')
  expect([has('tp1abcd', password, other, key), has('tp1abcd', password, key, other)]).toEqual([true, true])
  expect([has('tp1abcd', password, other), hasPasswordMac(hmacSha256, [], 'tp1abcd', password)]).toEqual([false, false])
})

test('hasPasswordMac is false for a password with one changed character, a shorter one and any other text', () => {
  const password = make('tp1abcd')
  fc.assert(
    fc.property(fc.nat(23), fc.nat(31), (at, value) => {
      const character = base32Digit(value)
      const changed = password.slice(0, at) + character + password.slice(at + 1)
      expect(has('tp1abcd', changed)).toBe(changed === password)
    }),
    runs,
  )
  for (let length = 0; length < 27; length += 1) expect(has('tp1abcd', password.slice(0, length))).toBe(false)
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, text) => expect(has(name, text)).toBe(false)),
    runs,
  )
})
