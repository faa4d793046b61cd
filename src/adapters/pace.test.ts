import { expect, test } from 'bun:test'
import { createPace } from './pace.ts'

/** A pace on a clock that the test moves, and the waits in milliseconds until it let calls through. */
function openPace(perSecond: number) {
  const waits: number[] = []
  const state = { nowMs: 0 }
  const next = createPace(
    perSecond,
    () => state.nowMs,
    async (ms) => void waits.push(ms),
  )
  return { state, waits, next }
}

test('createPace(20) lets one call through in 50 ms, and no burst after a pause', async () => {
  const { state, waits, next } = openPace(20)
  await Promise.all([next(), next(), next()])
  state.nowMs = 5_010
  await Promise.all([next(), next()])
  expect(waits).toEqual([50, 100, 40])
})

test('createPace(200) lets groups of 10 calls through every 50 ms, each with one timer', async () => {
  const { state, waits, next } = openPace(200)
  await Promise.all(Array.from({ length: 35 }, () => next()))
  expect(waits).toEqual([50, 100, 150])
  state.nowMs = 60_000
  await Promise.all(Array.from({ length: 11 }, () => next()))
  expect(waits).toEqual([50, 100, 150, 50])
})

test('1,000 calls through createPace(200) take 4,950 ms, and are let through in their order', async () => {
  let nowMs = 0
  const through: number[] = []
  const timers: { readonly at: number; readonly fire: () => void }[] = []
  const next = createPace(
    200,
    () => nowMs,
    (ms) => new Promise((fire) => void timers.push({ at: nowMs + ms, fire })),
  )
  const all = Promise.all(Array.from({ length: 1000 }, (_, index) => next().then(() => through.push(index))))
  for (const { at, fire } of timers) {
    nowMs = at
    fire()
  }
  await all
  expect([nowMs, through]).toEqual([4950, Array.from({ length: 1000 }, (_, index) => index)])
})
