import { fieldProblem } from '../../core/messages/problems.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import { malformed, Refusal, refuseField } from '../../core/refusal.ts'

export const unknownMethod = (allowed: readonly string[]): Refusal =>
  allowed.length === 0
    ? malformed([{ ...fieldProblem('method', 'no_payment_method'), allowed }])
    : refuseField('method', 'one_of', { allowed })

export const wrongAmount = (min: Kopecks, max: Kopecks): Refusal =>
  refuseField('amount_rub', 'amount_by_method', { from_rub: toRoubles(min), to_rub: toRoubles(max) })

export const tooLittleForThat = (least: Kopecks): Refusal =>
  refuseField('amount_rub', 'amount_too_small', { min_rub: toRoubles(least) })

export const noSuchProvider = (known: readonly string[]): Refusal => new Refusal('provider_not_found', { known })

export const providerNotSet = (name: string): Refusal => new Refusal('provider_not_configured', { name })

export const refundedAlready = (left: Kopecks): Refusal =>
  new Refusal('refund_exceeds_payment', { left_rub: toRoubles(left) }, { left_rub: toRoubles(left) })

/** Another refund of the payment has no outcome yet, so what is left of the payment is not known. */
export const refundUnderWay = (amount: Kopecks): Refusal =>
  new Refusal('refund_under_way', { amount_rub: toRoubles(amount) }, { amount_rub: toRoubles(amount) })

export const refundIsSpent = (balance: Kopecks, bonus: Kopecks): Refusal => {
  const balanceRub = toRoubles(balance)
  const params = { balance_rub: balanceRub, bonus_rub: toRoubles(bonus) }
  return new Refusal('refund_is_spent', params, { balance_rub: balanceRub })
}

const codeProblems = {
  unknown: 'promo_code_unknown',
  over: 'promo_code_over',
  'used up': 'promo_code_used_up',
  'used before': 'promo_code_used',
  'too little': 'promo_code_larger',
} as const

export const codeRefused = (why: keyof typeof codeProblems, least?: Kopecks): Refusal =>
  why === 'too little' && least
    ? refuseField('code', 'promo_code_minimum', { min_rub: toRoubles(least) })
    : refuseField('code', codeProblems[why])

export const notForSale = (products: readonly string[]): Refusal =>
  refuseField('purchase.product', 'one_of', { allowed: products })
