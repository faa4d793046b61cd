import { expect, test } from 'bun:test'
import { findContaining } from './proxies.ts'

/** Comments of proxies with the numbers from `count` down to 1. */
function commentsOf(count: number, commentOf: (id: number) => string) {
  let reads = 0
  const read = async (before: number) => {
    reads += 1
    const first = Math.min(before - 1, count)
    const ids = Array.from({ length: Math.min(first, 1000) }, (_, index) => first - index)
    return ids.map((id) => ({ id, comment: commentOf(id) }))
  }
  return { read, reads: () => reads }
}
const from = { before: Number.MAX_SAFE_INTEGER, limit: 2 }

test('findContaining reads 10,000 comments at most, and its next position is where it stopped', async () => {
  const { read, reads } = commentsOf(12_000, (id) => (id === 500 ? 'Склад' : 'other'))
  const first = await findContaining(read, 'склад', from)
  expect([first, reads()]).toEqual([{ ids: [], next: 2001 }, 10])
  expect(await findContaining(read, 'склад', { ...from, before: 2001 })).toEqual({ ids: [500], next: undefined })
})

test('findContaining answers a next position only if another comment matches', async () => {
  const three = commentsOf(2500, (id) => (id % 1000 === 1 ? 'a' : ''))
  expect(await findContaining(three.read, 'A', from)).toEqual({ ids: [2001, 1001], next: 1001 })
  expect(await findContaining(three.read, 'A', { ...from, before: 1001 })).toEqual({ ids: [1], next: undefined })
  expect(await findContaining(three.read, 'A', { ...from, limit: 3 })).toEqual({
    ids: [2001, 1001, 1],
    next: undefined,
  })
})
