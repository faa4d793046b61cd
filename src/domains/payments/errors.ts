import { type Kopecks, toRoubles, toRoubleText } from '../../core/money.ts'
import { malformed, Refusal } from '../../core/refusal.ts'

export const unknownMethod = (allowed: readonly string[]): Refusal =>
  malformed([
    {
      field: 'method',
      problem:
        allowed.length === 0
          ? 'nothing can be paid here yet; ask the seller'
          : `must be one of ${allowed.join(', ')}, as GET /payments/methods lists them`,
      allowed,
    },
  ])

export const wrongAmount = (min: Kopecks, max: Kopecks): Refusal =>
  malformed([
    { field: 'amount_rub', problem: `must be from ${toRoubleText(min)} to ${toRoubleText(max)} by this method` },
  ])

export const tooLittleForThat = (least: Kopecks): Refusal =>
  malformed([
    {
      field: 'amount_rub',
      problem: `must be at least ${toRoubleText(least)}, so that it pays for what is to be bought`,
    },
  ])

export const noSuchProvider = (known: readonly string[]): Refusal => new Refusal('provider_not_found', { known })

export const providerNotSet = (name: string): Refusal => new Refusal('provider_not_configured', { name })

export const badSetting = (field: 'settings' | 'secret' | 'methods', problem: string): Refusal =>
  new Refusal('setting_invalid', { problem }, [{ field, problem }])

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
  unknown: 'is not a code of this shop',
  over: 'is over',
  'used up': 'was used as often as it may be',
  'used before': 'was used by you already',
  'too little': 'adds to larger top-ups only',
} as const

export const codeRefused = (why: keyof typeof codeProblems, least?: Kopecks): Refusal => {
  const from = why === 'too little' && least !== undefined && least > 0n ? `, from ${toRoubleText(least)} RUB on` : ''
  return malformed([{ field: 'code', problem: `${codeProblems[why]}${from}` }])
}

export const notForSale = (products: readonly string[]): Refusal =>
  malformed([{ field: 'then.product', problem: `must be one of ${products.join(', ')}`, allowed: products }])
