import type { DatabaseProblem } from '../core/messages/en.ts'
import { Refusal } from '../core/refusal.ts'

/**
 * The database cannot be used now. Says nothing of money: a failed commit may have happened, and the Idempotency-Key
 * settles that.
 */
export function unavailable(problem: DatabaseProblem, cause: unknown): Refusal {
  const refusal = new Refusal('database_unavailable', { problem })
  refusal.cause = cause
  return refusal
}
