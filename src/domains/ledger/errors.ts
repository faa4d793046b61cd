import { type Kopecks, negate, toRoubles } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'

export function insufficientFunds(required: Kopecks, balance: Kopecks): Refusal {
  const facts = { required_rub: toRoubles(required), balance_rub: toRoubles(balance) }
  if (balance >= 0n) return new Refusal('insufficient_funds', facts, { ...facts, charged: false })
  const debt = { debt_rub: toRoubles(negate(balance)) }
  const params = { required_rub: facts.required_rub, ...debt }
  return new Refusal('insufficient_funds_with_debt', params, { ...facts, charged: false, ...debt })
}

/** Refuses an operator's debit above the balance. */
export const balanceTooSmall = (amount: Kopecks, balance: Kopecks): Refusal =>
  new Refusal(
    'balance_too_small',
    { balance_rub: toRoubles(balance), amount_rub: toRoubles(amount) },
    { required_rub: toRoubles(amount), balance_rub: toRoubles(balance), charged: false },
  )

export const capReached = (cap: Kopecks, spent: Kopecks): Refusal =>
  new Refusal(
    'spending_cap_reached',
    { cap_rub: toRoubles(cap), spent_rub: toRoubles(spent) },
    { cap_rub: toRoubles(cap), spent_rub: toRoubles(spent), charged: false },
  )

export const noAccount = (): Refusal => new Refusal('customer_not_found')

export const erasedCustomer = (): Refusal => new Refusal('customer_erased', {}, { charged: false })

export const alreadyRefunded = (given: Kopecks): Refusal =>
  new Refusal(
    'charge_already_refunded',
    { given_rub: toRoubles(given) },
    { refunded_rub: toRoubles(given), charged: false },
  )

export const keyMovedOther = (customer: string, seq: number): Refusal =>
  new Refusal('operator_key_of_other_transaction', { seq, customer }, { customer, transaction: seq, charged: false })

export const refundTooLarge = (left: Kopecks): Refusal =>
  new Refusal('refund_too_large', { left_rub: toRoubles(left) }, { left_rub: toRoubles(left), charged: false })
