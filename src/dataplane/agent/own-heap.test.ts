import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { GarbageCollection } from '../../core/garbage-collection.ts'
import { openOwnHeap } from './own-heap.ts'

const made = 40_000
const countArrays = (): number => heapStats().objectTypeCounts['Uint8Array'] ?? 0

test('40,000 dead objects leave the heap of a thread that does not return to its loop', () => {
  Bun.gc(true)
  const collection = new GarbageCollection(() => performance.now(), openOwnHeap())
  const before = countArrays()
  let last: unknown
  for (let count = 0; count < made; count += 1) last = { count, bytes: new Uint8Array(64), read: () => last }
  last = undefined
  collection.collectIfWorth(true)
  expect(countArrays() - before).toBeLessThan(made / 10)
})
