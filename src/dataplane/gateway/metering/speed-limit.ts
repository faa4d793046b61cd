import type { After, Clock } from '../../../core/time.ts'

/** Bytes a second for each credential of a kind, both ways together; Infinity for no limit. */
export type Speeds = { readonly proxy: number; readonly subuser: number }
export const noLimit: Speeds = { proxy: Number.POSITIVE_INFINITY, subuser: Number.POSITIVE_INFINITY }

/** What may pass is added so often, so that many bytes pass at once and not a few all the time. */
const stepMs = 25
/** Who has carried nothing for a while, or was held up by this machine, makes up for so long at most. */
const mostSavedMs = 250

/**
 * How fast one credential may carry, over all its connections. Whoever finds nothing left waits for the next step;
 * nobody else does.
 */
export class SpeedLimit {
  private saved = 0
  private filledAt: number
  private cancel: (() => void) | undefined
  private readonly waiting = new Set<() => void>()

  constructor(
    private readonly bytesPerSecond: () => number,
    private readonly clock: Clock,
    private readonly after: After,
  ) {
    this.filledAt = clock() - stepMs
  }

  /** How many bytes may pass now. */
  get left(): number {
    const rate = this.bytesPerSecond()
    if (rate === Number.POSITIVE_INFINITY) return rate
    this.fill(rate)
    return Math.max(0, Math.floor(this.saved))
  }

  spend(bytes: number): void {
    if (this.bytesPerSecond() !== Number.POSITIVE_INFINITY) this.saved -= bytes
  }

  /** Calls `wake` once, at the next step: within 25 ms, also when the clock was set back. */
  whenMore(wake: () => void): void {
    this.waiting.add(wake)
    const dueInMs = this.filledAt + stepMs - this.clock()
    this.cancel ??= this.after(Math.min(stepMs, Math.max(1, dueInMs)), () => this.wakeAll())
  }

  private fill(rate: number): void {
    const passedMs = this.clock() - this.filledAt
    // A clock that was set back begins again from where it is.
    if (passedMs < 0) this.filledAt = this.clock()
    const steps = Math.max(0, Math.floor(passedMs / stepMs))
    // Also without a new step: a rate that was lowered lets no more pass than is saved at the new rate.
    const most = (rate * mostSavedMs) / 1000
    this.saved = Math.min(most, this.saved + (rate * steps * stepMs) / 1000)
    this.filledAt += steps * stepMs
  }

  private wakeAll(): void {
    this.cancel = undefined
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const wake of waiting) wake()
  }
}
