import type { CustomerId, NoticeId, OrderId, PaymentId, TokenId } from '../../core/ids.ts'
import { add, divideUp, type Kopecks, kopecks, zero } from '../../core/money.ts'
import { isReason, type Refusal } from '../../core/refusal.ts'
import { readPlain, textIn, valueIn } from '../orders/rules.ts'

/** `new` is not yet known to be open at the provider; customers see it as pending. */
export const paymentStates = ['new', 'pending', 'paid', 'expired', 'cancelled', 'refunded'] as const
export type PaymentState = (typeof paymentStates)[number]

/** One top-up. */
export type Payment = {
  readonly id: PaymentId
  readonly customer: CustomerId
  readonly token: TokenId | null
  readonly key: string | null
  readonly request: Uint8Array
  readonly provider: string
  readonly method: string
  /** The amount that is credited. */
  readonly amount: Kopecks
  /** What the payer pays on top. */
  readonly fee: Kopecks
  readonly returnUrl: string | null
  readonly state: PaymentState
  readonly providerId: string | null
  readonly payUrl: string | null
  readonly qr: string | null
  readonly credited: Kopecks
  readonly debited: Kopecks
  /** The number of the last step. */
  readonly changes: number
  readonly createdAt: number
  readonly expiresAt: number
  /** When the provider is asked again; null for never. */
  readonly askAt: number | null
  /** A code that adds `bonus` to the amount. */
  readonly code: string | null
  readonly bonus: Kopecks
  readonly purchase: AwaitedPurchase | null
}

export const purchaseStates = ['waiting', 'bought', 'refused', 'lapsed'] as const

/**
 * A purchase that waits for its payment, at the price of the price list `catalogue`. It `lapsed` if the payment came
 * too late; then the money stays on the balance.
 */
export type AwaitedPurchase = {
  readonly product: string
  readonly input: string
  readonly price: Kopecks
  readonly catalogue: number
  readonly state: (typeof purchaseStates)[number]
  readonly order: OrderId | null
  readonly problem: PurchaseProblem | null
}

/** Why a purchase was refused, without its sentence, which each reader gets in a language of its own. */
export type PurchaseProblem = Pick<Refusal, 'reason' | 'params'>

/** A stored problem. Version 0.2 stored the English sentence, which is shown as it is. */
export function readPurchaseProblem(stored: string): PurchaseProblem {
  try {
    const value = readPlain(stored)
    const [reason, params] = [textIn(value, 'reason'), valueIn(value, 'params')]
    if (isReason(reason) && typeof params === 'object' && params !== null) return { reason, params }
  } catch {
    // No JSON: a sentence.
  }
  return { reason: 'here', params: { text: stored } }
}

/** The steps of a payment: the states each may follow, and may lead to. Late money is credited all the same. */
const steps = {
  opened: { from: [undefined], to: ['new'] },
  sent: { from: ['new'], to: ['pending'] },
  credited: { from: ['new', 'pending', 'expired', 'cancelled'], to: ['paid'] },
  expired: { from: ['new', 'pending'], to: ['expired'] },
  cancelled: { from: ['new', 'pending'], to: ['cancelled'] },
  refund_requested: { from: ['paid'], to: ['paid'] },
  debited: { from: ['paid'], to: ['paid', 'refunded'] },
  bonus: { from: ['paid'], to: ['paid'] },
  bonus_back: { from: ['paid', 'refunded'], to: ['paid', 'refunded'] },
  share: { from: ['paid'], to: ['paid'] },
  share_back: { from: ['paid', 'refunded'], to: ['paid', 'refunded'] },
} as const

export type ChangeKind = keyof typeof steps
export const changeKinds = Object.keys(steps) as ChangeKind[]

/** One step of a payment. `posting` is the ledger posting that it made, `total` the sum of chargebacks by then. */
export type PaymentChange = {
  readonly payment: PaymentId
  readonly number: number
  readonly kind: ChangeKind
  readonly state: PaymentState
  readonly amount: Kopecks
  readonly total: Kopecks | null
  readonly posting: number | null
  readonly at: number
  readonly note: string
}

/** Why a provider's report matches no payment. */
export const reasonMeanings = {
  unknown: 'paid at the provider; the shop has no such payment, or its customer was erased',
  not_at_provider: 'the provider has no such payment',
  amount: 'the paid amount differs from the requested one',
  currency: 'paid in another currency',
  test: 'paid in a test shop, without real money',
  twice: 'an already credited payment was paid again',
  excess: 'more was refunded than was credited',
} as const

export type NoticeReason = keyof typeof reasonMeanings
export const noticeReasons = Object.keys(reasonMeanings) as NoticeReason[]

/** Whether a notice may be about money that was paid, so that it can be credited to a customer. */
export const isMoney = (reason: NoticeReason): boolean =>
  reason === 'unknown' || reason === 'amount' || reason === 'twice'

export type Notice = {
  readonly id: NoticeId
  readonly provider: string
  readonly providerId: string
  readonly reason: NoticeReason
  readonly payment: PaymentId | null
  readonly amount: Kopecks | null
  readonly currency: string | null
  readonly at: number
  readonly resolvedAt: number | null
  readonly resolution: string | null
}

