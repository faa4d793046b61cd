import type { Clock } from './time.ts'

export type TtlCache<Key, Value> = {
  /** The value for this key, at most `ttlMs` old (the cache's, unless the caller accepts an older one). */
  readonly get: (key: Key, ttlMs?: number) => Promise<Value>
  readonly clear: () => void
}

/** Single-flight cache with a time to live. Failed loads and values that `shouldKeep` rejects are not kept. */
export function createTtlCache<Key, Value>(deps: {
  readonly load: (key: Key) => Promise<Value>
  readonly clock: Clock
  readonly ttlMs: number
  /** A full cache is cleared. */
  readonly maxEntries: number
  readonly shouldKeep?: (value: Value) => boolean
}): TtlCache<Key, Value> {
  const entries = new Map<Key, { readonly value: Promise<Value>; readonly loadedAt: number; isLoaded: boolean }>()

  function drop(key: Key, value: Promise<Value>): void {
    if (entries.get(key)?.value === value) entries.delete(key)
  }

  return {
    get(key, ttlMs = deps.ttlMs) {
      const nowMs = deps.clock()
      const found = entries.get(key)
      // A load that is under way is shared for the cache's own ttl at most.
      const maxAgeMs = found?.isLoaded ? ttlMs : Math.min(ttlMs, deps.ttlMs)
      if (found && nowMs >= found.loadedAt && nowMs - found.loadedAt < maxAgeMs) return found.value
      const value = deps.load(key)
      if (entries.size >= deps.maxEntries) entries.clear()
      const entry = { value, loadedAt: nowMs, isLoaded: false }
      entries.set(key, entry)
      const onLoaded = (loaded: Value): void => {
        entry.isLoaded = true
        if (deps.shouldKeep?.(loaded) === false) drop(key, value)
      }
      value.then(onLoaded, () => drop(key, value))
      return value
    },

    clear: () => entries.clear(),
  }
}
