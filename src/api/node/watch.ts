import type { After, Clock } from '../../core/time.ts'
import { overlapMs } from './cursor.ts'

const lookEveryMs = 200
/** How long the look-out goes on after nobody waits any more: a node that was answered comes back in a moment. */
const lingerMs = 30_000
/** At most a fifth of the time goes into answering who waits, however often something changes. */
const restFor = 4
const leastRestMs = 5
const mostRestMs = 400

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
 * Tells whoever waits that something may have changed. One look-out serves all who wait in this process: a cheap look
 * at the database a few times a second, for what other processes changed, and a word from within this process at once.
 */
export function createWatch(deps: {
  readonly mark: (sinceAt: number) => Promise<string>
  readonly clock: Clock
  /** How long a word from within this process is kept back. It is told at once unless said. */
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
    const restMs = Math.min(mostRestMs, Math.max(leastRestMs, restFor * spentMs))
    const leftMs = Math.max(holdBackMs, toldAt + restMs - now())
    if (leftMs <= 0) tellNow()
    else cancelTelling = after(leftMs, tellLater)
  }

  /** The rest may have grown while somebody was answered meanwhile. */
  function tellLater(): void {
    cancelTelling = undefined
    tell()
  }

  /** What changed while the window moves could slip between two marks, so whoever waits looks for himself then. */
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
      // Whoever waits asks for himself, meets the same trouble and says so.
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
    /** How often something was told. Ask before reading; a wait for more than this misses nothing that came after. */
    told: (): number => told,

    /** Makes sure that whatever changes from now on will be told. */
    async ready(): Promise<void> {
      usedAt = now()
      if (base === undefined && !stopped) await lookOnce()
    },

    /** Until something was told since, or the time is over, or the signal comes. */
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

    /** Something was changed by this very process. */
    poke(): void {
      if (base !== undefined) tell(deps.holdBackMs)
    },

    /** So much time went into answering. */
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
