import { expect, test } from 'bun:test'
import { availableParallelism } from 'node:os'
import { startStopwatch, toElapsedMs } from './stopwatch.ts'

const busyLoop = ['-e', 'const endsAt = performance.now() + 400; while (performance.now() < endsAt);']

test('toElapsedMs subtracts stolen time and the run delay of every thread, new threads included', () => {
  const from = {
    atMs: 1000,
    stolenMs: 50,
    runDelaysMs: new Map([
      ['1/1', 10],
      ['1/2', 400],
    ]),
  }
  const to = {
    atMs: 2000,
    stolenMs: 80,
    runDelaysMs: new Map([
      ['1/1', 110],
      ['1/3', 20],
    ]),
  }
  expect(toElapsedMs(from, to)).toBe(1000 - 30 - 100 - 20)
})

test('startStopwatch leaves out the time in which child processes waited for a processor', async () => {
  const stopwatch = startStopwatch()
  const startedAt = performance.now()
  const loops = Array.from({ length: 4 * availableParallelism() }, () => Bun.spawn([process.execPath, ...busyLoop]))
  // Read while they run: the counters of a process disappear with it.
  while (loops.every(({ exitCode }) => exitCode === null)) await new Promise((resolve) => setImmediate(resolve))
  const elapsedMs = stopwatch.elapsedMs()
  expect(elapsedMs).toBeLessThan(performance.now() - startedAt)
  await Promise.all(loops.map(({ exited }) => exited))
})
