import { describe, expect, test } from 'bun:test'
import { settle } from '../../../test/harness/hand-timing.ts'
import { createBell, createLimitedLog, growingPause, type NodeLog, realTiming, type Timing } from './runtime.ts'

const minChance = () => 0
const maxChance = () => 1

describe('growingPause', () => {
  test('growingPause() starts at 100 ms, doubles with each failure and stays at its limit of 1,000 ms', () => {
    const pauses = [1, 2, 3, 4, 5, 100].map((failures) => growingPause(failures, 100, 1000, maxChance))
    expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  test('growingPause() returns half of the delay plus a random part of the other half', () => {
    expect(growingPause(3, 100, 1000, minChance)).toBe(200)
    expect(growingPause(3, 100, 1000, () => 0.5)).toBe(300)
  })
})

/** A timing in which a pause lasts until its signal is aborted or the test ends it. */
function heldTiming() {
  const pauses: { ms: number; end(): void }[] = []
  const timing: Timing = {
    now: () => 0,
    pause: (ms, signal) =>
      new Promise((resolve) => {
        pauses.push({ ms, end: resolve })
        signal?.addEventListener('abort', () => resolve())
      }),
  }
  return { timing, pauses }
}

describe('createBell', () => {
  test('ring() ends the current wait of a bell, and the next wait lasts its full time', async () => {
    const { timing, pauses } = heldTiming()
    const bell = createBell(timing)
    const first = bell.wait(50)
    bell.ring()
    await first
    const second = bell.wait(70)
    expect(pauses.map(({ ms }) => ms)).toEqual([50, 70])
    pauses[1]?.end()
    await second
  })

  test('ring() of a bell before wait() ends that wait at once, and not the wait after it', async () => {
    const { timing, pauses } = heldTiming()
    const bell = createBell(timing)
    bell.ring()
    bell.ring()
    await bell.wait(50)
    expect(pauses).toEqual([])
    const waiting = bell.wait(60)
    expect(pauses.map(({ ms }) => ms)).toEqual([60])
    bell.ring()
    await waiting
  })
})

describe('createLimitedLog', () => {
  function openLog() {
    const lines: string[] = []
    const append = (level: string) => (event: string, fields?: Record<string, unknown>) =>
      void lines.push(`${level} ${event} ${JSON.stringify(fields)}`)
    const log: NodeLog = { error: append('error'), warn: append('warn'), info: append('info') }
    const clock = { nowMs: 5 }
    return { lines, clock, write: createLimitedLog(log, () => clock.nowMs) }
  }

  test('createLimitedLog logs an event once a minute with the number of suppressed repeats', () => {
    const { lines, clock, write } = openLog()
    for (let times = 0; times < 4; times += 1) write('error', 'disk full', { left: 0 })
    clock.nowMs += 59_999
    write('error', 'disk full', { left: 0 })
    expect(lines).toEqual(['error disk full {"left":0}'])
    clock.nowMs += 1
    write('error', 'disk full', { left: 0 })
    expect(lines.slice(1)).toEqual(['error disk full {"left":0,"times_unsaid":4}'])
    clock.nowMs += 60_000
    write('error', 'disk full', { left: 1 })
    expect(lines.slice(2)).toEqual(['error disk full {"left":1}'])
  })

  test('createLimitedLog limits each event separately', () => {
    const { lines, write } = openLog()
    write('error', 'disk full')
    write('warn', 'shop away')
    expect(lines).toEqual(['error disk full {}', 'warn shop away {}'])
  })
})

describe('realTiming.pause', () => {
  test('realTiming.pause() ends when its signal is aborted before or during the pause', async () => {
    // A pause that does not end hangs the test.
    const weekMs = 7 * 86_400_000
    await realTiming.pause(weekMs, AbortSignal.abort())
    const end = new AbortController()
    let isOver = false
    const pause = realTiming.pause(weekMs, end.signal).then(() => (isOver = true))
    await settle()
    expect(isOver).toBe(false)
    end.abort()
    expect(await pause).toBe(true)
  })

  test('realTiming.pause(30) lasts more than 28 ms', async () => {
    const startedAt = realTiming.now()
    await realTiming.pause(30)
    expect(realTiming.now() - startedAt).toBeGreaterThan(28)
  })
})
