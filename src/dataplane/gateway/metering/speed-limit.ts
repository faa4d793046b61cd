import type { After, Clock } from '../../../core/time.ts'

/** Bytes per second and credential, both directions together. */
export type Speeds = {
  readonly proxy: number
  readonly subuser: number
  /** This process's part of every limit, which these two contain already; VPN devices have limits of their own. */
  readonly share: number
}
export const noLimit: Speeds = { proxy: Number.POSITIVE_INFINITY, subuser: Number.POSITIVE_INFINITY, share: 1 }

/** Of a VPN device after its end: enough for a payment page. */
export const graceBytesPerSecond = 65_536

/** Tokens are added in steps, so that larger chunks pass. */
export const stepMs = 25
/** Burst after idle time. */
export const maxSavedMs = 250

/** Takes up to one step's tokens from a bucket that several threads share. */
export type DrawTokens = (bytesPerSecond: number) => number

/** Token bucket per credential, shared by its tunnels. */
export class SpeedLimit {
  private saved = 0
  private filledAt: number
  private cancel: (() => void) | undefined
  private readonly waiting = new Set<() => void>()

  constructor(
    private readonly bytesPerSecond: () => number,
    private readonly clock: Clock,
    private readonly after: After,
    /** If set, `saved` is what this thread has drawn from the shared bucket and not spent. */
    private readonly draw?: DrawTokens,
  ) {
    this.filledAt = clock() - stepMs
  }

  get left(): number {
    const rate = this.bytesPerSecond()
    if (rate === Number.POSITIVE_INFINITY) return rate
    this.fill(rate)
    return Math.max(0, Math.floor(this.saved))
  }

  spend(bytes: number): void {
    if (this.bytesPerSecond() !== Number.POSITIVE_INFINITY) this.saved -= bytes
  }

  /** Calls `wake` once at the next step, within 25 ms even if the clock was set back. */
  whenMore(wake: () => void): void {
    this.waiting.add(wake)
    const dueInMs = this.draw ? stepMs : this.filledAt + stepMs - this.clock()
    this.cancel ??= this.after(Math.min(stepMs, Math.max(1, dueInMs)), () => this.wakeAll())
  }

  private fill(rate: number): void {
    if (this.draw) return this.drawMore(rate, this.draw)
    const passedMs = this.clock() - this.filledAt
    // The clock was set back: restart from now.
    if (passedMs < 0) this.filledAt = this.clock()
    const steps = Math.max(0, Math.floor(passedMs / stepMs))
    // Applies a lowered rate to saved tokens at once.
    const max = (rate * maxSavedMs) / 1000
    this.saved = Math.min(max, this.saved + (rate * steps * stepMs) / 1000)
    this.filledAt += steps * stepMs
  }

  /** Tokens that are not spent within 250 ms are dropped, like those of a full bucket. */
  private drawMore(rate: number, draw: DrawTokens): void {
    const nowMs = this.clock()
    if (Math.abs(nowMs - this.filledAt) > maxSavedMs) this.saved = Math.min(0, this.saved)
    this.filledAt = nowMs
    if (this.saved < 1) this.saved += draw(rate)
  }

  private wakeAll(): void {
    this.cancel = undefined
    const waiting = [...this.waiting]
    this.waiting.clear()
    for (const wake of waiting) wake()
  }
}
