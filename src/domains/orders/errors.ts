import { Refusal } from '../../kernel/refusal.ts'

/** The first request under the key has had its effect, or the key would not be known: it is told which that was. */
export function keyReused(order: string | null): Refusal {
  const first = order === null ? 'which succeeded' : `which succeeded as order ${order}`
  return new Refusal(
    'mismatch',
    'idempotency_key_reused',
    `This Idempotency-Key was used for a different request, ${first}. ` +
      'Repeat that one exactly to get its answer again, or use a new key for a new purchase.',
    { charged: false, ...(order !== null && { order_id: order }) },
  )
}

export const requestInProgress = (): Refusal =>
  new Refusal(
    'conflict',
    'request_in_progress',
    'A request with this Idempotency-Key is still running. Repeat it in a moment to get its answer.',
    null,
    1,
  )

export const noSuchOrder = (): Refusal => new Refusal('missing', 'not_found', 'There is no such order.')

export const operatorKeyReused = (): Refusal =>
  new Refusal('conflict', 'conflict', 'This --key was used for something else. Use a new one for a new action.')

/** What an order has bought cannot be ended, or not so; the words say why. */
export const cannotEnd = (why: string): Refusal => new Refusal('conflict', 'conflict', why)
