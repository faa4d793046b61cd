import { describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { createWatch } from './watch.ts'

const never = new AbortController().signal

/** A watch on a mark that the test sets, and how long a wait of it took. */
function open(options: { readonly holdBackMs?: number } = {}) {
  const place = { mark: 'a', nowMs: 1_000_000, looks: 0, fails: false }
  const watch = createWatch({
    mark: async (since) => {
      place.looks += 1
      if (place.fails) throw new Error('no database')
      return `${since} ${place.mark}`
    },
    clock: () => place.nowMs,
    ...options,
  })
  /** How long a wait took. `onBegun` is called once it waits. */
  const waitMs = async (limitMs: number, onBegun = () => {}): Promise<number> => {
    await watch.ready()
    const told = watch.told()
    const startedAt = performance.now()
    const waiting = watch.wait(told, limitMs, never)
    onBegun()
    await waiting
    return performance.now() - startedAt
  }
  /** A wait of five seconds that has begun. */
  const beginWaiting = async (): Promise<{ readonly tookMs: Promise<number> }> => {
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    const tookMs = waitMs(5000, resolve)
    await begun
    return { tookMs }
  }
  return { place, watch, waitMs, beginWaiting }
}

describe('the look-out for changes', () => {
  test('whoever waits hears of a change elsewhere within a second, and of none when there is none', async () => {
    const { place, watch, waitMs, beginWaiting } = open()
    expect(await waitMs(500)).toBeGreaterThan(490)
    const { tookMs } = await beginWaiting()
    place.mark = 'b'
    expect(await tookMs).toBeLessThan(1000)
    watch.stop()
  })

  test('a word from within is heard at once', async () => {
    const { watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    watch.poke()
    expect(await tookMs).toBeLessThan(400)
    watch.stop()
  })

  test('unless it is to be kept back for a moment: then it is heard after that, and once', async () => {
    const { watch, beginWaiting } = open({ holdBackMs: 100 })
    const { tookMs } = await beginWaiting()
    const before = watch.told()
    watch.poke()
    watch.poke()
    expect(await tookMs).toBeWithin(95, 4000)
    expect(watch.told()).toBe(before + 1)
    watch.stop()
  })

  test('what changes between reading and waiting ends the wait before it begins', async () => {
    const { watch } = open()
    await watch.ready()
    const told = watch.told()
    watch.poke()
    const startedAt = performance.now()
    await watch.wait(told, 5000, never)
    expect(performance.now() - startedAt).toBeLessThan(400)
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
    const endsAt = performance.now() + 500
    while (performance.now() < endsAt) {
      watch.poke()
      watch.spent(20)
      await new Promise(setImmediate)
    }
    expect(watch.told() - before).toBeLessThan(12)
    expect(watch.told() - before).toBeGreaterThan(0)
    watch.stop()
  })

  test('trouble with the database is not waited out in silence', async () => {
    const { place, watch, waitMs, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    place.fails = true
    expect(await tookMs).toBeLessThan(1000)
    expect(await waitMs(10).catch((error: unknown) => String(error))).toContain('no database')
    watch.stop()
  })

  test('the look-out goes on between two waits, and what changes there is told', async () => {
    const { place, watch } = open()
    await watch.ready()
    const told = watch.told()
    await until(() => place.looks >= 3)
    place.mark = 'b'
    await until(() => watch.told() > told)
    watch.stop()
  })

  test('stopping lets everybody go', async () => {
    const { watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    watch.stop()
    expect(await tookMs).toBeLessThan(1000)
  })
})
