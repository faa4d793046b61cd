import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { bytes, toGigabytes } from './bytes.ts'

describe('bytes', () => {
  test('toGigabytes writes every multiple of 0.1 GB up to 10,000 GB as it was typed', () => {
    for (let tenths = 1; tenths <= 100_000; tenths += 1) {
      const typed = Number(`${Math.floor(tenths / 10)}.${tenths % 10}`)
      const shown = toGigabytes(bytes(BigInt(tenths) * 100_000_000n))
      if (shown !== typed) throw new Error(`${typed} GB is shown as ${shown}`)
    }
  })

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
