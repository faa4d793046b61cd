import { type Kopecks, toRoubles, toRoubleText } from '../../kernel/money.ts'
import { malformed, Refusal, tooMany } from '../../kernel/refusal.ts'

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
  new Refusal('conflict', 'conflict', `You have ${most} payments open already. Pay one, or wait until they expire.`, {
    charged: false,
  })

export const tooManyRefused = (most: number, retryAfterSeconds: number): Refusal =>
  tooMany(
    `The payment provider refused ${most} of your payments within an hour. Wait, or pay by another method.`,
    retryAfterSeconds,
  )

export const noSuchPayment = (): Refusal => new Refusal('missing', 'not_found', 'There is no such payment.')

export const paymentKeyReused = (payment: string): Refusal =>
  new Refusal(
    'mismatch',
    'idempotency_key_reused',
    `This Idempotency-Key was used for a different payment, ${payment}. ` +
      'Repeat that one exactly to get its answer again, or use a new key for a new payment.',
    { charged: false, payment_id: payment },
  )

export const paymentInProgress = (): Refusal =>
  new Refusal(
    'conflict',
    'request_in_progress',
    'A request with this Idempotency-Key is still running. Repeat it in a moment to get its answer.',
  )

/** The provider has said no. What was asked for is over, and the key is free for another try. */
export const providerRefused = (): Refusal =>
  new Refusal('supplier', 'provider_error', 'The payment provider did not accept this. Try another method or amount.', {
    charged: false,
  })

/** Nobody knows. The same key goes on with the same payment. */
export const providerSilent = (): Refusal =>
  new Refusal(
    'supplier',
    'provider_error',
    'The payment provider does not answer. Try again with the same Idempotency-Key, or with another method.',
    { charged: false },
  )

/** One answer for whatever does not prove that it comes from the provider. */
export const notTheProvider = (): Refusal =>
  new Refusal('forbidden', 'forbidden', 'This is not known to come from the provider.')

export const unreadableNotification = (): Refusal =>
  malformed([{ field: 'body', problem: 'is not a notification of this provider' }])

export const tooManyNotices = (): Refusal =>
  new Refusal('unavailable', 'unavailable', 'Too much waits for the operator already. Send it again later.')

export const noSuchProvider = (known: readonly string[]): Refusal =>
  new Refusal('missing', 'not_found', `There is no such payment provider. There are: ${known.join(', ')}.`)

export const providerNotSet = (name: string): Refusal =>
  new Refusal('missing', 'not_found', `${name} is not set up. See "turnpike payments provider set --help".`)

export const badSetting = (field: 'settings' | 'secret' | 'methods', problem: string): Refusal =>
  new Refusal('malformed', 'invalid_request', problem, [{ field, problem }])

export const notToBeMarked = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'The provider itself says whether this payment was made; it is not marked by hand.',
  )

export const notPaid = (): Refusal => new Refusal('conflict', 'conflict', 'This payment has not been credited.')

export const cannotRefund = (provider: string): Refusal =>
  new Refusal('conflict', 'conflict', `${provider} gives no money back by itself. Pay it out yourself and debit it.`)

export const refundedAlready = (left: Kopecks): Refusal =>
  new Refusal('conflict', 'conflict', `At most ${toRoubleText(left)} RUB of this payment can still be given back.`, {
    left_rub: toRoubles(left),
  })

export const refundIsSpent = (balance: Kopecks, bonus: Kopecks): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    (bonus > 0n ? `Its bonus of ${toRoubleText(bonus)} RUB goes back too. ` : '') +
      `The balance is only ${toRoubleText(balance)} RUB: the rest would be a debt. ` +
      'Say so if that is meant (--into-debt, into_debt).',
    { balance_rub: toRoubles(balance) },
  )

export const shareIsSpent = (referrer: string): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `The share of ${referrer}, who brought this customer, goes back too and is spent: it would be a debt. ` +
      'Say so if that is meant (--into-debt, into_debt).',
    { referrer_id: referrer },
  )

/** An operator asked the provider for something, and it has said no. */
export const refusedAtProvider = (): Refusal =>
  new Refusal('supplier', 'provider_error', 'The payment provider did not accept this.')

/** Nobody knows whether it was done: what has gone back is found out by asking, and never taken off twice. */
export const providerUnheard = (): Refusal =>
  new Refusal(
    'supplier',
    'provider_error',
    'The payment provider does not answer. What it has done is noted once it says so; the same can be asked again.',
  )

/** Of a comparison: nothing was asked of it, and nothing changed. */
export const booksUnheard = (provider: string): Refusal =>
  new Refusal(
    'supplier',
    'provider_error',
    `${provider} does not answer, so its list could not be compared. Try again later.`,
  )

export const booksRefused = (provider: string): Refusal =>
  new Refusal(
    'supplier',
    'provider_error',
    `${provider} does not give its list out. Look whether its secret is still right.`,
  )

export const noSuchNotice = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such notice, or it was dealt with already.')

export const nothingToCredit = (): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    'This notice names no roubles that somebody has paid. Credit the customer by itself, then resolve it.',
  )

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
  tooMany('Too many codes that are none. Wait a few minutes and try again.', retryAfterSeconds)

export const codeExists = (code: string): Refusal =>
  new Refusal('conflict', 'conflict', `There is a code ${code} already. Codes are never used for something else.`)

export const noSuchCode = (): Refusal =>
  new Refusal('missing', 'not_found', 'There is no such code, or it has ended already.')

export const broughtAlready = (): Refusal =>
  new Refusal('conflict', 'conflict', 'Somebody has brought this customer already.')

export const broughtHimself = (): Refusal => new Refusal('conflict', 'conflict', 'Nobody brings himself.')

export const cameBefore = (): Refusal =>
  new Refusal('conflict', 'conflict', 'Whoever brings a customer was a customer before.')

export const tooLittleForThat = (least: Kopecks): Refusal =>
  malformed([
    {
      field: 'amount_rub',
      problem: `must be at least ${toRoubleText(least)}, so that it pays for what is to be bought`,
    },
  ])

export const tooManyHeld = (most: number): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `${most} of your open payments hold a price already. Pay one of them, or top up first and buy then.`,
    { charged: false },
  )

export const tooMuchHeld = (most: Kopecks): Refusal =>
  new Refusal(
    'conflict',
    'conflict',
    `Your open payments may hold prices of ${toRoubleText(most)} RUB in all. Top up first and buy then.`,
    { charged: false },
  )

export const notForSale = (products: readonly string[]): Refusal =>
  malformed([{ field: 'then.product', problem: `must be one of ${products.join(', ')}`, allowed: products }])
