import type { After } from '../../src/core/time.ts'
import { settle } from './hand-timing.ts'

/** Monotonic time that only a test moves, and one-shot timers on it that fire in order. */
export class HandTimers {
  private nowMs = 0
  private readonly timers = new Set<{ readonly atMs: number; readonly act: () => void }>()

  readonly now = (): number => this.nowMs

  readonly after: After = (ms, act) => {
    const timer = { atMs: this.nowMs + ms, act }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms
    await settle()
    for (;;) {
      const next = [...this.timers].toSorted((a, b) => a.atMs - b.atMs)[0]
      if (!next || next.atMs > untilMs) break
      this.timers.delete(next)
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.act()
      await settle()
    }
    this.nowMs = untilMs
  }
}
