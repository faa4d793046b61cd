import type { Clock } from './time.ts'

export type Remembered<Key, Value> = {
  /** The answer to this question, at most `forMs` old. */
  readonly get: (key: Key) => Promise<Value>
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
  const known = new Map<Key, { readonly answer: Promise<Value>; readonly askedAt: number }>()

  function drop(key: Key, answer: Promise<Value>): void {
    if (known.get(key)?.answer === answer) known.delete(key)
  }

  return {
    get(key) {
      const nowMs = deps.clock()
      const entry = known.get(key)
      if (entry && nowMs >= entry.askedAt && nowMs - entry.askedAt < deps.forMs) return entry.answer
      const answer = deps.ask(key)
      if (known.size >= deps.most) known.clear()
      known.set(key, { answer, askedAt: nowMs })
      answer.then(
        (value) => deps.isWorthKeeping?.(value) === false && drop(key, answer),
        () => drop(key, answer),
      )
      return answer
    },

    forget: () => known.clear(),
  }
}
