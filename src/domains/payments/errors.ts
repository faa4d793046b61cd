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

export const emailWanted = (): Refusal =>
  malformed([{ field: 'email', problem: 'is required by this method, for the receipt' }])

export const tooManyOpen = (most: number): Refusal =>
  new Refusal(
    'open_payment_limit',
    { most },
    {
      charged: false,
    },
  )

export const tooManyRefused = (most: number, retryAfterSeconds: number): Refusal =>
  new Refusal('refused_payment_limit', { most }, { charged: false }, retryAfterSeconds)

export const noSuchPayment = (): Refusal => new Refusal('payment_not_found')

export const paymentKeyReused = (payment: string): Refusal =>
  new Refusal('payment_key_reused', { payment }, { charged: false, payment_id: payment })

export const paymentInProgress = (): Refusal => new Refusal('request_in_progress')

/** The provider has said no. What was asked for is over, and the key is free for another try. */
export const providerRefused = (): Refusal =>
  new Refusal(
    'provider_refused',
    {},
    {
      charged: false,
    },
  )

/** The provider gave no answer, so the outcome is unknown. A retry under the same key continues the same payment. */
export const providerSilent = (): Refusal => new Refusal('provider_silent', {}, { charged: false })

/** One answer for whatever does not prove that it comes from the provider. */
export const notTheProvider = (): Refusal => new Refusal('notification_not_authentic')

export const unreadableNotification = (): Refusal =>
  malformed([{ field: 'body', problem: 'is not a notification of this provider' }])

export const tooManyNotices = (): Refusal => new Refusal('notice_limit')

export const noSuchProvider = (known: readonly string[]): Refusal => new Refusal('provider_not_found', { known })

export const providerNotSet = (name: string): Refusal => new Refusal('provider_not_configured', { name })

export const badSetting = (field: 'settings' | 'secret' | 'methods', problem: string): Refusal =>
  new Refusal('setting_invalid', { problem }, [{ field, problem }])

export const notToBeMarked = (): Refusal => new Refusal('payment_not_manual')

export const notPaid = (): Refusal => new Refusal('payment_not_credited')

export const cannotRefund = (provider: string): Refusal => new Refusal('provider_cannot_refund', { provider })

export const refundedAlready = (left: Kopecks): Refusal =>
  new Refusal(
    'refund_exceeds_payment',
    { left_rub: toRoubles(left) },
    {
      left_rub: toRoubles(left),
    },
  )

/** Another refund of the payment has no outcome yet, so what is left of the payment is not known. */
export const refundUnderWay = (amount: Kopecks): Refusal =>
  new Refusal('refund_under_way', { amount_rub: toRoubles(amount) }, { amount_rub: toRoubles(amount) })

export const refundIsSpent = (balance: Kopecks, bonus: Kopecks): Refusal => {
  const balanceRub = toRoubles(balance)
  const params = { balance_rub: balanceRub, bonus_rub: toRoubles(bonus) }
  return new Refusal('refund_is_spent', params, { balance_rub: balanceRub })
}

export const shareIsSpent = (referrer: string): Refusal =>
  new Refusal('referral_share_spent', { referrer }, { referrer_id: referrer })

/** An operator asked the provider for something, and it has said no. */
export const refusedAtProvider = (): Refusal => new Refusal('refund_refused_by_provider')

/** Nobody knows whether it was done: what has gone back is found out by asking, and never taken off twice. */
export const providerUnheard = (): Refusal => new Refusal('refund_without_answer')

/** Of a comparison: nothing was asked of it, and nothing changed. */
export const booksUnheard = (provider: string): Refusal => new Refusal('provider_list_unavailable', { provider })

export const booksRefused = (provider: string): Refusal => new Refusal('provider_list_refused', { provider })

export const noSuchNotice = (): Refusal => new Refusal('notice_not_found')

export const nothingToCredit = (): Refusal => new Refusal('notice_without_amount')

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

export const tooManyCodes = (retryAfterSeconds: number): Refusal =>
  new Refusal('promo_code_attempts', {}, { charged: false }, retryAfterSeconds)

export const codeExists = (code: string): Refusal => new Refusal('promo_code_exists', { code })

export const noSuchCode = (): Refusal => new Refusal('code_not_found')

export const broughtAlready = (): Refusal => new Refusal('referrer_already_set')

export const broughtHimself = (): Refusal => new Refusal('referrer_is_customer')

export const cameBefore = (): Refusal => new Refusal('referrer_is_newer')

export const tooLittleForThat = (least: Kopecks): Refusal =>
  malformed([
    {
      field: 'amount_rub',
      problem: `must be at least ${toRoubleText(least)}, so that it pays for what is to be bought`,
    },
  ])

export const tooManyHeld = (most: number): Refusal => new Refusal('held_price_limit', { most }, { charged: false })

export const tooMuchHeld = (most: Kopecks): Refusal =>
  new Refusal('held_amount_limit', { most_rub: toRoubles(most) }, { charged: false })

export const notForSale = (products: readonly string[]): Refusal =>
  malformed([{ field: 'then.product', problem: `must be one of ${products.join(', ')}`, allowed: products }])
