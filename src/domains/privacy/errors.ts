import { Refusal, refuseField } from '../../core/refusal.ts'

/** What an erasure would destroy, as the API shows it. */
export type LostDetails = {
  readonly balance_rub: number
  readonly proxies: number
  readonly vpn_subscriptions: number
  readonly traffic_bytes: number
  readonly open_payments: number
}

export function notConfirmed(lost: LostDetails): Refusal {
  const { open_payments: _, ...params } = lost
  return new Refusal('erasure_not_confirmed', params, lost)
}

export const paymentsOpen = (lost: LostDetails): Refusal =>
  new Refusal('erasure_with_open_payments', { open_payments: lost.open_payments }, lost)

export const historyDiffers = (checkpoint: number): Refusal => new Refusal('history_differs', { checkpoint })

export const badCursor = (): Refusal => refuseField('cursor', 'cursor')
