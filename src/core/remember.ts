import type { Clock } from './time.ts'

export type Remembered<Key, Value> = {
  /** The answer to this question, at most `forMs` old, or as old as whoever asks can use. */
  readonly get: (key: Key, forMs?: number) => Promise<Value>
  /** All is asked anew from now on. */
  readonly forget: () => void
}

/**
 * Asks once for all who ask the same within `forMs`, and tells all of them the same. A question that failed is
 * forgotten at once, and so is an answer that `isWorthKeeping` says no to. A clock that is set back makes nothing last
 * longer.
 */
export function remember<Key, Value>(deps: {
  readonly ask: (key: Key) => Promise<Value>
  readonly clock: Clock
  readonly forMs: number
  /** Past this many, all are forgotten: asking again costs less than growing without end. */
  readonly most: number
  readonly isWorthKeeping?: (value: Value) => boolean
}): Remembered<Key, Value> {
  const known = new Map<Key, { readonly answer: Promise<Value>; readonly askedAt: number; isAnswered: boolean }>()

  function drop(key: Key, answer: Promise<Value>): void {
    if (known.get(key)?.answer === answer) known.delete(key)
  }

  return {
    get(key, forMs = deps.forMs) {
      const nowMs = deps.clock()
      const entry = known.get(key)
      // What has not been answered is waited for no longer than usual, however old an answer might be.
      const mostMs = entry?.isAnswered ? forMs : Math.min(forMs, deps.forMs)
      if (entry && nowMs >= entry.askedAt && nowMs - entry.askedAt < mostMs) return entry.answer
      const answer = deps.ask(key)
      if (known.size >= deps.most) known.clear()
      const asked = { answer, askedAt: nowMs, isAnswered: false }
      known.set(key, asked)
      const heard = (value: Value): void => {
        asked.isAnswered = true
        if (deps.isWorthKeeping?.(value) === false) drop(key, answer)
      }
      answer.then(heard, () => drop(key, answer))
      return answer
    },

    forget: () => known.clear(),
  }
}
