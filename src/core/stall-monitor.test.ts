import { beforeEach, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { noStalls, runningBefore, runningSince, StallMonitor } from './stall-monitor.ts'

const everyMs = 250
const minuteMs = 60_000

describe('StallMonitor', () => {
  let nowMs: number
  let monitor: StallMonitor
  beforeEach(() => {
    nowMs = 1000
    monitor = new StallMonitor(() => nowMs, everyMs)
  })

  /** The process runs: every tick is on time. */
  const run = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += everyMs) {
      nowMs += everyMs
      monitor.tick()
    }
  }

  /** The process is stopped right after a tick, so the next tick is late by `ms`. */
  const stall = (ms: number): void => {
    nowMs += everyMs + ms
  }

  test('StallMonitor reports no stall while every tick is less than 25 ms late', () => {
    for (let tick = 0; tick < 100; tick += 1) {
      nowMs += everyMs + 24
      monitor.tick()
    }
    expect(monitor.stalledMs(minuteMs)).toBe(0)
    expect(monitor.size).toBe(0)
  })

  test('StallMonitor counts a stall of 30 s before the late tick and after it', () => {
    run(5000)
    stall(30_000)
    expect(monitor.stalledMs(minuteMs)).toBe(30_000)
    monitor.tick()
    expect(monitor.stalledMs(minuteMs)).toBe(30_000)
    run(5000)
    expect(monitor.stalledMs(minuteMs)).toBe(30_000)
  })

  test('StallMonitor counts only the part of a stall that lies within the requested window', () => {
    stall(30_000)
    monitor.tick()
    run(2000)
    expect([1000, 2000, 12_000, 32_000, 40_000].map((withinMs) => monitor.stalledMs(withinMs))).toEqual([
      0, 0, 10_000, 30_000, 30_000,
    ])
    expect([0, -5].map((withinMs) => monitor.stalledMs(withinMs))).toEqual([0, 0])
  })

  test('StallMonitor adds up stalls that running time separates', () => {
    for (let times = 0; times < 4; times += 1) {
      stall(3000)
      monitor.tick()
      run(1000)
    }
    expect(monitor.stalledMs(minuteMs)).toBe(12_000)
  })

  test('StallMonitor forgets a stall after 15 minutes and keeps at most 3,600 of them', () => {
    stall(5000)
    monitor.tick()
    run(15 * minuteMs - everyMs)
    expect(monitor.size).toBe(1)
    run(everyMs)
    expect(monitor.size).toBe(0)
    for (let tick = 0; tick < 10_000; tick += 1) {
      stall(30)
      monitor.tick()
      expect(monitor.size).toBeLessThanOrEqual((15 * minuteMs) / everyMs)
    }
  })

  test('StallMonitor never reports more than the sum of the stalls, nor more than the requested window', () => {
    const steps = fc.array(fc.record({ stalledMs: fc.nat(20_000), ranMs: fc.nat(5000) }), { maxLength: 20 })
    fc.assert(
      fc.property(steps, fc.nat(200_000), (given, withinMs) => {
        const own = new StallMonitor(() => nowMs, everyMs)
        let stalledMs = 0
        for (const step of given) {
          nowMs += everyMs + step.stalledMs
          stalledMs += step.stalledMs
          own.tick()
          for (let passed = 0; passed < step.ranMs; passed += everyMs) {
            nowMs += everyMs
            own.tick()
          }
        }
        const reported = own.stalledMs(withinMs)
        expect(reported).toBeLessThanOrEqual(stalledMs)
        expect(reported).toBeLessThanOrEqual(withinMs)
        // spanMs() and stalledMs() agree: a span is its running time plus its stalls.
        const spanMs = own.spanMs(withinMs)
        expect(spanMs - own.stalledMs(spanMs)).toBe(withinMs)
      }),
    )
  })

  test('runningSince and runningBefore leave a stall of 30 s out of an age', () => {
    const since = runningSince({ clock: () => nowMs, stalls: monitor })
    const seenAt = nowMs
    stall(30_000)
    expect(since(seenAt)).toBe(everyMs)
    monitor.tick()
    run(10_000)
    expect(since(seenAt)).toBe(everyMs + 10_000)
    expect(runningSince({ clock: () => nowMs, stalls: noStalls })(seenAt)).toBe(everyMs + 40_000)
    expect(since(nowMs + 5)).toBe(-5)
    expect(runningBefore({ clock: () => nowMs, stalls: monitor }, 10_000)).toBe(nowMs - 40_000)
    expect(runningBefore({ clock: () => nowMs, stalls: noStalls }, 10_000)).toBe(nowMs - 10_000)
  })
})