export const refundStates = ['requested', 'done', 'refused'] as const

/** One refund that was asked of a provider. `asked` has no outcome yet; a payment has at most one such refund. */
export type ProviderRefund = {
  readonly payment: PaymentId
  /** The number of the payment's step that notes it. */
  readonly step: number
  readonly amount: Kopecks
  /** What had gone back of the payment, or was to go back, when it was asked for. */
  readonly before: Kopecks
  readonly state: (typeof refundStates)[number]
  /** How often the provider was asked. */
  readonly tries: number
  readonly requestedAt: number
}

export const toPay = (payment: Pick<Payment, 'amount' | 'fee'>): Kopecks => add(payment.amount, payment.fee)

/** A fee in hundredths of a percent; a fraction of a kopeck is rounded up. */
export const feeOf = (amount: Kopecks, hundredths: number): Kopecks => divideUp(amount * BigInt(hundredths), 10_000n)

export const isOpen = (state: PaymentState): boolean => state === 'new' || state === 'pending'

/** Whether a step may lead from one state to another. A returned bonus or share keeps the payment's state. */
export function isStep(before: PaymentState | undefined, kind: ChangeKind, after: PaymentState): boolean {
  const { from, to }: { from: readonly (PaymentState | undefined)[]; to: readonly PaymentState[] } = steps[kind]
  const keepsState = kind === 'bonus_back' || kind === 'share_back'
  return from.includes(before) && to.includes(after) && (!keepsState || before === after)
}

/** What a provider says of a payment, as far as the books depend on it. */
export type ProviderStatus = {
  readonly providerId: string
  readonly state: 'pending' | 'paid' | 'expired' | 'cancelled'
  readonly amount: Kopecks
  readonly currency: string
  readonly isTest: boolean
  readonly refunded: Kopecks
  readonly payUrl?: string | null
}

/** What follows from a status. `debitTo` is the total that is to have been debited. */
type Decision = {
  readonly notices: readonly NoticeReason[]
  readonly credit: boolean
  readonly debitTo: Kopecks | null
  readonly close: 'expired' | 'cancelled' | null
}

/** Nothing that was not credited before an erasure is credited after it, nor what an operator credited by hand. */
type ShopFacts = { readonly isProduction: boolean; readonly isErased: boolean; readonly isCreditedByHand: boolean }

const nothing: Decision = { notices: [], credit: false, debitTo: null, close: null }

/** A function of the payment and the provider's status only: repeated and reordered reports end the same. */
export function decide(payment: Payment, status: ProviderStatus, shop: ShopFacts): Decision {
  const isOurs = payment.providerId === null || payment.providerId === status.providerId
  const isCredited = payment.credited > 0n
  if (status.state === 'pending') return nothing
  if (status.state !== 'paid') {
    if (!isOurs) return nothing
    if (isCredited) return { ...nothing, debitTo: furtherBack(payment, payment.amount) }
    return isOpen(payment.state) ? { ...nothing, close: status.state } : nothing
  }
  const mismatch = findMismatch(payment, status, shop, isOurs)
  if (mismatch) return { ...nothing, notices: [mismatch, ...noticesOfBack(status)] }
  const back = status.refunded < payment.amount ? status.refunded : payment.amount
  return {
    notices: status.refunded > status.amount ? ['excess'] : [],
    credit: !isCredited,
    debitTo: furtherBack(payment, back),
    close: null,
  }
}

/** The total to debit up to; null if that much was debited before. */
const furtherBack = (payment: Payment, back: Kopecks): Kopecks | null => (back > payment.debited ? back : null)

function findMismatch(payment: Payment, status: ProviderStatus, shop: ShopFacts, isOurs: boolean) {
  if (status.isTest && shop.isProduction) return 'test'
  if (status.currency !== 'RUB') return 'currency'
  if (status.amount !== toPay(payment)) return 'amount'
  if (shop.isErased && payment.credited === 0n) return 'unknown'
  return shop.isCreditedByHand || (payment.credited > 0n && !isOurs) ? 'twice' : undefined
}

/** The operator may have credited by hand what no payment credited, so its refund is a notice. */
export const noticesOfBack = (status: Pick<ProviderStatus, 'refunded'>): readonly NoticeReason[] =>
  status.refunded > 0n ? ['excess'] : []

/** How long a process that took a payment to ask about keeps it from others. */
export const askingMs = 120_000

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/**
 * When the provider is polled next: ever less often while a payment is open, for a week after it expired, twice after
 * the provider cancelled it, and three times after it was paid, for chargebacks.
 */
