import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { isLong, scaled } from '../../test/harness/scale.ts'
import { maxLoginLength, type ProxyLogin, parseProxyLogin, readProxyLogin, toSlug, writeProxyLogin } from './login.ts'

const matching = (pattern: RegExp) => fc.stringMatching(pattern)
const list = (pattern: RegExp) => fc.uniqueArray(matching(pattern), { maxLength: 4 })

const login: fc.Arbitrary<ProxyLogin> = fc.record({
  login: matching(/^[a-z][a-z0-9_]{2,31}$/),
  pool: fc.option(matching(/^[a-z][a-z0-9_]{0,30}$/)),
  countries: list(/^[a-z]{2}$/),
  states: list(/^[a-z0-9]{1,12}$/),
  cities: list(/^[a-z0-9]{1,12}$/),
  zips: list(/^[a-z0-9]{1,12}$/),
  asns: fc.uniqueArray(fc.integer({ min: 1, max: 4_294_967_295 }), { maxLength: 3 }),
  session: fc.option(
    fc.record({
      name: matching(/^[a-z0-9]{1,32}$/),
      ttlMinutes: fc.option(fc.integer({ min: 1, max: 120 })),
    }),
  ),
})

/** Texts that look like logins and mostly are not. */
const pieces = [
  'alice',
  'pool',
  'country',
  'us',
  'city',
  'session',
  'ttl',
  '10',
  '-',
  '--',
  '.',
  '_',
  'US',
  '',
  '0',
  '99999',
  'é',
]
const nearly = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => parts.join('-'))

describe('the login grammar', () => {
  test('readProxyLogin is the inverse of writeProxyLogin', () => {
    fc.assert(
      fc.property(login, (each) => {
        const text = writeProxyLogin(each)
        fc.pre(text.length <= maxLoginLength)
        expect(readProxyLogin(text)).toEqual(each)
        expect(readProxyLogin(text.toUpperCase())).toEqual(each)
      }),
      { numRuns: scaled(20_000) },
    )
  })

  test('readProxyLogin returns undefined or a login that writes back equal, and never throws', () => {
    const anything = fc.oneof(nearly, fc.string({ maxLength: 60 }), fc.string({ unit: 'binary', maxLength: 60 }))
    let understood = 0
    // 10,000 texts in the ordinary run, a million in the long one.
    fc.assert(
      fc.property(anything, (text) => {
        const read = readProxyLogin(text)
        if (read === undefined) return
        understood += 1
        expect(readProxyLogin(writeProxyLogin(read))).toEqual(read)
      }),
      { numRuns: isLong ? 1_000_000 : 3000 },
    )
    expect(understood).toBeGreaterThan(0)
  }, 300_000)

  test('readProxyLogin reads every part of the example login of the contract', () => {
    expect(readProxyLogin('LOGIN-pool-residential-country-us-city-newyork-session-a8f3-ttl-10')).toEqual({
      login: 'login',
      pool: 'residential',
      countries: ['us'],
      states: [],
      cities: ['newyork'],
      zips: [],
      asns: [],
      session: { name: 'a8f3', ttlMinutes: 10 },
    })
  })

  test('readProxyLogin accepts the parts in any order, and a bare login without parts', () => {
    const one = readProxyLogin('alice-session-a1-country-us.de-pool-mobile')
    expect(one).toEqual(readProxyLogin('alice-pool-mobile-country-us.de-session-a1'))
    expect(readProxyLogin('alice')).toMatchObject({ login: 'alice', pool: null, countries: [], session: null })
  })

  test.each([
    ['an empty text', ''],
    ['a part without a value', 'alice-country'],
    ['an empty value', 'alice-country-'],
    ['an unknown part', 'alice-planet-mars'],
    ['a part given twice', 'alice-country-us-country-de'],
    ['a value given twice', 'alice-country-us.us'],
    ['a country of three letters', 'alice-country-usa'],
    ['a ttl without a session', 'alice-ttl-10'],
    ['a ttl of 0 minutes', 'alice-session-a-ttl-0'],
    ['a ttl above 120 minutes', 'alice-session-a-ttl-121'],
    ['a ttl with a leading zero', 'alice-session-a-ttl-010'],
    ['an AS number above 32 bits', 'alice-asn-4294967296'],
    ['a login of two letters', 'al'],
    ['a login that begins with a digit', '1alice'],
    ['a space', 'alice country-us'],
    ['a letter that is not Latin', 'аlice'],
    ['a line break', 'alice\n-country-us'],
    ['more than 255 characters', `alice-city-${'a'.repeat(40)}${`.${'b'.repeat(40)}`.repeat(6)}`],
  ])('readProxyLogin refuses %s', (_, text) => {
    expect(readProxyLogin(text)).toBeUndefined()
  })

  test.each([
    ['pool', 'alice-pool-9'],
    ['country', 'alice-country-usa'],
    ['country', 'alice-country-us.us-city-x'],
    ['state', 'alice-state-new york'.replace(' ', '_')],
    ['city', 'alice-city-'],
    ['zip', 'alice-zip-1234567890123'],
    ['asn', 'alice-asn-0'],
    ['asn', 'alice-asn-4294967296'],
    ['session', 'alice-session-a_b'],
    ['ttl', 'alice-ttl-10'],
    ['ttl', 'alice-session-a-ttl-121'],
    ['country', 'alice-country-us-country-de'],
    ['part', 'alice-country'],
    ['part', 'alice-planet-mars'],
    ['part', 'alice country-us'],
    ['part', 'al'],
  ] as const)('parseProxyLogin names the part %s of %s', (part, text) => {
    expect(parseProxyLogin(text)).toBe(part)
  })

  test('toSlug reduces a place name to lower-case Latin letters and digits', () => {
    expect(toSlug('New York')).toBe('newyork')
    expect(toSlug('Île-de-France')).toBe('iledefrance')
    expect(toSlug('München')).toBe('munchen')
    expect(toSlug('Łódź')).toBe('lodz')
    expect(toSlug('SW1A 1AA')).toBe('sw1a1aa')
    expect(toSlug('Москва')).toBe('')
  })
})
