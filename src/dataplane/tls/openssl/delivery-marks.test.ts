import { expect, test } from 'bun:test'
import { DeliveryMarks } from './delivery-marks.ts'

test('an acknowledged position delivers whole records only, and nothing of bytes between writes', () => {
  const marks = new DeliveryMarks(0)
  // 450 bytes of handshake and tickets, a write of 40,000 bytes in 3 records, 30 bytes of KeyUpdate, a write of 100.
  marks.note(450, 450 + 40_066, 40_000)
  marks.note(40_546, 40_668, 40_100)
  const expected: readonly (readonly [number, number])[] = [
    [0, 0],
    [450, 0],
    [450 + 16_405, 0],
    [450 + 16_406, 16_384],
    [450 + 2 * 16_406, 32_768],
    [450 + 40_065, 32_768],
    [450 + 40_066, 40_000],
    [40_667, 40_000],
    [40_668, 40_100],
    [50_000, 40_100],
  ]
  for (const [position, plain] of expected) expect([position, marks.reach(position)]).toEqual([position, plain])
  for (const [position, plain] of expected) expect([position, marks.confirm(position)]).toEqual([position, plain])
})

test('a write of 3 records behind an answer of 27 bytes to a KeyUpdate is delivered as a whole, not 18 bytes too early', () => {
  const marks = new DeliveryMarks(0)
  const end = 27 + 3 * 22 + 40_000
  marks.note(0, end, 40_000)
  // (27 + 3 × 22) / 3 is 31, which looks like the overhead of a record.
  expect([16_415, 16_432, end - 1, end].map((position) => marks.reach(position))).toEqual([0, 0, 0, 40_000])
})

test('10,000 small writes without an acknowledgement keep at most 257 marks, and are delivered never too early', () => {
  const marks = new DeliveryMarks(0)
  let cipher = 0
  for (let write = 1; write <= 10_000; write += 1) {
    marks.note(cipher, cipher + 23, write)
    cipher += 23
  }
  expect(marks.size).toBeLessThanOrEqual(257)
  let last = 0
  for (let position = 0; position <= cipher; position += 1000) {
    const plain = marks.confirm(position)
    expect(plain).toBeLessThanOrEqual(Math.floor(position / 23))
    expect(plain).toBeGreaterThanOrEqual(last)
    last = plain
  }
  expect(marks.confirm(cipher)).toBe(10_000)
})
