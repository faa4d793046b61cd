import type { Address } from '../core/address.ts'
import { householdOf } from '../core/household.ts'
import { Refusal } from '../core/refusal.ts'
import type { Clock } from '../core/time.ts'
import { createTokenBuckets, type TokenBucketRate } from '../core/token-buckets.ts'
import { rateLimited } from './answers.ts'
import type { RateStanding } from './rate.ts'

/** What one household may show that opens nothing: so much at once, and so much a second from then on. */
const mistakes: TokenBucketRate = { perSecond: 5, burst: 300 }
const usedUp: RateStanding = { limit: 300, remaining: 0, resetSeconds: 60, retryAfterSeconds: 1 }
/** What has opened something is known for one to two days after; so much of one name, and in all. */
const turnMs = 24 * 3_600_000
const mostOfName = 200
const mostKnown = 100_000

type Visit = { readonly from: Address | undefined; standing?: RateStanding | undefined }

export type Strangers = ReturnType<typeof createStrangers>

/**
 * Turns away whoever guesses at tokens and sessions, before anything is looked up for him. What was given out or has
 * opened something lately is looked up all the same, so that nobody is shut out by a stranger behind the same address.
 * Each process counts for itself: it is its own work that it saves. The seed keeps others from finding texts with the
 * same print.
 */
export function createStrangers(clock: Clock, seed: string) {
  const households = createTokenBuckets(mistakes, clock)
  const seedNumber = Bun.hash(seed)
  const printOf = (secret: string): number | bigint => Bun.hash(secret, seedNumber)
  let known = new Set<number | bigint>()
  let knownBefore = new Set<number | bigint>()
  let ofNames = new Map<string, number>()
  let turnedAt = clock()

  function remember(print: number | bigint, name: string): void {
    if (known.has(print)) return
    if (known.size >= mostKnown || Math.abs(clock() - turnedAt) >= turnMs) {
      knownBefore = known
      known = new Set()
      ofNames = new Map()
      turnedAt = clock()
    }
    const count = ofNames.get(name) ?? 0
    if (count >= mostOfName) return
    ofNames.set(name, count + 1)
    known.add(print)
  }

  return {
    /** Whoever was given this by us just now is no stranger when he shows it. */
    expect: (secret: string, name: string): void => remember(printOf(secret), name),

    /** `secret` is what will be looked up; whoever shows nothing guesses at nothing. */
    async letIn<Result>(
      secret: string | undefined,
      visit: Visit,
      letIn: () => Promise<Result>,
      nameOf: (admitted: Result) => string,
    ): Promise<Result> {
      if (secret === undefined) return letIn()
      const print = printOf(secret)
      const isKnown = known.has(print) || knownBefore.has(print)
      const household = visit.from && !isKnown ? householdOf(visit.from) : ''
      // Taken before the look-up and given back after it: however many guess at once, so many are looked up.
      if (!isKnown && !households.take(household)) {
        visit.standing = usedUp
        throw rateLimited(usedUp)
      }
      try {
        const admitted = await letIn()
        if (!isKnown) households.give(household)
        remember(print, nameOf(admitted))
        return admitted
      } catch (error) {
        const isMistake = error instanceof Refusal && error.kind === 'unauthenticated'
        if (isMistake) [known, knownBefore].forEach((each) => each.delete(print))
        else if (!isKnown) households.give(household)
        throw error
      }
    },
  }
}
