import { describe, expect, test } from 'bun:test'
import { HandTimers } from '../../../test/harness/hand-timers.ts'
import { settle } from '../../../test/harness/hand-timing.ts'
import { ChangeWatch } from './watch.ts'

const never = new AbortController().signal

/** A watch on a mark that the test sets, on time that the test moves. */
function open(options: { readonly holdBackMs?: number } = {}) {
  const source = { mark: 'a', nowMs: 1_000_000, looks: 0, fails: false }
  const timing = new HandTimers()
  const watch = new ChangeWatch({
    mark: async (since) => {
      source.looks += 1
      if (source.fails) throw new Error('no database')
      return `${since} ${source.mark}`
    },
    clock: () => source.nowMs,
    timing,
    ...options,
  })
  /** Begins a wait, and tells after how long it ended. */
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

describe('the look-out for changes', () => {
  test('a node that waits is answered within 200 ms of a change elsewhere', async () => {
    const { source, timing, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    source.mark = 'b'
    await timing.advance(199)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect(tookMs()).toBe(200)
  })

  test('a wait of 500 ms without a change ends after 500 ms', async () => {
    const { timing, beginWaiting } = open()
    const { tookMs } = await beginWaiting(500)
    await timing.advance(499)
    expect(tookMs()).toBeUndefined()
    await timing.advance(1)
    expect(tookMs()).toBe(500)
  })

  test('a change made by this process ends a wait without a look at the database', async () => {
    const { source, timing, watch, beginWaiting } = open()
    await watch.ready()
    // The first telling rests for 5 ms like any other.
    await timing.advance(5)
    const { tookMs } = await beginWaiting()
    watch.poke()
    await settle()
    expect([tookMs(), source.looks]).toEqual([0, 1])
  })

  test('a change that is held back for 100 ms wakes a node once, after 100 ms', async () => {
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

  test('what changes between reading and waiting ends the wait before it begins', async () => {
    const { timing, watch } = open()
    await watch.ready()
    await timing.advance(5)
    const seen = watch.wakeUps()
    watch.poke()
    await watch.wait(seen, 5000, never)
    expect(timing.now()).toBe(5)
  })

  test('100 nodes that wait for 650 ms share one look every 200 ms', async () => {
    const { source, timing, beginWaiting } = open()
    const waits = await Promise.all(Array.from({ length: 100 }, () => beginWaiting(650)))
    await timing.advance(650)
    expect(waits.every((wait) => wait.tookMs() === 650)).toBeTrue()
    expect(source.looks).toBe(4)
  })

  test('a change every millisecond wakes a node 7 times in 500 ms if an answer takes 20 ms', async () => {
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
    // One telling after 5 ms, then a rest of four times what answering took.
    expect(watch.wakeUps() - before).toBe(7)
  })

  test('a failing database ends a wait within 200 ms, and ready() rejects for the next node', async () => {
    const { source, timing, watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    source.fails = true
    await timing.advance(200)
    expect(tookMs()).toBe(200)
    expect(await watch.ready().catch((error: unknown) => String(error))).toContain('no database')
  })

  test('the look-out continues for 30 s between two waits, and then stops until the next one', async () => {
    const { source, timing, watch } = open()
    await watch.ready()
    const seen = watch.wakeUps()
    await timing.advance(29_000)
    source.mark = 'b'
    await timing.advance(200)
    expect(watch.wakeUps()).toBe(seen + 1)
    await timing.advance(2000)
    const { looks } = source
    await timing.advance(60_000)
    expect(source.looks).toBe(looks)
  })

  test('stopping ends every wait at once', async () => {
    const { timing, watch, beginWaiting } = open()
    const { tookMs } = await beginWaiting()
    watch.stop()
    await settle()
    expect([tookMs(), timing.now()]).toEqual([0, 0])
  })
})
