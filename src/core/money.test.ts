import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  add,
  divideUp,
  type Kopecks,
  kopecks,
  maxKopecks,
  negate,
  readRoubles,
  subtract,
  toRoubles,
  toRoubleText,
  total,
} from './money.ts'

const amount = fc.bigInt({ min: 0n, max: maxKopecks }).map((count) => kopecks(count))
const signed = fc.bigInt({ min: -maxKopecks, max: maxKopecks }).map((count) => kopecks(count))

describe('money', () => {
  test('every amount with two decimals comes back from JSON as the same kopecks', () => {
    fc.assert(
      fc.property(amount, (count) => {
        const written = JSON.stringify(toRoubles(count))
        expect(readRoubles(written)).toBe(count)
      }),
      { numRuns: 5000 },
    )
  })

  test('a JSON amount never shows more than two decimals nor an exponent', () => {
    fc.assert(
      fc.property(signed, (count) => {
        expect(JSON.stringify(toRoubles(count))).toMatch(/^-?\d+(\.\d{1,2})?$/)
      }),
      { numRuns: 5000 },
    )
  })

  test('the smallest and the largest amounts are exact', () => {
    expect(JSON.stringify([1n, 5n, 10n, 890n, 180_000n].map((count) => toRoubles(kopecks(count))))).toBe(
      '[0.01,0.05,0.1,8.9,1800]',
    )
    expect(toRoubles(maxKopecks)).toBe(10_000_000_000_000)
    expect(toRoubles(kopecks(maxKopecks - 1n))).toBe(9_999_999_999_999.99)
    expect(readRoubles('9999999999999.99')).toBe(kopecks(maxKopecks - 1n))
  })

  test('the text for people always has two decimals and reads back', () => {
    expect([890n, 5n, 0n, -5n, -123_456n].map((count) => toRoubleText(kopecks(count)))).toEqual([
      '8.90',
      '0.05',
      '0.00',
      '-0.05',
      '-1234.56',
    ])
    fc.assert(fc.property(amount, (count) => readRoubles(toRoubleText(count)) === count))
  })

  test.each([
    '',
    ' ',
    '-1',
    '+1',
    ' 1',
    '1 ',
    '1.',
    '.5',
    '1.234',
    '1e3',
    '0x10',
    '1,5',
    '1_000',
    'NaN',
    'Infinity',
    '١',
    '10000000000000.01',
    '99999999999999',
    '1\n',
  ])('%j is not an amount', (text) => {
    expect(readRoubles(text)).toBeUndefined()
  })

  test('an amount above maxKopecks throws', () => {
    expect(() => kopecks(maxKopecks + 1n)).toThrow(RangeError)
    expect(() => kopecks(-maxKopecks - 1n)).toThrow(RangeError)
    expect(() => add(maxKopecks, 1n as Kopecks)).toThrow(RangeError)
    expect(() => subtract(negate(maxKopecks), 1n as Kopecks)).toThrow(RangeError)
    expect(() => total([maxKopecks, maxKopecks])).toThrow(RangeError)
  })

  test('an intermediate sum may exceed maxKopecks when the total does not', () => {
    expect(total([maxKopecks, 1n as Kopecks, negate(maxKopecks)])).toBe(1n as Kopecks)
  })

  test('divideUp rounds up, by less than one kopeck', () => {
    const divisor = fc.bigInt({ min: 1n, max: 1_000_000_000n })
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1_000_000_000_000n }), divisor, (price, by) => {
        const given = divideUp(price, by)
        expect(given * by >= price).toBe(true)
        expect((given - 1n) * by < price).toBe(true)
      }),
      { numRuns: 2000 },
    )
    expect([divideUp(0n, 7n), divideUp(7n, 7n), divideUp(8n, 7n)]).toEqual([0n, 1n, 2n] as Kopecks[])
  })

  test('divideUp throws on a negative price and on a divisor of zero', () => {
    for (const [price, by] of [
      [-1n, 2n],
      [1n, 0n],
      [1n, -2n],
    ] as const) {
      expect(() => divideUp(price, by)).toThrow(RangeError)
    }
  })
})
