import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readIso, toDateEnd, toIso } from './time.ts'

describe('time', () => {
  test('readIso inverts toIso to the millisecond, and toDateEnd writes the same second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) }), (ms) => {
        expect(readIso(toIso(ms))).toBe(ms)
        expect(toDateEnd(ms)).toBe(toIso(ms).slice(0, 19).replace('T', ' '))
      }),
    )
  })

  test('readIso reads a date as its first moment in UTC, and applies an offset', () => {
    expect(readIso('2027-01-31')).toBe(Date.UTC(2027, 0, 31))
    expect(readIso('2027-01-31T03:00:00+03:00')).toBe(Date.UTC(2027, 0, 31))
    expect(readIso('2028-02-29')).toBe(Date.UTC(2028, 1, 29))
    expect(readIso('2027-01-31T12:30Z')).toBe(Date.UTC(2027, 0, 31, 12, 30))
  })

  test.each([
    '2027-02-30',
    '2027-02-29',
    '2100-02-29',
    '2027-04-31',
    '2027-13-01',
    '2027-00-10',
    '2027-01-00',
    '2027-01-32',
    '2027-02-30T00:00:00Z',
    '2027-02-30T23:59:59+14:00',
    '2027-01-31T24:00:01Z',
    '2027-01-31T12:60:00Z',
    '2027-01-31T12:00:00',
    '2027-01-31 12:00:00Z',
    '20270131',
    '2027-1-31',
    '',
    'tomorrow',
    '1e3',
    ' 2027-01-31',
    '2027-01-31T12:00:00.1234Z',
    '+002027-01-31',
    '2027-01-31T12:00:00+25:00',
  ])('readIso refuses %j', (text) => {
    expect(readIso(text)).toBeUndefined()
  })
})
