import type { CustomerId } from '../core/ids.ts'
import { KeyedSemaphore } from '../core/keyed-semaphore.ts'
import type { Clock } from '../core/time.ts'
import type { OpenTokenBuckets } from '../core/token-buckets.ts'
import { type AuthThrottle, createAuthThrottle } from './auth-throttle.ts'
import { BulkTurns } from './bulk-turns.ts'
import { type ChangeBudget, createChangeBudget } from './change-budget.ts'
import { createRateLimit, type RateLimit } from './rate.ts'
import type { TimerClock } from './timing.ts'

/** Requests of one customer that wait for a permit; more are refused with 503. */
const maxWaiting = 1000

export type Limits = {
  readonly reads: RateLimit
  readonly charges: RateLimit
  readonly changes: ChangeBudget
  readonly authThrottle: AuthThrottle
  /** Ordinary requests that run, by customer or operator. */
  readonly semaphore: KeyedSemaphore
  readonly bulk: BulkTurns
  /** Runs work that may read from a standby of the database. */
  readonly onStandby: OnStandby
}

type OnStandby = <Result>(work: () => Promise<Result>) => Promise<Result>

export type LimitDeps = {
  readonly readsPerMinute: number
  readonly chargesPerMinute: number
  /** Rows that one customer may change without a charge; no limit by default. */
  readonly changesPerHour?: number
  /** Whether the customer has ever had money. All have, by default. */
  readonly isFunded?: (customer: CustomerId) => Promise<boolean>
  /** Bulk requests of different customers that run at the same time; one by default. */
  readonly maxBulk?: number
  /** The real timers by default; tests pass their own. */
  readonly timing?: TimerClock
  /** Token buckets that all shops on one database share; each shop has its own by default. */
  readonly buckets?: OpenTokenBuckets
  readonly clock: Clock
  readonly requestId: () => string
  /** Nothing is read from a standby by default. */
  readonly onStandby?: OnStandby
}

export function createLimits(deps: LimitDeps): Limits {
  return {
    reads: createLimit(deps, deps.readsPerMinute, 'reads'),
    charges: createLimit(deps, deps.chargesPerMinute, 'charges'),
    changes: createChangeBudget(deps.changesPerHour ?? 0, deps.clock, deps.buckets, deps.isFunded),
    authThrottle: createAuthThrottle(deps.clock, deps.requestId()),
    // Fewer permits than the database's connections.
    semaphore: new KeyedSemaphore(8, maxWaiting),
    bulk: new BulkTurns(deps.maxBulk ?? 1, deps.timing),
    onStandby: deps.onStandby ?? ((work) => work()),
  }
}

/** Requests per minute of one token or session, and five times as many of all of a customer together. */
function createLimit(deps: Pick<LimitDeps, 'clock' | 'buckets'>, perMinute: number, purpose: string): RateLimit {
  const ofName = createRateLimit(perMinute, deps.clock, purpose, deps.buckets)
  const ofCustomer = createRateLimit(perMinute * 5, deps.clock, `${purpose} of a customer`, deps.buckets)
  return async (name, customer) => {
    const own = await ofName(name)
    if (customer === undefined || !own || own.retryAfterSeconds) return own
    const ofAll = await ofCustomer(customer)
    return ofAll?.retryAfterSeconds ? ofAll : own
  }
}
