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
  test('readRoubles reads the JSON of toRoubles back as the same kopecks', () => {
    fc.assert(
      fc.property(amount, (count) => {
        const written = JSON.stringify(toRoubles(count))
        expect(readRoubles(written)).toBe(count)
      }),
      { numRuns: 5000 },
    )
  })

  test('toRoubles gives at most two decimals and no exponent in JSON', () => {
    fc.assert(
      fc.property(signed, (count) => {
        expect(JSON.stringify(toRoubles(count))).toMatch(/^-?\d+(\.\d{1,2})?$/)
      }),
      { numRuns: 5000 },
    )
  })

  test('toRoubles and readRoubles are exact from 1 kopeck to maxKopecks', () => {
    expect(JSON.stringify([1n, 5n, 10n, 890n, 180_000n].map((count) => toRoubles(kopecks(count))))).toBe(
      '[0.01,0.05,0.1,8.9,1800]',
    )
    expect(toRoubles(maxKopecks)).toBe(10_000_000_000_000)
    expect(toRoubles(kopecks(maxKopecks - 1n))).toBe(9_999_999_999_999.99)
    expect(readRoubles('9999999999999.99')).toBe(kopecks(maxKopecks - 1n))
  })

  test('toRoubleText always writes two decimals, and readRoubles reads the text back', () => {
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
  ])('readRoubles refuses %j', (text) => {
    expect(readRoubles(text)).toBeUndefined()
  })

  test('kopecks, add, subtract and total throw RangeError beyond maxKopecks', () => {
    expect(() => kopecks(maxKopecks + 1n)).toThrow(RangeError)
    expect(() => kopecks(-maxKopecks - 1n)).toThrow(RangeError)
    expect(() => add(maxKopecks, 1n as Kopecks)).toThrow(RangeError)
    expect(() => subtract(negate(maxKopecks), 1n as Kopecks)).toThrow(RangeError)
    expect(() => total([maxKopecks, maxKopecks])).toThrow(RangeError)
  })

  test('total() accepts an intermediate sum above maxKopecks when the result is below it', () => {
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

  test('divideUp throws RangeError for a negative price and for a divisor of 0 or less', () => {
    for (const [price, by] of [
      [-1n, 2n],
      [1n, 0n],
      [1n, -2n],
    ] as const) {
      expect(() => divideUp(price, by)).toThrow(RangeError)
    }
  })
})