export function nextAskAt(payment: Pick<Payment, 'state' | 'createdAt' | 'expiresAt'>, nowMs: number): number | null {
  const age = nowMs - payment.createdAt
  if (isOpen(payment.state)) {
    const soon = nowMs + Math.min(10 * minuteMs, Math.max(15_000, Math.floor(age / 4)))
    return nowMs < payment.expiresAt ? Math.min(soon, payment.expiresAt) : soon
  }
  if (payment.state === 'refunded') return null
  const isOver = payment.state === 'cancelled'
  if (isOver || payment.state === 'paid') {
    if (age < dayMs) return nowMs + dayMs
    if (age < 8 * dayMs) return nowMs + 7 * dayMs
    return isOver || age >= 40 * dayMs ? null : nowMs + 30 * dayMs
  }
  const over = nowMs - payment.expiresAt
  if (over < hourMs) return nowMs + 10 * minuteMs
  return over < dayMs ? nowMs + 3 * hourMs : over < 7 * dayMs ? nowMs + dayMs : null
}

/** How late the news of a payment may come and the payment still counts as in time. */
const graceMs = 15 * minuteMs
/** How long the price of a purchase is held at most. */
export const heldMs = 3 * dayMs
/** How long a purchase that was paid for in time is tried: less than its key is kept. */
export const triedMs = 3 * dayMs

/** The purchase after its payment has taken these steps. */
export function purchaseAfter(payment: Payment, kinds: readonly ChangeKind[], nowMs: number): AwaitedPurchase | null {
  const { purchase } = payment
  if (purchase?.state !== 'waiting') return purchase
  const isOver = kinds.includes('expired') || kinds.includes('cancelled')
  const heldUntil = Math.min(payment.expiresAt, payment.createdAt + heldMs)
  const isLate = kinds.includes('credited') && nowMs > heldUntil + graceMs
  return isOver || isLate ? { ...purchase, state: 'lapsed' } : purchase
}

/** Exponential backoff from 15 s to 30 min: the wait after this many earlier tries. */
export const retryMs = (tries: number): number => Math.min(30 * minuteMs, 15_000 * 2 ** Math.min(tries, 20))

/** A step that a payment takes, without the fields that are known when it is written. */
export type PaymentStep = Pick<PaymentChange, 'kind' | 'note'> &
  Partial<{ readonly amount: Kopecks; readonly total: Kopecks; readonly posting: number }>

/** The payment after a step, and the step's row. Throws for a step that may not follow. */
export function takeStep(payment: Payment, step: PaymentStep, nowMs: number) {
  const after: Payment = { ...payment, ...changedBy(payment, step), changes: payment.changes + 1 }
  if (!isStep(payment.state, step.kind, after.state)) {
    throw new Error(`a payment that is ${payment.state} cannot be ${step.kind}`)
  }
  return { payment: after, change: toChange(after, step, nowMs) }
}

/** The row of the step that a payment has just taken. */
export function toChange({ id, changes, state }: Payment, step: PaymentStep, at: number): PaymentChange {
  return { amount: zero, total: null, posting: null, ...step, payment: id, number: changes, state, at }
}

function changedBy(payment: Payment, { kind, total }: PaymentStep): Partial<Payment> {
  if (kind === 'sent') return { state: 'pending' }
  if (kind === 'credited') return { state: 'paid', credited: payment.amount }
  if (kind === 'expired' || kind === 'cancelled') return { state: kind }
  if (kind !== 'debited' || total === undefined) return {}
  return { debited: total, state: total === payment.amount ? 'refunded' : 'paid' }
}

export const codeKinds = ['amount', 'percent'] as const

/** A promo code: it adds an amount, or a part in hundredths of a percent, to a top-up. */
export type PromoCode = {
  readonly code: string
  readonly kind: (typeof codeKinds)[number]
  readonly value: bigint
  /** The smallest top-up that it adds to. */
  readonly least: Kopecks
  /** How often all customers use it together; null without a limit. Each customer uses it once. */
  readonly uses: number | null
  readonly untilAt: number | null
  readonly createdAt: number
  readonly endedAt: number | null
  readonly note: string
}

/** Codes are read in any case. */
export const readCode = (text: string): string | undefined =>
  /^[A-Za-z0-9_-]{3,40}$/.test(text) ? text.toUpperCase() : undefined

/** What a code adds to an amount, rounded down to a kopeck. */
export const bonusOf = ({ kind, value }: Pick<PromoCode, 'kind' | 'value'>, amount: Kopecks): Kopecks =>
  kopecks(kind === 'amount' ? value : (amount * value) / 10_000n)

/** Why a code adds nothing now; undefined if it does. */
export function whyNot(
  code: PromoCode,
  now: { readonly amount: Kopecks; readonly used: number; readonly usedByCustomer: number; readonly nowMs: number },
): 'over' | 'used up' | 'used before' | 'too little' | undefined {
  if (code.endedAt !== null || (code.untilAt !== null && code.untilAt <= now.nowMs)) return 'over'
  if (now.usedByCustomer > 0) return 'used before'
  if (code.uses !== null && now.used >= code.uses) return 'used up'
  return now.amount < code.least || bonusOf(code, now.amount) === 0n ? 'too little' : undefined
}

/** The referrer's share, in hundredths of a percent of a customer's first `topUps` top-ups. */
export type ReferralTerms = { readonly hundredths: number; readonly topUps: number }
