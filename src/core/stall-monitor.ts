import type { Clock } from './time.ts'

export type Stalls = {
  /** Milliseconds within the last `withinMs` in which the event loop did not run. Never more than `withinMs`. */
  stalledMs(withinMs: number): number
  /** Length of the period before now that contains `runningMs` of running time. */
  spanMs(runningMs: number): number
}

/** For a process that does not listen to nodes, and for tests whose clock is moved by hand. */
export const noStalls: Stalls = { stalledMs: () => 0, spanMs: (runningMs) => runningMs }

/** Milliseconds since an instant of the wall clock in which this process ran. */
export type RunningSince = (at: number) => number

/** Age of an instant without stalls of this process: a node whose reports lie unread in a socket was not silent. */
export const runningSince =
  (deps: { readonly clock: Clock; readonly stalls: Stalls }): RunningSince =>
  (at) => {
    const ageMs = deps.clock() - at
    return ageMs - deps.stalls.stalledMs(ageMs)
  }

/** The instant that is `limitMs` of running time ago, for SQL: `clock() - limitMs` minus the time of stalls since. */
export const runningBefore = (deps: { readonly clock: Clock; readonly stalls: Stalls }, limitMs: number): number =>
  Math.floor(deps.clock() - deps.stalls.spanMs(limitMs))

/** A tick that is late by less is the timer's usual inaccuracy. */
const minStallMs = 25
/** Older stalls are dropped. Every age that is judged is shorter, so this also caps what an age can be reduced by. */
const keptMs = 15 * 60_000

type Stall = { readonly endedAt: number; readonly ms: number }

/**
 * Event-loop delay over a sliding window. A timer calls `tick` every `everyMs`; a late tick is a stall. Times are of a
 * monotonic clock, which advances while the process is stopped. At most `keptMs / everyMs` stalls are kept.
 */
export class StallMonitor implements Stalls {
  private readonly stalls: Stall[] = []
  private tickedAt: number

  constructor(
    private readonly monotonicMs: () => number,
    readonly everyMs = 250,
  ) {
    this.tickedAt = monotonicMs()
  }

  get size(): number {
    return this.stalls.length
  }

  tick(): void {
    const nowMs = this.monotonicMs()
    const stall = this.findCurrent(nowMs)
    if (stall) this.stalls.push(stall)
    const expired = this.stalls.findIndex((each) => nowMs - each.endedAt < keptMs)
    this.stalls.splice(0, expired === -1 ? this.stalls.length : expired)
    this.tickedAt = nowMs
  }

  stalledMs(withinMs: number): number {
    const nowMs = this.monotonicMs()
    const fromMs = nowMs - withinMs
    // The first request after a stall may be read before the tick that records the stall.
    let stalledMs = overlapMs(this.findCurrent(nowMs), fromMs)
    for (let index = this.stalls.length - 1; index >= 0; index -= 1) {
      const stalled = overlapMs(this.stalls[index], fromMs)
      if (stalled === 0) break
      stalledMs += stalled
    }
    return stalledMs
  }

  spanMs(runningMs: number): number {
    const nowMs = this.monotonicMs()
    const current = this.findCurrent(nowMs)
    let [atMs, leftMs] = [nowMs, runningMs]
    for (const stall of [...this.stalls, ...(current ? [current] : [])].toReversed()) {
      const ranMs = atMs - stall.endedAt
      if (leftMs < ranMs) break
      leftMs -= ranMs
      atMs = stall.endedAt - stall.ms
    }
    return nowMs - atMs + leftMs
  }

  private findCurrent(nowMs: number): Stall | undefined {
    const ms = nowMs - this.tickedAt - this.everyMs
    return ms < minStallMs ? undefined : { endedAt: nowMs, ms }
  }
}

const overlapMs = (stall: Stall | undefined, fromMs: number): number =>
  stall ? Math.max(0, Math.min(stall.ms, stall.endedAt - fromMs)) : 0
