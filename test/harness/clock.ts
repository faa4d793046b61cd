import type { Runtime } from '../../src/app/shop/services.ts'
import { realRuntime } from '../../src/app/shop/services.ts'
import { noStalls } from '../../src/core/stall-monitor.ts'

/** A clock that moves only by `advance`. */
export class HandClock {
  constructor(public nowMs: number = Date.UTC(2026, 0, 15, 12)) {}

  readonly read = (): number => this.nowMs

  advance(ms: number): void {
    this.nowMs += ms
  }

  advanceDays(days: number): void {
    this.advance(days * 86_400_000)
  }
}

export const runtimeWith = (clock: Pick<HandClock, 'read'>): Required<Runtime> => ({
  ...realRuntime,
  clock: clock.read,
  stalls: noStalls,
  // `passwords.test.ts` checks the shipped cost, which is 20 ms of a core per password.
  passwordCost: { memoryCost: 8, timeCost: 1 },
})
