import { expect, test } from 'bun:test'
import { HandTime } from '../../test/harness/hand-time.ts'
import { GarbageCollection } from './garbage-collection.ts'

const mebibyte = 1024 * 1024

/** A heap of 40 MiB, or as the test sets it. */
function openHeap(keptMebibytes = 40) {
  const time = new HandTime()
  const heap = { garbage: 0, collections: 0 }
  const collection = new GarbageCollection(time.clock, {
    bytes: () => keptMebibytes * mebibyte + heap.garbage,
    collect: () => {
      heap.garbage = 0
      heap.collections += 1
    },
  })
  const countAfter = (bytes: number, isQuiet: boolean): number => {
    heap.garbage += bytes
    collection.collectIfWorth(isQuiet)
    return heap.collections
  }
  return { time, countAfter }
}

test('a quiet thread of 40 MiB collects 5 MiB of garbage, and a busy one 20 MiB', () => {
  const { time, countAfter } = openHeap()
  expect(countAfter(4.9 * mebibyte, true)).toBe(0)
  expect(countAfter(0.1 * mebibyte, true)).toBe(1)
  time.pass(60_000)
  expect(countAfter(19.9 * mebibyte, false)).toBe(1)
  expect(countAfter(0.1 * mebibyte, false)).toBe(2)
})

test('a heap of 40 MiB is collected every 20 s on a busy thread and every 2 s on a quiet one, a small one every 0.5 s', () => {
  for (const [isQuiet, keptMebibytes, restMs] of [
    [false, 40, 20_000],
    [true, 40, 2_000],
    [true, 2, 500],
  ] as const) {
    const { time, countAfter } = openHeap(keptMebibytes)
    countAfter(100 * mebibyte, isQuiet)
    time.pass(restMs - 1)
    expect(countAfter(100 * mebibyte, isQuiet)).toBe(1)
    time.pass(1)
    expect(countAfter(0, isQuiet)).toBe(2)
  }
})
