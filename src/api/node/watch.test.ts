import { describe, expect, test } from 'bun:test'
import { createWatch } from './watch.ts'

const never = new AbortController().signal

/** A watch on a mark that the test sets, and how long a wait of it took. */
function open() {
  const place = { mark: 'a', nowMs: 1_000_000, looks: 0, fails: false }
  const watch = createWatch({
    mark: async (since) => {
      place.looks += 1
      if (place.fails) throw new Error('no database')
      return `${since} ${place.mark}`
    },
    clock: () => place.nowMs,
  })
  const waitMs = async (limitMs: number): Promise<number> => {
    await watch.ready()
    const told = watch.told()
    const startedMs = performance.now()
    await watch.wait(told, limitMs, never)
    return performance.now() - startedMs
  }
  return { place, watch, waitMs }
}

describe('the look-out for changes', () => {
  test('whoever waits hears of a change elsewhere within a second, and of none when there is none', async () => {
    const { place, watch, waitMs } = open()
    expect(await waitMs(500)).toBeGreaterThan(490)
    const waiting = waitMs(5000)
    await Bun.sleep(20)
    place.mark = 'b'
    expect(await waiting).toBeLessThan(1000)
    watch.stop()
  })

  test('a word from within is heard at once', async () => {
    const { watch, waitMs } = open()
    const waiting = waitMs(5000)
    await Bun.sleep(20)
    watch.poke()
    expect(await waiting).toBeLessThan(100)
    watch.stop()
  })

  test('what changes between reading and waiting ends the wait before it begins', async () => {
    const { watch } = open()
    await watch.ready()
    const told = watch.told()
    watch.poke()
    const startedMs = performance.now()
    await watch.wait(told, 5000, never)
    expect(performance.now() - startedMs).toBeLessThan(100)
    watch.stop()
  })

  test('a hundred who wait share one look', async () => {
    const { place, watch, waitMs } = open()
    await Promise.all(Array.from({ length: 100 }, () => waitMs(650)))
    expect(place.looks).toBeLessThan(8)
    watch.stop()
  })

  test('a flood of words does not keep the shop busy with telling', async () => {
    const { watch } = open()
    await watch.ready()
    const before = watch.told()
    const until = performance.now() + 500
    while (performance.now() < until) {
      watch.poke()
      watch.spent(20)
      await Bun.sleep(1)
    }
    expect(watch.told() - before).toBeLessThan(12)
    expect(watch.told() - before).toBeGreaterThan(0)
    watch.stop()
  })

  test('trouble with the database is not waited out in silence', async () => {
    const { place, watch, waitMs } = open()
    const waiting = waitMs(5000)
    await Bun.sleep(20)
    place.fails = true
    expect(await waiting).toBeLessThan(1000)
    expect(await waitMs(10).catch((error: unknown) => String(error))).toContain('no database')
    watch.stop()
  })

  test('stopping lets everybody go', async () => {
    const { watch, waitMs } = open()
    const waiting = waitMs(5000)
    await Bun.sleep(20)
    watch.stop()
    expect(await waiting).toBeLessThan(1000)
  })
})
