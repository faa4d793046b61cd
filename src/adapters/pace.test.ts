import { expect, test } from 'bun:test'
import { createPace } from './pace.ts'

test('createPace(10) starts one call in 100 ms, and no burst after a pause', async () => {
  let nowMs = 0
  const waits: number[] = []
  const next = createPace(
    10,
    () => nowMs,
    async (ms) => void waits.push(ms),
  )
  await Promise.all([next(), next(), next()])
  nowMs = 5_000
  await Promise.all([next(), next()])
  expect(waits).toEqual([100, 200, 100])
})
