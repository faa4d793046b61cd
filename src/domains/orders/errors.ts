import { Refusal } from '../../kernel/refusal.ts'

export const keyReused = (): Refusal =>
  new Refusal(
    'mismatch',
    'idempotency_key_reused',
    'This Idempotency-Key was used for a different request. Use a new key for a new purchase.',
    { charged: false },
  )

export const requestInProgress = (): Refusal =>
  new Refusal(
    'conflict',
    'request_in_progress',
    'A request with this Idempotency-Key is still running. Repeat it in a moment to get its answer.',
  )

export const noSuchOrder = (): Refusal => new Refusal('missing', 'not_found', 'There is no such order.')
