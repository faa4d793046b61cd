import { malformed, Refusal } from '../../core/refusal.ts'

/** What goes with a customer, as it is told. */
export type LostDetails = {
  readonly balance_rub: number
  readonly proxies: number
  readonly vpn_subscriptions: number
  readonly traffic_bytes: number
  readonly open_payments: number
}

/** Nobody is erased by mistake: whoever wants it sees first what is lost with it. */
export const notConfirmed = (lost: LostDetails): Refusal =>
  new Refusal(
    'erasure_not_confirmed',
    {
      balance_rub: lost.balance_rub,
      proxies: lost.proxies,
      vpn_subscriptions: lost.vpn_subscriptions,
      traffic_bytes: lost.traffic_bytes,
    },
    lost,
  )

export const paymentsOpen = (lost: LostDetails): Refusal =>
  new Refusal('erasure_with_open_payments', { open_payments: lost.open_payments }, lost)

export const historyDiffers = (checkpoint: number): Refusal => new Refusal('history_differs', { checkpoint })

export const badCursor = (): Refusal =>
  malformed([{ field: 'cursor', problem: 'must be a next_cursor that this export has answered with' }])
