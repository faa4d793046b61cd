import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { openOwnHeap } from './own-heap.ts'

const made = 40_000
const countArrays = (): number => heapStats().objectTypeCounts['Uint8Array'] ?? 0

test('the heap of a thread that does not return to its loop grows with its objects, and loses 40,000 dead ones', () => {
  Bun.gc(true)
  const heap = openOwnHeap()
  const before = { bytes: heap.bytes(), arrays: countArrays() }
  let last: unknown
  for (let count = 0; count < made; count += 1) last = { count, bytes: new Uint8Array(64), read: () => last }
  expect(heap.bytes()).toBeGreaterThan(before.bytes)
  last = undefined
  heap.collect()
  expect(countArrays() - before.arrays).toBeLessThan(made / 10)
})
