import { describe, expect, test } from 'bun:test'
import { settle } from '../../../test/harness/hand-timing.ts'
import { createBell, createLimitedLog, growingPause, type NodeLog, realTiming, type Timing } from './runtime.ts'

const least = () => 0
const max = () => 1

describe('a pause after failures', () => {
  test('begins at the first, doubles with each, and ends at the limit', () => {
    const pauses = [1, 2, 3, 4, 5, 100].map((failures) => growingPause(failures, 100, 1000, max))
    expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  test('growingPause() is half random', () => {
    expect(growingPause(3, 100, 1000, least)).toBe(200)
    expect(growingPause(3, 100, 1000, () => 0.5)).toBe(300)
  })
})

/** A timing in which a pause lasts until its signal is given or the test lets it end. */
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

describe('a bell', () => {
  test('ends a wait when it rings, and the next wait is a whole one', async () => {
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

  test('a bell that rang before a wait ends that wait only', async () => {
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

describe('trouble that goes on', () => {
  function openLog() {
    const lines: string[] = []
    const write = (level: string) => (event: string, fields?: Record<string, unknown>) =>
      void lines.push(`${level} ${event} ${JSON.stringify(fields)}`)
    const log: NodeLog = { error: write('error'), warn: write('warn'), info: write('info') }
    const clock = { nowMs: 5 }
    return { lines, clock, say: createLimitedLog(log, () => clock.nowMs) }
  }

  test('an event is logged once a minute with the number of suppressed repeats', () => {
    const { lines, clock, say } = openLog()
    for (let times = 0; times < 4; times += 1) say('error', 'disk full', { left: 0 })
    clock.nowMs += 59_999
    say('error', 'disk full', { left: 0 })
    expect(lines).toEqual(['error disk full {"left":0}'])
    clock.nowMs += 1
    say('error', 'disk full', { left: 0 })
    expect(lines.slice(1)).toEqual(['error disk full {"left":0,"times_unsaid":4}'])
    clock.nowMs += 60_000
    say('error', 'disk full', { left: 1 })
    expect(lines.slice(2)).toEqual(['error disk full {"left":1}'])
  })

  test('a suppressed event does not suppress other events', () => {
    const { lines, say } = openLog()
    say('error', 'disk full')
    say('warn', 'shop away')
    expect(lines).toEqual(['error disk full {}', 'warn shop away {}'])
  })
})

describe('a real pause', () => {
  test('ends at once when its signal is given, before it or while it lasts', async () => {
    // Longer than any test may take: a pause that does not end hangs.
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

  test('a pause of 30 ms lasts at least 28 ms under load', async () => {
    const startedAt = realTiming.now()
    await realTiming.pause(30)
    expect(realTiming.now() - startedAt).toBeGreaterThan(28)
  })
})
