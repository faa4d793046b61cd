import { Refusal } from '../kernel/refusal.ts'

/**
 * A database that cannot be used now: the operator's trouble, which ends, and no bug. Says nothing of the money on
 * purpose: what broke during the commit leaves it open whether the commit happened. The customer's Idempotency-Key
 * settles it.
 */
export function unavailable(problem: string, cause: unknown): Refusal {
  const refusal = new Refusal(
    'unavailable',
    'unavailable',
    `${problem} Repeat the request in a moment: with the same Idempotency-Key it has one effect at most. ` +
      'Whoever bought without one looks into his orders first.',
  )
  refusal.cause = cause
  return refusal
}
