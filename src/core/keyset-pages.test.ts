import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { keysetPages } from './keyset-pages.ts'

describe('keysetPages', () => {
  test('keysetPages returns every item once, in order, with one query per full page and one for the rest', async () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(numbers, fc.integer({ min: 1, max: 9 }), async (unordered, size) => {
        const all = unordered.toSorted((a, b) => a - b)
        let queries = 0
        const read = async (after: number, limit: number) => {
          queries += 1
          return all.filter((each) => each > after).slice(0, limit)
        }
        const pages: (readonly number[])[] = []
        for await (const page of keysetPages(read, { start: 0, size, keyOf: (each) => each })) pages.push(page)
        expect(pages.flat()).toEqual(all)
        expect(pages.every((page) => page.length > 0 && page.length <= size)).toBeTrue()
        expect(queries).toBe(Math.floor(all.length / size) + 1)
      }),
    )
  })

  test('keysetPages also returns an item that is added after the last key while it reads', async () => {
    const all = [1, 2, 3, 4]
    const seen: number[] = []
    const read = async (after: number, limit: number) => all.filter((each) => each > after).slice(0, limit)
    for await (const page of keysetPages(read, { start: 0, size: 2, keyOf: (each) => each })) {
      seen.push(...page)
      if (all.length === 4) all.push(5)
    }
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })
})
