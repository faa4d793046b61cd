import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Bytes, bytes, readGigabytes, toGigabytes } from './bytes.ts'

describe('bytes', () => {
  test('readGigabytes reads every multiple of 0.1 GB up to 10,000 GB exactly, and toGigabytes writes it back', () => {
    for (let tenths = 1; tenths <= 100_000; tenths += 1) {
      const typed = Number(`${Math.floor(tenths / 10)}.${tenths % 10}`)
      const count = readGigabytes(typed)
      if (count !== BigInt(tenths) * 100_000_000n) throw new Error(`${typed} GB became ${count} bytes`)
      if (toGigabytes(count) !== typed) throw new Error(`${typed} GB is shown as ${toGigabytes(count)}`)
    }
    expect(readGigabytes(0.3)).toBe(300_000_000n as Bytes)
  })

  test.each([0.15, 0.05, 1.01, 9999.99, -0.1, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 0.1 + 0.2])(
    'readGigabytes refuses %p GB instead of rounding it',
    (gigabytes) => {
      expect(readGigabytes(gigabytes)).toBeUndefined()
    },
  )

  test('bytes() throws RangeError for a negative count', () => {
    expect(() => bytes(-1n)).toThrow(RangeError)
  })

  test('toGigabytes is exact to the byte up to 8 PB', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 8_000_000_000_000_000n }), (count) => {
        const [whole = '', rest = ''] = toGigabytes(bytes(count)).toFixed(9).split('.')
        return BigInt(whole + rest) === count
      }),
    )
  })
})
