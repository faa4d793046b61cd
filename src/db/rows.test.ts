import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { chunked, sendRows } from './rows.ts'

describe('rows that are written together', () => {
  test('sendRows writes every row once and in order, in statements of few sizes', () => {
    fc.assert(
      fc.property(fc.nat(1000), (count) => {
        const items = Array.from({ length: count }, (_, index) => index)
        const chunks = [...chunked(items)]
        expect(chunks.flat()).toEqual(items)
        for (const chunk of chunks) expect(Number.isInteger(Math.log2(chunk.length))).toBe(true)
      }),
    )
  })

  test('ten rows are two statements, and a hundred are three', () => {
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
