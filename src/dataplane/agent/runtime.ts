import type { Log } from '../../core/log.ts'
import type { Clock } from '../../core/time.ts'

export type NodeLog = Pick<Log, 'error' | 'warn' | 'info'>

/** Monotonic time: a wall clock that is set back must not stop a heartbeat. */
export type Timing = {
  readonly now: Clock
  /** Waits, or resolves early when the signal is aborted. */
  pause(ms: number, end?: AbortSignal): Promise<void>
}

/** A random number in [0, 1). */
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

/** Exponential backoff with 50 % jitter. */
export function growingPause(failures: number, firstMs: number, maxMs: number, chance: Chance): number {
  const wholeMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return wholeMs / 2 + (chance() * wholeMs) / 2
}

/** A wait that ring() ends early; a ring before the wait is not lost. */
export function createBell(timing: Timing) {
  let isRung = false
  let waiting: AbortController | undefined
  return {
    ring(): void {
      isRung = true
      waiting?.abort()
    },
    /** Clears earlier rings. */
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

const logAgainMs = 60_000

/** Logs each event at most once a minute, with the number of suppressed repeats. */
export function createLimitedLog(log: NodeLog, now: Clock) {
  const logged = new Map<string, { loggedAt: number; suppressed: number }>()
  return (level: 'warn' | 'error', event: string, fields: Record<string, unknown> = {}): void => {
    const last = logged.get(event)
    if (last && now() - last.loggedAt < logAgainMs) {
      last.suppressed += 1
      return
    }
    logged.set(event, { loggedAt: now(), suppressed: 0 })
    log[level](event, last && last.suppressed > 0 ? { ...fields, times_unsaid: last.suppressed } : fields)
  }
}

/** Reads a response as text; undefined if it is longer than `maxBytes`. */
export async function readBody(response: Response, maxBytes: number): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let byteCount = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    byteCount += part.length
    if (byteCount > maxBytes) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/** Undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
