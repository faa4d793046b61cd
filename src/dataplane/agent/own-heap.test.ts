import { expect, test } from 'bun:test'
import { GarbageCollection } from '../../core/garbage-collection.ts'
import { openOwnHeap } from './own-heap.ts'

const mebibyte = 1024 * 1024

test('40,000 dead objects leave the heap of a thread that does not return to its loop', () => {
  Bun.gc(true)
  const collection = new GarbageCollection(() => performance.now(), openOwnHeap())
  const before = process.memoryUsage().heapTotal
  let last: unknown
  for (let count = 0; count < 40_000; count += 1) last = { count, bytes: new Uint8Array(64), read: () => last }
  expect(process.memoryUsage().heapTotal - before).toBeGreaterThan(4 * mebibyte)
  last = undefined
  collection.collectIfWorth(true)
  expect(process.memoryUsage().heapTotal - before).toBeLessThan(mebibyte)
})
