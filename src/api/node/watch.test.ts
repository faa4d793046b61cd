import { describe, expect, test } from 'bun:test'
import { HandTiming, settle } from '../../../test/harness/hand-timing.ts'
import { ChangeWatch } from './watch.ts'

const never = new AbortController().signal

/** A ChangeWatch with a mark that the test sets and a clock that the test advances. */
function open(options: { readonly holdBackMs?: number } = {}) {
  const source = { mark: 'a', nowMs: 1_000_000, queries: 0, fails: false }
  const timing = new HandTiming()
  const watch = new ChangeWatch({
    mark: async (since) => {
      source.queries += 1
      if (source.fails) throw new Error('no database')
      return `${since} ${source.mark}`
    },
    clock: () => source.nowMs,
    timing,
    ...options,
  })
  /** Begins a wait, and returns how long it took. */
  const beginWaiting = async (limitMs = 5000): Promise<{ readonly tookMs: () => number | undefined }> => {
    await watch.ready()
    const startedAt = timing.now()
    let tookMs: number | undefined
    const wait = async (): Promise<void> => {
      await watch.wait(watch.wakeUps(), limitMs, never)
      tookMs = timing.now() - startedAt
    }
    void wait()
    await settle()
    return { tookMs: () => tookMs }
  }
  return { source, timing, watch, beginWaiting }
}

describe('ChangeWatch', () => {
  test('ChangeWatch ends a wait 200 ms after a change by another process', async () => {
    const { source, timing, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    source.mark = 'b'
    await timing.advance(199)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect(tookMs()).toBe(200)
  })

  test('ChangeWatch ends a wait of 500 ms without a change after 500 ms', async () => {
    const { timing, beginWaiting } = open()
    const { tookMs } = await beginWaiting(500)
    await timing.advance(499)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect(tookMs()).toBe(500)
  })

  test('ChangeWatch.poke() ends a wait at once, without a query of the database', async () => {
    const { source, timing, watch, beginWaiting } = open()
    await watch.ready()
    // The first wake-up is followed by a pause of 5 ms, like any other.
    await timing.advance(5)
    const { tookMs } = await beginWaiting()
    watch.poke()
    await settle()
    expect([tookMs(), source.queries]).toEqual([0, 1])
  })

  test('ChangeWatch with holdBackMs of 100 wakes a node once for two changes, after 100 ms', async () => {
    const { timing, watch, beginWaiting } = open({ holdBackMs: 100 })
    const { tookMs } = await beginWaiting()
    const before = watch.wakeUps()
    watch.poke()
    watch.poke()
    await timing.advance(99)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect([tookMs(), watch.wakeUps()]).toEqual([100, before + 1])
  })

  test('ChangeWatch ends a wait at once if a change happened between the read and the wait', async () => {
    const { timing, watch } = open()
    await watch.ready()
    await timing.advance(5)
    const seen = watch.wakeUps()
    watch.poke()
    await watch.wait(seen, 5000, never)
    expect(timing.now()).toBe(5)
  })

  test('ChangeWatch sends one database query every 200 ms for 100 nodes that wait 650 ms', async () => {
    const { source, timing, beginWaiting } = open()
    const waits = await Promise.all(Array.from({ length: 100 }, () => beginWaiting(650)))
    await timing.advance(650)
    expect(waits.every((wait) => wait.tookMs() === 650)).toBeTrue()
    expect(source.queries).toBe(4)
  })

  test('ChangeWatch wakes a node 7 times in 500 ms for a change every 1 ms if an answer takes 20 ms', async () => {
    const { timing, watch } = open()
    await watch.ready()
    const before = watch.wakeUps()
    let answered = before
    for (let ms = 0; ms < 500; ms += 1) {
      await timing.advance(1)
      watch.poke()
      if (watch.wakeUps() === answered) continue
      answered = watch.wakeUps()
      watch.spent(20)
    }
    // One wake-up after 5 ms, then a pause of four times the duration of the answer.
    expect(watch.wakeUps() - before).toBe(7)
  })

  test('ChangeWatch ends a wait after 200 ms when the database fails, and ready() rejects for the next node', async () => {
    const { source, timing, watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    source.fails = true
    await timing.advance(200)
    expect(tookMs()).toBe(200)
    expect(await watch.ready().catch((error: unknown) => String(error))).toContain('no database')
  })

  test('ChangeWatch continues its queries for 30 s after a wait, and then stops', async () => {
    const { source, timing, watch } = open()
    await watch.ready()
    const seen = watch.wakeUps()
    await timing.advance(29_000)
    source.mark = 'b'
    await timing.advance(200)
    expect(watch.wakeUps()).toBe(seen + 1)
    await timing.advance(2000)
    const { queries } = source
    await timing.advance(60_000)
    expect(source.queries).toBe(queries)
  })

  test('ChangeWatch.stop() ends a wait at once', async () => {
    const { timing, watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    watch.stop()
    await settle()
    expect([tookMs(), timing.now()]).toEqual([0, 0])
  })
})
