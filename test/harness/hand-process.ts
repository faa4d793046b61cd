import type { Runtime } from '../../src/app/shop/services.ts'
import { StallMonitor } from '../../src/core/stall-monitor.ts'
import { HandClock, runtimeWith } from './clock.ts'

/** A shop's process on a clock that a test moves: time passes while the process runs, or while it is stalled. */
export class HandProcess {
  private readonly monitor: StallMonitor
  readonly runtime: Required<Runtime>

  constructor(readonly clock = new HandClock()) {
    this.monitor = new StallMonitor(clock.read)
    this.runtime = { ...runtimeWith(clock), stalls: this.monitor }
  }

  /** Time passes, and every tick of the stall monitor is on time. */
  run(ms: number): void {
    for (let leftMs = ms; leftMs > 0; leftMs -= this.monitor.everyMs) {
      this.clock.advance(Math.min(leftMs, this.monitor.everyMs))
      this.monitor.tick()
    }
  }

  /** Time passes while the process does not run: the next tick is late by this. */
  stall(ms: number): void {
    this.clock.advance(this.monitor.everyMs + ms)
  }
}
