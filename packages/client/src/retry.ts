/** Limits of the attempts of one call. */
export type RetryLimits = {
  readonly attempts: number
  /** No further attempt begins after this time. */
  readonly totalMs: number
  /** The first pause; each further one is twice as long, up to `maxPauseMs`, half of it random. */
  readonly firstPauseMs: number
  readonly maxPauseMs: number
}

export const usualLimits: RetryLimits = { attempts: 8, totalMs: 120_000, firstPauseMs: 250, maxPauseMs: 8_000 }

/** How one attempt failed. Without a status no answer came. */
export type Failure = {
  readonly status?: number | undefined
  readonly reason?: string | undefined
  /** Null: the shop does not know whether it charged. */
  readonly charged?: boolean | null | undefined
  readonly retryAfterMs?: number | undefined
}

const overloaded = new Set([429, 502, 503, 504])

/**
 * Whether another attempt may help and cannot have a second effect. A request is repeatable if it reads, or has an
 * idempotency key. Any other one is repeated only after 429, which the shop answers before it does anything.
 */
export function isWorthRepeating(failure: Failure, isRepeatable: boolean): boolean {
  if (!isRepeatable) return failure.status === 429
  if (failure.status === undefined || overloaded.has(failure.status)) return true
  return failure.reason === 'request_in_progress' || failure.charged === null
}

/** The pause before the next attempt: `Retry-After` if the shop sent it, and exponential backoff with jitter. */
export function pauseMs(failure: Failure, attempt: number, limits: RetryLimits, chance: number): number {
  const backoff = Math.min(limits.maxPauseMs, limits.firstPauseMs * 2 ** (attempt - 1))
  const jittered = backoff / 2 + (chance * backoff) / 2
  return failure.retryAfterMs === undefined ? jittered : failure.retryAfterMs + jittered / 2
}

/** `Retry-After` in seconds or as a date. */
export function readRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/** Waits, or rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}
