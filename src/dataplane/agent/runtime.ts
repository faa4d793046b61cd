import type { Clock } from '../../core/time.ts'

/** What the node writes down for its operator. */
export type Log = {
  error(event: string, fields?: Record<string, unknown>): void
  warn(event: string, fields?: Record<string, unknown>): void
  info(event: string, fields?: Record<string, unknown>): void
}

/** Time that only goes forward, and waiting in it: a wall clock that is set back must not stop a heartbeat. */
export type Timing = {
  readonly now: Clock
  /** Waits, or ends early and quietly when the signal is given. */
  pause(ms: number, end?: AbortSignal): Promise<void>
}

/** A number from 0 up to 1, handed in. */
export type Chance = () => number

export const realTiming: Timing = {
  now: () => performance.now(),
  pause: (ms, end) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        end?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      end?.addEventListener('abort', done)
      if (end?.aborted === true) done()
    }),
}

/**
 * Doubles with each failure up to a limit; half of it is chance, so that twenty nodes do not come back in one moment.
 */
export function growingPause(failures: number, firstMs: number, mostMs: number, chance: Chance): number {
  const wholeMs = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return wholeMs / 2 + (chance() * wholeMs) / 2
}

/** Lets one loop wait for a while or for a call, whichever comes first. A call that comes early is not lost. */
export function createBell(timing: Timing) {
  let isRung = false
  let waiting: AbortController | undefined
  return {
    ring(): void {
      isRung = true
      waiting?.abort()
    },
    /** Whoever begins now hears of all that was rung for before. */
    quiet(): void {
      isRung = false
    },
    async wait(ms: number): Promise<void> {
      if (!isRung) {
        waiting = new AbortController()
        await timing.pause(ms, waiting.signal)
        waiting = undefined
      }
      isRung = false
    },
  }
}

const sayAgainMs = 60_000

/**
 * Says each kind of trouble once a minute, with how often it happened meanwhile: a full disk must not be filled further
 * by its own log.
 */
export function createLimitedLog(log: Log, now: Clock) {
  const said = new Map<string, { saidAt: number; unsaid: number }>()
  return (level: 'warn' | 'error', event: string, fields: Record<string, unknown> = {}): void => {
    const last = said.get(event)
    if (last && now() - last.saidAt < sayAgainMs) {
      last.unsaid += 1
      return
    }
    said.set(event, { saidAt: now(), unsaid: 0 })
    log[level](event, last && last.unsaid > 0 ? { ...fields, times_unsaid: last.unsaid } : fields)
  }
}

/** What a text says, or undefined when it is not JSON: whoever asks has a schema that refuses both alike. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
