import type { Clock } from '../../core/time.ts'
import type { Acknowledgement } from '../../domains/fleet/rules.ts'
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

/** Interval between two looks at acknowledgements, and the longest wait for them. */
const lookStepMs = 20
const maxReadWaitMs = 2000
/** While no gateway acknowledges, the database is asked about it this often. */
const recheckMs = 200

type ReadWaitDeps = {
  readonly acknowledgements: () => Promise<readonly Acknowledgement[]>
  readonly isCurrent: (cursor: string) => Promise<boolean>
  /** Whether a gateway with this cursor has read every table to its end. */
  readonly isRoundEnd: (cursor: string) => boolean
  /** The real timers by default; tests pass their own. */
  readonly timing?: TimerClock
}

type PendingRead = {
  readonly untilAt: number
  readonly resolve: () => void
  /** The count of rounds of each gateway at the first look of this wait. */
  first: ReadonlyMap<string, number> | undefined
}

/**
 * Waits until the gateways that acknowledge have read what is committed. A gateway has read it if nothing follows its
 * cursor, or if it has ended two rounds through the tables since: the second round began after the first had ended.
 */
export class ReadWait {
  readonly #deps: ReadWaitDeps
  readonly #timing: TimerClock
  readonly #waits = new Set<PendingRead>()
  #rounds = new Map<string, { readonly cursor: string; readonly count: number }>()
  #isLooking = false
  #isStopped = false
  #noneSince: number | undefined
  /** Looks take at most a fifth of the time, however many rows have changed. */
  #restUntil = 0

  constructor(deps: ReadWaitDeps) {
    this.#deps = deps
    this.#timing = deps.timing ?? realTiming
  }

  /** Resolves once all of them have read what was committed before the call, after 2 s, or when the database fails. */
  async wait(): Promise<void> {
    const nowMs = this.#timing.now()
    if (this.#isStopped || (this.#noneSince !== undefined && nowMs - this.#noneSince < recheckMs)) return
    await new Promise<void>((resolve) => {
      this.#waits.add({ untilAt: nowMs + maxReadWaitMs, resolve, first: undefined })
      if (!this.#isLooking) void this.#lookOn()
    })
  }

  /** Resolves once every shop on this database has asked it again, and so waits for a gateway that it has now. */
  recheck(): Promise<void> {
    return this.#pause(recheckMs)
  }

  stop(): void {
    this.#isStopped = true
    this.#end([...this.#waits])
  }

  #end(waits: readonly PendingRead[]): void {
    for (const wait of waits) {
      this.#waits.delete(wait)
      wait.resolve()
    }
  }

  /** One loop serves all waits. */
  async #lookOn(): Promise<void> {
    this.#isLooking = true
    while (this.#waits.size > 0) {
      await this.#pause(this.#restUntil - this.#timing.now())
      const waits = [...this.#waits]
      const beganAt = this.#timing.now()
      await this.#look(waits).catch(() => this.#end(waits))
      this.#restUntil = this.#timing.now() + restFor * (this.#timing.now() - beganAt)
      if (this.#waits.size > 0) await this.#pause(lookStepMs)
    }
    this.#isLooking = false
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => this.#timing.after(ms, resolve))
  }

  async #look(waits: readonly PendingRead[]): Promise<void> {
    const askedAt = this.#timing.now()
    const all = await this.#deps.acknowledgements()
    this.#noneSince = all.length === 0 ? askedAt : undefined
    this.#rounds = new Map(all.map((each) => [each.node, this.#roundOf(each)]))
    const counts = new Map([...this.#rounds].map(([node, { count }]) => [node, count]))
    const current = await Promise.all(all.map(({ cursor }) => this.#deps.isCurrent(cursor)))
    const behind = all.filter((_, index) => !current[index]).map(({ node }) => node)
    const nowMs = this.#timing.now()
    this.#end(
      waits.filter((wait) => {
        const first = (wait.first ??= counts)
        return nowMs >= wait.untilAt || behind.every((node) => roundsSince(first, counts, node) >= 2)
      }),
    )
  }

  #roundOf({ node, cursor }: Acknowledgement): { readonly cursor: string; readonly count: number } {
    const { cursor: before = cursor, count = 0 } = this.#rounds.get(node) ?? {}
    return { cursor, count: count + Number(before !== cursor && this.#deps.isRoundEnd(cursor)) }
  }
}

const roundsSince = (first: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>, node: string): number =>
  (now.get(node) ?? 0) - (first.get(node) ?? now.get(node) ?? 0)
