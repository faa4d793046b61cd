import type { After, Clock } from '../../core/time.ts'
import { overlapMs } from './cursor.ts'

const lookEveryMs = 200
/** How long polling continues without a waiting node: an answered node is back in a moment. */
const lingerMs = 30_000
/** At most a fifth of the time is spent on answers, however often something changes. */
const restFor = 4
const leastRestMs = 5
const maxRestMs = 400

/** Monotonic time, and timers on it. */
type Timing = { readonly now: () => number; readonly after: After }

const realTiming: Timing = {
  now: () => performance.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * Wakes waiting nodes when something may have changed. One watch serves all of this process: it polls the database a
 * few times a second for changes of other processes, and `poke` reports its own at once.
 */
export function createWatch(deps: {
  readonly mark: (sinceAt: number) => Promise<string>
  readonly clock: Clock
  /** Delay of a change of this process; none unless given. */
  readonly holdBackMs?: number
  /** Real unless a test hands in its own. */
  readonly timing?: Timing
}) {
  const { now, after } = deps.timing ?? realTiming
  let base: { sinceAt: number; mark: string } | undefined
  let looking: Promise<void> | undefined
  let cancelLook: (() => void) | undefined
  let cancelTelling: (() => void) | undefined
  let usedAt = 0
  let toldAt = 0
  let spentMs = 0
  let told = 0
  let stopped = false
  const waiting = new Set<() => void>()

  function tellNow(): void {
    cancelTelling?.()
    cancelTelling = undefined
    toldAt = now()
    spentMs = 0
    told += 1
    for (const wake of waiting) wake()
  }

  function tell(holdBackMs = 0): void {
    if (cancelTelling !== undefined || stopped) return
    const restMs = Math.min(maxRestMs, Math.max(leastRestMs, restFor * spentMs))
    const leftMs = Math.max(holdBackMs, toldAt + restMs - now())
    if (leftMs <= 0) tellNow()
    else cancelTelling = after(leftMs, tellLater)
  }

  function tellLater(): void {
    cancelTelling = undefined
    tell()
  }

  /** When the window moves, a change could fall between two marks, so waiting nodes are woken. */
  async function look(): Promise<void> {
    const nowMs = deps.clock()
    const isFresh = base !== undefined && nowMs - base.sinceAt >= 0 && nowMs - base.sinceAt <= 2 * overlapMs
    const sinceAt = base && isFresh ? base.sinceAt : nowMs - overlapMs
    try {
      const mark = await deps.mark(sinceAt)
      const isSame = base?.sinceAt === sinceAt && base.mark === mark
      const isFirst = base === undefined
      base = { sinceAt, mark }
      if (!isSame && !isFirst) tell()
    } catch (error) {
      // Waiting nodes read for themselves, meet the same error and report it.
      base = undefined
      tellNow()
      throw error
    }
  }

  function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
      cancelLook ??= after(lookEveryMs, goOn)
    })
    return looking
  }

  function goOn(): void {
    cancelLook = undefined
    if (stopped) return
    if (waiting.size === 0 && now() - usedAt > lingerMs) base = undefined
    else lookOnce().catch(() => {})
  }

  return {
    /** Number of wake-ups so far. Read it before the data: `wait` for more than this misses no later change. */
    told: (): number => told,

    /** Ensures that every later change wakes waiting nodes. */
    async ready(): Promise<void> {
      usedAt = now()
      if (base === undefined && !stopped) await lookOnce()
    },

    /** Resolves after the next wake-up, the time limit or the signal. */
    async wait(heard: number, ms: number, signal: AbortSignal): Promise<void> {
      if (told > heard || ms <= 0 || stopped || signal.aborted) return
      await new Promise<void>((resolve) => {
        const wake = () => {
          cancelLimit()
          signal.removeEventListener('abort', wake)
          waiting.delete(wake)
          resolve()
        }
        const cancelLimit = after(ms, wake)
        signal.addEventListener('abort', wake)
        waiting.add(wake)
      })
    },

    /** This process has changed something. */
    poke(): void {
      if (base !== undefined) tell(deps.holdBackMs)
    },

    /** Time spent on an answer. */
    spent(ms: number): void {
      spentMs += ms
    },

    stop(): void {
      cancelLook?.()
      tellNow()
      stopped = true
    },
  }
}
