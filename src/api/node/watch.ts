import type { Clock } from '../../core/time.ts'
import { realTiming, type TimerClock } from '../timing.ts'
import { overlapMs } from './feed.ts'

const lookEveryMs = 200
/** How long polling continues without a waiting node: an answered node is back in a moment. */
const lingerMs = 30_000
/** At most a fifth of the time is spent on answers, however often something changes. */
const restFor = 4
const minRestMs = 5
const maxRestMs = 400

type WatchDeps = {
  readonly mark: (sinceAt: number) => Promise<string>
  readonly clock: Clock
  /** Delay before a change by this process is announced; none by default. */
  readonly holdBackMs?: number
  /** The real timers by default; tests pass their own. */
  readonly timing?: TimerClock
}

/** Wakes waiting nodes: it polls the database for changes of other processes, and `poke` reports those of this one. */
export class ChangeWatch {
  readonly #deps: WatchDeps
  readonly #timing: TimerClock
  #base: { sinceAt: number; mark: string } | undefined
  #looking: Promise<void> | undefined
  #cancelLook: (() => void) | undefined
  #cancelWakeUp: (() => void) | undefined
  #usedAt = 0
  #wokenAt = 0
  #spentMs = 0
  #wakeUps = 0
  #isStopped = false
  readonly #waiting = new Set<() => void>()

  constructor(deps: WatchDeps) {
    this.#deps = deps
    this.#timing = deps.timing ?? realTiming
  }

  /** Number of wake-ups so far. Read it before the data: `wait` for more than this misses no later change. */
  wakeUps(): number {
    return this.#wakeUps
  }

  /** Ensures that every later change wakes waiting nodes. */
  async ready(): Promise<void> {
    this.#usedAt = this.#timing.now()
    if (this.#base === undefined && !this.#isStopped) await this.#lookOnce()
  }

  /** Resolves after the next wake-up, the time limit or the signal. */
  async wait(seen: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#wakeUps > seen || ms <= 0 || this.#isStopped || signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = () => {
        cancelLimit()
        signal.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      const cancelLimit = this.#timing.after(ms, wake)
      signal.addEventListener('abort', wake)
      this.#waiting.add(wake)
    })
  }

  poke(): void {
    if (this.#base !== undefined) this.#wake(this.#deps.holdBackMs)
  }

  spent(ms: number): void {
    this.#spentMs += ms
  }

  stop(): void {
    this.#cancelLook?.()
    this.#wakeNow()
    this.#isStopped = true
  }

  #wakeNow(): void {
    this.#cancelWakeUp?.()
    this.#cancelWakeUp = undefined
    this.#wokenAt = this.#timing.now()
    this.#spentMs = 0
    this.#wakeUps += 1
    for (const wake of this.#waiting) wake()
  }

  #wake(holdBackMs = 0): void {
    if (this.#cancelWakeUp !== undefined || this.#isStopped) return
    const restMs = Math.min(maxRestMs, Math.max(minRestMs, restFor * this.#spentMs))
    const leftMs = Math.max(holdBackMs, this.#wokenAt + restMs - this.#timing.now())
    if (leftMs <= 0) this.#wakeNow()
    else this.#cancelWakeUp = this.#timing.after(leftMs, () => this.#wakeLater())
  }

  #wakeLater(): void {
    this.#cancelWakeUp = undefined
    this.#wake()
  }

  /** When the window moves, a change could fall between two marks, so waiting nodes are woken. */
  async #look(): Promise<void> {
    const nowMs = this.#deps.clock()
    const base = this.#base
    const isFresh = base !== undefined && nowMs - base.sinceAt >= 0 && nowMs - base.sinceAt <= 2 * overlapMs
    const sinceAt = base && isFresh ? base.sinceAt : nowMs - overlapMs
    try {
      const mark = await this.#deps.mark(sinceAt)
      const isSame = this.#base?.sinceAt === sinceAt && this.#base.mark === mark
      const isFirst = this.#base === undefined
      this.#base = { sinceAt, mark }
      if (!isSame && !isFirst) this.#wake()
    } catch (error) {
      // Waiting nodes read for themselves, meet the same error and report it.
      this.#base = undefined
      this.#wakeNow()
      throw error
    }
  }

  #lookOnce(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      this.#cancelLook ??= this.#timing.after(lookEveryMs, () => this.#lookAgain())
    })
    return this.#looking
  }

  #lookAgain(): void {
    this.#cancelLook = undefined
    if (this.#isStopped) return
    if (this.#waiting.size === 0 && this.#timing.now() - this.#usedAt > lingerMs) this.#base = undefined
    else this.#lookOnce().catch(() => {})
  }
}
