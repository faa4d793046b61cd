import type { After } from '../core/time.ts'

/** Monotonic time, and timers on it. */
export type TimerClock = { readonly now: () => number; readonly after: After }

export const realTiming: TimerClock = {
  now: () => performance.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
}
