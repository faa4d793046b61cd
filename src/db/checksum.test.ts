import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { engines, openTestDatabase } from '../../test/harness/database.ts'
import { checksumIn, checksumOf } from './checksum.ts'

const maxFigure = 2n ** 63n - 1n

describe.each([...engines])('the checksum on %s', (engine) => {
  let opened: Awaited<ReturnType<typeof openTestDatabase>>
  beforeAll(async () => {
    opened = await openTestDatabase(engine)
  })
  afterAll(() => opened.close())

  const inDatabase = async (figures: readonly bigint[]): Promise<bigint | undefined> => {
    const columns = figures.map((_, at) => `CAST($${at + 1} AS BIGINT)`)
    return (await opened.db.first<{ sum: bigint }>(`SELECT ${checksumIn(columns)} AS sum`, figures))?.sum
  }

  test('checksumIn in the database equals checksumOf for 1 to 11 numbers up to 2^63 - 1', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.bigInt({ min: 0n, max: maxFigure }), { minLength: 1, maxLength: 11 }),
        async (figures) => {
          expect(await inDatabase(figures)).toBe(checksumOf(figures))
        },
      ),
      { numRuns: 50, examples: [[Array.from({ length: 11 }, () => maxFigure)]] },
    )
  })
})

test('checksumOf changes when one number is increased or two unequal numbers are swapped', () => {
  const figures = fc.array(fc.integer({ min: 0, max: 2 ** 31 }), { minLength: 2, maxLength: 11 })
  fc.assert(
    fc.property(figures, fc.integer({ min: 1, max: 2 ** 31 }), fc.nat(), (row, more, position) => {
      const at = position % (row.length - 1)
      const raised = row.with(at, (row[at] ?? 0) + more)
      expect(checksumOf(raised)).not.toBe(checksumOf(row))
      const swapped = row.with(at, row[at + 1] ?? 0).with(at + 1, row[at] ?? 0)
      if (row[at] !== row[at + 1]) expect(checksumOf(swapped) === checksumOf(row)).toBe(false)
    }),
  )
})

test('checksumOf throws RangeError for 12 numbers, because it has 11 weights', () => {
  expect(() => checksumOf(Array.from({ length: 12 }, () => 1n))).toThrow(RangeError)
})
