import type { DatabaseProblem } from '../core/messages/en.ts'
import { Refusal } from '../core/refusal.ts'

/**
 * A database that cannot be used now: the operator's trouble, which ends, and no bug. Says nothing of the money on
 * purpose: what broke during the commit leaves it open whether the commit happened. The customer's Idempotency-Key
 * settles it.
 */
export function unavailable(problem: DatabaseProblem, cause: unknown): Refusal {
  const refusal = new Refusal('database_unavailable', { problem })
  refusal.cause = cause
  return refusal
}
