import { malformed, Refusal } from '../../kernel/refusal.ts'

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
    'conflict',
    'conflict',
    `This cannot be undone, and takes with it: ${lost.balance_rub} RUB, proxies: ${lost.proxies}, ` +
      `VPN subscriptions: ${lost.vpn_subscriptions}, bytes of traffic: ${lost.traffic_bytes}. Say that it is meant.`,
    lost,
  )

export const paymentsOpen = (lost: LostDetails): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `Payments under way: ${lost.open_payments}. Their money would be nobody's. Wait until they are over.`,
    lost,
  )

export const historyDiffers = (checkpoint: number): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `The history of checkpoint ${checkpoint} is not what it was made over, so it is not blanked. ` +
      'Run "turnpike verify"; what is left is erased once that is clean.',
  )

export const badCursor = (): Refusal =>
  malformed([{ field: 'cursor', problem: 'must be a next_cursor that this export has answered with' }])
