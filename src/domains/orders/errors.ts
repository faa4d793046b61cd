import { Refusal } from '../../core/refusal.ts'

/** The key has bought another order, which the refusal names. */
export function keyReused(order: string | null): Refusal {
  return new Refusal(
    'idempotency_key_reused',
    { order },
    { charged: false, ...(order !== null && { order_id: order }) },
  )
}

export const requestInProgress = (): Refusal => new Refusal('request_in_progress', {}, null, 1)

export const noSuchOrder = (): Refusal => new Refusal('order_not_found')
