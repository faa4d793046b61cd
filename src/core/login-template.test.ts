import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { fillTemplate, problemOfLoginTemplate, takenBy } from './login-template.ts'
import { toText } from './messages/catalogue.ts'
import { problemsEn } from './messages/problems-en.ts'

const template = 'acct-country-{country}[-city-{city}][-session-{session}-ttl-{minutes}]'

describe('the login template of a supplier', () => {
  test('fillTemplate inserts the requested values and omits the optional parts without a value', () => {
    expect(fillTemplate(template, { country: 'de' }, {})).toBe('acct-country-de')
    expect(fillTemplate(template, { country: 'de', city: 'berlin' }, {})).toBe('acct-country-de-city-berlin')
    expect(fillTemplate(template, { country: 'de', session: 'x1', minutes: '10' }, {})).toBe(
      'acct-country-de-session-x1-ttl-10',
    )
    expect(fillTemplate('{COUNTRY}_x', { COUNTRY: 'DE' }, {})).toBe('DE_x')
  })

  test('fillTemplate returns undefined if a required value is missing and has no default', () => {
    expect(fillTemplate(template, { city: 'berlin' }, {})).toBeUndefined()
    expect(fillTemplate(template, { city: 'berlin' }, { country: 'us', session: 'r' })).toBe(
      'acct-country-us-city-berlin',
    )
  })

  test('fillTemplate treats a value with a character other than letters, digits, ".", "_" and "-" as missing', () => {
    for (const city of ['a:b', 'a b', 'a\r\nb', '{country}', 'a]b', 'ä']) {
      expect(fillTemplate(template, { country: 'de', city }, {})).toBe('acct-country-de')
      expect(fillTemplate(template, { country: city }, {})).toBeUndefined()
    }
    const text = fc.string({ maxLength: 20 })
    fc.assert(
      fc.property(text, text, text, (country, city, session) => {
        const filled = fillTemplate(template, { country, city, session, minutes: '5' }, {})
        expect(filled ?? '').toMatch(/^[\w.-]*$/)
      }),
    )
  })

  test.each([
    ['', 'must be 1 to 400'],
    ['a:b{city}', 'without a colon'],
    ['a{town}', 'has an unknown placeholder {town}'],
    ['a[b{city}', 'not closed'],
    ['a[b[c{city}]]', 'not closed'],
    ['a[b]c', 'without a placeholder that a customer can choose'],
    [`${'x'.repeat(400)}{city}`, 'must be 1 to 400'],
  ])('problemOfLoginTemplate refuses %p with "%s"', (text, problem) => {
    const found = problemOfLoginTemplate(text)
    expect(found && toText(problemsEn, found)).toContain(problem)
  })

  test('a valid login template has no problem, and takenBy() lists its names', () => {
    expect(problemOfLoginTemplate(template)).toBeUndefined()
    expect([...takenBy(template)]).toEqual(['country', 'city', 'session', 'minutes'])
    expect([...takenBy('{COUNTRY}')]).toEqual(['country'])
  })
})
