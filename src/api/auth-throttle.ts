import { type Address, clientPrefixOf } from '../core/address.ts'
import { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import { createTokenBuckets, type TokenBucketRate } from '../core/token-buckets.ts'
import { rateLimited } from './answers.ts'
import type { RateLimitState } from './rate.ts'

/** Wrong secrets that one client prefix may send: a burst, and then so many a second. */
const mistakes: TokenBucketRate = { perSecond: 5, burst: 300 }
const exhausted: RateLimitState = { limit: 300, remaining: 0, resetSeconds: 60, retryAfterSeconds: 1 }
/** A valid secret is remembered for one to two days; so many per owner, and in all. */
const rotateMs = 24 * 3_600_000
const maxOfName = 200
const maxKnown = 100_000

export type AuthThrottle = ReturnType<typeof createAuthThrottle>

/**
 * Limits failed authentication per client prefix before any lookup; recently issued or valid secrets bypass it. Each
 * process counts for itself. The seed keeps clients from finding secrets with the same hash.
 */
export function createAuthThrottle(clock: Clock, seed: string) {
  const prefixes = createTokenBuckets(mistakes, clock)
  const seedNumber = Bun.hash(seed)
  const printOf = (secret: string): number | bigint => Bun.hash(secret, seedNumber)
  let known = new Set<number | bigint>()
  let knownBefore = new Set<number | bigint>()
  let ofNames = new Map<string, number>()
  let rotatedAt = clock()

  function remember(print: number | bigint, name: string): void {
    if (known.has(print)) return
    if (known.size >= maxKnown || Math.abs(clock() - rotatedAt) >= rotateMs) {
      knownBefore = known
      known = new Set()
      ofNames = new Map()
      rotatedAt = clock()
    }
    const count = ofNames.get(name) ?? 0
    if (count >= maxOfName) return
    ofNames.set(name, count + 1)
    known.add(print)
  }

  return {
    /** Lets a secret that was issued just now bypass the limit. */
    expect: (secret: string, name: string): void => remember(printOf(secret), name),

    /** `secret` is looked up by `letIn`; a request without one is not limited here. */
    async letIn<Result>(
      secret: string | undefined,
      visit: { readonly from: Address | undefined; rateLimit?: RateLimitState | undefined },
      letIn: () => Promise<Result>,
      nameOf: (admitted: Result) => string,
    ): Promise<Result> {
      if (secret === undefined) return letIn()
      const print = printOf(secret)
      const isKnown = known.has(print) || knownBefore.has(print)
      const clientPrefix = visit.from && !isKnown ? clientPrefixOf(visit.from) : ''
      // Taken before the lookup and given back after it, so that concurrent guesses are limited too.
      if (!isKnown && !prefixes.take(clientPrefix)) {
        visit.rateLimit = exhausted
        throw rateLimited(exhausted)
      }
      try {
        const admitted = await letIn()
        if (!isKnown) prefixes.give(clientPrefix)
        remember(print, nameOf(admitted))
        return admitted
      } catch (error) {
        const isMistake = error instanceof Refusal && error.kind === 'unauthenticated'
        if (isMistake) [known, knownBefore].forEach((each) => each.delete(print))
        else if (!isKnown) prefixes.give(clientPrefix)
        throw error
      }
    },
  }
}
