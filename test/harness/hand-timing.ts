import type { After } from '../../src/core/time.ts'
import type { NodeLog, Timing } from '../../src/dataplane/agent/runtime.ts'

type Sleeper = { readonly atMs: number; readonly wake: () => void }

/** Runs everything that is ready: promises, and answers that have arrived. */
export const settle = async (): Promise<void> => {
  for (let round = 0; round < 3; round += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Monotonic time that only a test moves, and pauses and one-shot timers on it that end in order. */
export class HandTiming implements Timing {
  private nowMs = 0
  private readonly sleepers = new Set<Sleeper>()

  readonly now = (): number => this.nowMs

  readonly pause = (ms: number, end?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = () => {
        this.sleepers.delete(sleeper)
        end?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper = { atMs: this.nowMs + ms, wake }
      this.sleepers.add(sleeper)
      end?.addEventListener('abort', wake)
      if (end?.aborted === true) wake()
    })

  readonly after: After = (ms, act) => {
    const sleeper = {
      atMs: this.nowMs + ms,
      wake: () => {
        this.sleepers.delete(sleeper)
        act()
      },
    }
    this.sleepers.add(sleeper)
    return () => void this.sleepers.delete(sleeper)
  }

  /** Moves time without ending pauses. */
  spend(ms: number): void {
    this.nowMs += ms
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms
    await settle()
    for (;;) {
      const next = [...this.sleepers].toSorted((a, b) => a.atMs - b.atMs)[0]
      if (!next || next.atMs > untilMs) break
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.wake()
      await settle()
    }
    this.nowMs = untilMs
  }
}

/** Advances time until a promise settles, and returns its result. */
export async function passing<T>(timing: HandTiming, promise: Promise<T>, maxMs = 60_000): Promise<T> {
  const done = new AbortController()
  const watched = promise.finally(() => done.abort())
  watched.catch(() => {})
  for (let passedMs = 0; passedMs < maxMs && !done.signal.aborted; passedMs += 10) await timing.advance(10)
  return watched
}

export const quietLog: NodeLog = { error: () => {}, warn: () => {}, info: () => {} }

/** Records log entries. */
export function recordingLog() {
  const entries: { level: string; event: string; fields: Record<string, unknown> }[] = []
  const at =
    (level: string) =>
    (event: string, fields: Record<string, unknown> = {}) =>
      void entries.push({ level, event, fields })
  return { entries, log: { error: at('error'), warn: at('warn'), info: at('info') } }
}
