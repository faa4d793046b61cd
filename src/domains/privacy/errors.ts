import { toRoubles } from '../../kernel/money.ts'
import { Refusal } from '../../kernel/refusal.ts'
import type { Lost } from './rules.ts'

export const noSuchCustomer = (): Refusal => new Refusal('missing', 'not_found', 'There is no such customer.')

const detailsOf = (lost: Lost) => ({
  balance_rub: toRoubles(lost.balance),
  proxies: lost.proxies,
  vpn_subscriptions: lost.subscriptions,
  traffic_bytes: Number(lost.trafficBytes),
  open_payments: lost.openPayments,
})

/** Nobody is erased by mistake: whoever wants it sees first what is lost with it. */
export const notConfirmed = (lost: Lost): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `This cannot be undone, and takes with it ${toRoubles(lost.balance)} RUB, ${lost.proxies} proxies, ` +
      `${lost.subscriptions} VPN subscriptions and ${lost.trafficBytes} bytes of traffic. Say that it is meant.`,
    detailsOf(lost),
  )

export const paymentsOpen = (lost: Lost): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `${lost.openPayments} payments are under way, whose money would be nobody's. Wait until they are over.`,
    detailsOf(lost),
  )

export const historyDiffers = (checkpoint: number): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `The history of checkpoint ${checkpoint} is not what it was made over, so it is not blanked. ` +
      'Run "turnpike verify"; what is left is erased once that is clean.',
  )

export const badCursor = (): Refusal =>
  new Refusal('malformed', 'invalid_request', 'The cursor is not one that was handed out.')
