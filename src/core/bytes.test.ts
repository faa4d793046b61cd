import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Bytes, bytes, readGigabytes, toGigabytes } from './bytes.ts'

describe('bytes', () => {
  test('every multiple of 0.1 GB is read to the byte and shown as it was typed', () => {
    for (let tenths = 1; tenths <= 100_000; tenths += 1) {
      const typed = Number(`${Math.floor(tenths / 10)}.${tenths % 10}`)
      const count = readGigabytes(typed)
      if (count !== BigInt(tenths) * 100_000_000n) throw new Error(`${typed} GB became ${count} bytes`)
      if (toGigabytes(count) !== typed) throw new Error(`${typed} GB is shown as ${toGigabytes(count)}`)
    }
    expect(readGigabytes(0.3)).toBe(300_000_000n as Bytes)
  })

  test.each([0.15, 0.05, 1.01, 9999.99, -0.1, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300, 0.1 + 0.2])(
    '%p GB is refused rather than rounded',
    (gigabytes) => {
      expect(readGigabytes(gigabytes)).toBeUndefined()
    },
  )

  test('a negative number of bytes is refused', () => {
    expect(() => bytes(-1n)).toThrow(RangeError)
  })

  test('a count below 8 PB is shown exactly to the byte', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 8_000_000_000_000_000n }), (count) => {
        const [whole = '', rest = ''] = toGigabytes(bytes(count)).toFixed(9).split('.')
        return BigInt(whole + rest) === count
      }),
    )
  })
})
