import { expect, test } from 'bun:test'
import { connectionsWithin } from './capacity.ts'

test.each([
  [20_000, 1_048_576, 20_000],
  [20_000, 20_000, 6000],
  [20_000, 1024, 307],
  [20_000, 256, 64],
  [20_000, 64, 8],
  [100, 1_048_576, 100],
  [20_000, Number.POSITIVE_INFINITY, 20_000],
])('of %d connections asked for, %d open files carry %d', (wanted, files, carried) => {
  expect(connectionsWithin(wanted, files)).toBe(carried)
})
