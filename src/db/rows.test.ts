import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { chunked, sendRows } from './rows.ts'

describe('batched row writes', () => {
  test('chunked() returns every item once and in order, in chunks whose size is a power of 2', () => {
    fc.assert(
      fc.property(fc.nat(1000), (count) => {
        const items = Array.from({ length: count }, (_, index) => index)
        const chunks = [...chunked(items)]
        expect(chunks.flat()).toEqual(items)
        for (const chunk of chunks) expect(Number.isInteger(Math.log2(chunk.length))).toBe(true)
      }),
    )
  })

  test('sendRows writes 1 row in 1 statement, 10 rows in 2 and 100 rows in 3', () => {
    for (const [count, statements] of [
      [1, 1],
      [10, 2],
      [100, 3],
    ] as const) {
      const sent: string[] = []
      const tx = { send: (sql: string) => void sent.push(sql) } as unknown as Parameters<typeof sendRows>[0]
      sendRows(
        tx,
        'INSERT INTO things (id)',
        Array.from({ length: count }, (_, index) => [index]),
      )
      expect(sent).toHaveLength(statements)
    }
  })
})
