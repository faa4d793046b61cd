import { expect, test } from 'bun:test'
import { HandTime } from '../../../../../test/harness/hand-time.ts'
import { GarbageCollection } from './garbage.ts'

const mebibyte = 1024 * 1024

/** A heap of 40 MiB whose collections take as long as the test says. */
function openHeap() {
  const time = new HandTime()
  const heap = { kept: 40 * mebibyte, garbage: 0, pauseMs: 1, collections: 0 }
  const collection = new GarbageCollection(time.clock, {
    bytes: () => heap.kept + heap.garbage,
    collect: () => {
      time.spend(heap.pauseMs)
      heap.garbage = 0
      heap.collections += 1
    },
  })
  const countAfter = (bytes: number, isQuiet: boolean): number => {
    heap.garbage += bytes
    collection.collectIfWorth(isQuiet)
    return heap.collections
  }
  return { time, heap, countAfter }
}

test('a quiet reactor of 40 MiB collects 5 MiB of garbage, and a busy one 20 MiB', () => {
  const { time, countAfter } = openHeap()
  expect(countAfter(4.9 * mebibyte, true)).toBe(0)
  expect(countAfter(0.1 * mebibyte, true)).toBe(1)
  time.pass(2_000)
  expect(countAfter(19.9 * mebibyte, false)).toBe(1)
  expect(countAfter(0.1 * mebibyte, false)).toBe(2)
})

test('collections are 1,000 pauses apart in a busy reactor and 100 in a quiet one, and 0.5 to 30 s', () => {
  for (const [isQuiet, pauseMs, restMs] of [
    [false, 0.1, 500],
    [false, 20, 20_000],
    [false, 200, 30_000],
    [true, 1, 500],
    [true, 20, 2_000],
  ] as const) {
    const { time, heap, countAfter } = openHeap()
    heap.pauseMs = pauseMs
    countAfter(100 * mebibyte, isQuiet)
    time.pass(restMs - 1)
    expect(countAfter(100 * mebibyte, isQuiet)).toBe(1)
    time.pass(1)
    expect(countAfter(0, isQuiet)).toBe(2)
  }
})

test('40,000 dead objects leave the heap of a thread that does not return to its loop', () => {
  Bun.gc(true)
  const collection = new GarbageCollection(() => performance.now())
  const before = process.memoryUsage().heapTotal
  let last: unknown
  for (let count = 0; count < 40_000; count += 1) last = { count, bytes: new Uint8Array(64), read: () => last }
  expect(process.memoryUsage().heapTotal - before).toBeGreaterThan(4 * mebibyte)
  last = undefined
  collection.collectIfWorth(true)
  expect(process.memoryUsage().heapTotal - before).toBeLessThan(mebibyte)
})
