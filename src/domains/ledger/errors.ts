import { type Kopecks, negate, toRoubles, toRoubleText } from '../../kernel/money.ts'
import { Refusal } from '../../kernel/refusal.ts'

export function insufficientFunds(required: Kopecks, balance: Kopecks): Refusal {
  const facts = { required_rub: toRoubles(required), balance_rub: toRoubles(balance), charged: false }
  const cost = `This costs ${toRoubleText(required)} RUB`
  if (balance >= 0n) {
    const message = `${cost} and the balance is ${toRoubleText(balance)} RUB. Top up and try again.`
    return new Refusal('unpaid', 'insufficient_funds', message, facts)
  }
  const debt = negate(balance)
  return new Refusal(
    'unpaid',
    'insufficient_funds',
    `${cost}, and you owe ${toRoubleText(debt)} RUB: a payment was taken back after its money was spent. ` +
      'Nothing can be bought before that is paid. Top up and try again.',
    { ...facts, debt_rub: toRoubles(debt) },
  )
}

/** To an operator: what he takes back is not there any more. */
export const balanceTooSmall = (amount: Kopecks, balance: Kopecks): Refusal =>
  new Refusal(
    'unpaid',
    'insufficient_funds',
    `The customer’s balance is ${toRoubleText(balance)} RUB, so ${toRoubleText(amount)} RUB cannot be taken from it.`,
    { required_rub: toRoubles(amount), balance_rub: toRoubles(balance), charged: false },
  )

export const capReached = (cap: Kopecks, spent: Kopecks): Refusal =>
  new Refusal(
    'forbidden',
    'forbidden',
    `This token may spend ${toRoubleText(cap)} RUB in all and has spent ${toRoubleText(spent)} RUB. Use another token.`,
    { cap_rub: toRoubles(cap), spent_rub: toRoubles(spent), charged: false },
  )

export const balanceTooLarge = (): Refusal =>
  new Refusal('conflict', 'conflict', 'The balance would be larger than the ledger holds.', { charged: false })

export const noAccount = (): Refusal => new Refusal('missing', 'not_found', 'There is no such customer.')

export const erasedCustomer = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'This customer was erased: nobody has this balance any more. No money was moved.',
    {
      charged: false,
    },
  )

export const nothingToRefund = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such charge to refund.', { charged: false })

export const alreadyRefunded = (given: Kopecks): Refusal =>
  new Refusal('conflict', 'conflict', `This charge has been refunded already: ${toRoubleText(given)} RUB.`, {
    refunded_rub: toRoubles(given),
    charged: false,
  })

export const keyMovedOther = (customer: string, seq: number): Refusal =>
  new Refusal(
    'conflict',
    'idempotency_key_reused',
    `This key has moved something else: it is transaction ${seq} of ${customer}. Take another key.`,
    { customer, transaction: seq, charged: false },
  )

export const refundTooLarge = (left: Kopecks): Refusal =>
  new Refusal('conflict', 'conflict', `A refund is at most what is left of the charge: ${toRoubleText(left)} RUB.`, {
    left_rub: toRoubles(left),
    charged: false,
  })
