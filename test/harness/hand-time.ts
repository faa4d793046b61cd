import type { After } from '../../src/core/time.ts'

/** A clock and its timers, both moved by the test. */
export class HandTime {
  private planned: { readonly at: number; readonly act: () => void }[] = []
  private nowMs = 1_000_000
  /** The time of the timers: never set back. */
  private steadyMs = 0

  readonly clock = (): number => this.nowMs

  readonly after: After = (ms, act) => {
    const timer = { at: this.steadyMs + ms, act }
    this.planned.push(timer)
    return () => {
      this.planned = this.planned.filter((each) => each !== timer)
    }
  }

  /** Moves the clock and fires no timer: the thread is busy or not scheduled. */
  spend(ms: number): void {
    this.nowMs += ms
    this.steadyMs += ms
  }

  /** Moves the clock and fires the timers that are due, each once. Timers set meanwhile wait for the next call. */
  pass(ms: number): void {
    this.spend(ms)
    const due = this.planned.filter(({ at }) => at <= this.steadyMs)
    this.planned = this.planned.filter(({ at }) => at > this.steadyMs)
    for (const { act } of due) act()
  }

  /** An administrator sets the clock back; timers are not affected. */
  setBack(ms: number): void {
    this.nowMs -= ms
  }

  get timers(): number {
    return this.planned.length
  }
}
