import type { CustomerId, NoticeId, OrderId, PaymentId, TokenId } from '../../core/ids.ts'
import { add, divideUp, type Kopecks } from '../../core/money.ts'

/** `new` is written down here and not yet known to be at the provider; customers see it as pending. */
export type PaymentState = 'new' | 'pending' | 'paid' | 'expired' | 'cancelled' | 'refunded'

/** One top-up as it stands. */
export type Payment = {
  readonly id: PaymentId
  readonly customer: CustomerId
  readonly token: TokenId | null
  readonly key: string | null
  readonly request: Uint8Array
  readonly provider: string
  readonly method: string
  /** What goes to the balance. */
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
  /** How many changes there are: the number of the last one. */
  readonly changes: number
  readonly createdAt: number
  readonly expiresAt: number
  /** When the provider is asked again; null for never. */
  readonly askAt: number | null
  /** A code that adds to it, and how much. */
  readonly code: string | null
  readonly bonus: Kopecks
  /** What is bought with it as soon as it is paid. */
  readonly purchase: AwaitedPurchase | null
}

/**
 * A purchase that waits for its payment: at the price that was shown, which the price list of that moment gives again.
 * It `lapsed` if the payment did not come in time; then the money stays on the balance.
 */
export type AwaitedPurchase = {
  readonly product: string
  readonly wish: string
  readonly price: Kopecks
  readonly catalogue: number
  readonly state: 'waiting' | 'bought' | 'refused' | 'lapsed'
  readonly order: OrderId | null
  /** Why it was refused. */
  readonly problem: string | null
}

export type ChangeKind =
  | 'opened'
  | 'sent'
  | 'credited'
  | 'expired'
  | 'cancelled'
  | 'refund_asked'
  | 'debited'
  | 'bonus'
  | 'bonus_back'
  | 'share'
  | 'share_back'

/** One step of a payment. `posting` is the movement of money that it made, `total` what was taken back by then. */
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

/** Why something that a provider says is no payment's. */
export type NoticeReason = 'unknown' | 'not_at_provider' | 'amount' | 'currency' | 'test' | 'twice' | 'excess'

export const reasonMeanings: Readonly<Record<NoticeReason, string>> = {
  unknown: 'paid at the provider, and there is no such payment here, or its customer was erased',
  not_at_provider: 'the provider was asked, and has no such payment',
  amount: 'another amount was paid than was asked for',
  currency: 'it was paid in another currency',
  test: 'paid in a test shop, where no money moves',
  twice: 'paid a second time for a payment that was credited',
  excess: 'more was given back than was credited',
}

/** Of what no payment explains, what somebody may have paid: it can be credited to a customer. */
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

/** What the payer is asked for. */
export const toPay = (payment: Pick<Payment, 'amount' | 'fee'>): Kopecks => add(payment.amount, payment.fee)

/** A fee in hundredths of a percent, a fraction of a kopeck going up. */
export const feeOf = (amount: Kopecks, hundredths: number): Kopecks => divideUp(amount * BigInt(hundredths), 10_000n)

export const isOpen = (state: PaymentState): boolean => state === 'new' || state === 'pending'

/** Which states a step may follow. What comes late, after its time or after a no, is credited all the same. */
const mayFollow: Readonly<Record<ChangeKind, readonly (PaymentState | undefined)[]>> = {
  opened: [undefined],
  sent: ['new'],
  credited: ['new', 'pending', 'expired', 'cancelled'],
  expired: ['new', 'pending'],
  cancelled: ['new', 'pending'],
  refund_asked: ['paid'],
  debited: ['paid'],
  bonus: ['paid'],
  bonus_back: ['paid', 'refunded'],
  share: ['paid'],
  share_back: ['paid', 'refunded'],
}

const leadsTo: Readonly<Record<ChangeKind, readonly PaymentState[]>> = {
  opened: ['new'],
  sent: ['pending'],
  credited: ['paid'],
  expired: ['expired'],
  cancelled: ['cancelled'],
  refund_asked: ['paid'],
  debited: ['paid', 'refunded'],
  bonus: ['paid'],
  bonus_back: ['paid', 'refunded'],
  share: ['paid'],
  share_back: ['paid', 'refunded'],
}

/** A bonus or a share that goes back follows the payment, and changes nothing about it. */
const follows = (kind: ChangeKind): boolean => kind === 'bonus_back' || kind === 'share_back'

export const isStep = (before: PaymentState | undefined, kind: ChangeKind, after: PaymentState): boolean =>
  mayFollow[kind].includes(before) && leadsTo[kind].includes(after) && (!follows(kind) || before === after)

/** What a provider says of a payment, as far as it decides anything. */
export type Said = {
  readonly providerId: string
  readonly state: 'pending' | 'paid' | 'expired' | 'cancelled'
  readonly amount: Kopecks
  readonly currency: string
  readonly isTest: boolean
  readonly refunded: Kopecks
}

/** What follows from it. `debitTo` is how much is to have been taken back in all. */
export type Decision = {
  readonly notices: readonly NoticeReason[]
  readonly credit: boolean
  readonly debitTo: Kopecks | null
  readonly close: 'expired' | 'cancelled' | null
}

/** What is so whatever the provider says. */
type Surroundings = {
  readonly isProduction: boolean
  /** The customer was erased: what was not credited before is credited to no one. */
  readonly isErased: boolean
}

const nothing: Decision = { notices: [], credit: false, debitTo: null, close: null }

/**
 * What the books have to say after what the provider says now. It depends on nothing but the two, so that any number of
 * repetitions in any order end the same.
 */
export function decide(payment: Payment, said: Said, shop: Surroundings): Decision {
  const isOurs = payment.providerId === null || payment.providerId === said.providerId
  const isCredited = payment.credited > 0n
  if (said.state === 'pending') return nothing
  if (said.state !== 'paid') {
    if (!isOurs) return nothing
    if (isCredited) return { ...nothing, debitTo: furtherBack(payment, payment.amount) }
    return isOpen(payment.state) ? { ...nothing, close: said.state } : nothing
  }
  const mismatch = findMismatch(payment, said, shop)
  if (mismatch) return { ...nothing, notices: [mismatch, ...noticesOfBack(said)] }
  const back = said.refunded < payment.amount ? said.refunded : payment.amount
  return {
    notices: said.refunded > said.amount ? ['excess'] : [],
    credit: !isCredited,
    debitTo: furtherBack(payment, back),
    close: null,
  }
}

/** The total to debit up to; null if that much was debited before. */
const furtherBack = (payment: Payment, back: Kopecks): Kopecks | null => (back > payment.debited ? back : null)

function findMismatch(payment: Payment, said: Said, shop: Surroundings): NoticeReason | undefined {
  if (said.isTest && shop.isProduction) return 'test'
  if (said.currency !== 'RUB') return 'currency'
  if (said.amount !== toPay(payment)) return 'amount'
  if (shop.isErased && payment.credited === 0n) return 'unknown'
  const isOurs = payment.providerId === null || payment.providerId === said.providerId
  return payment.credited > 0n && !isOurs ? 'twice' : undefined
}

/** What was never credited by a payment may have been by the operator's hand: that it has gone back is his to hear. */
export const noticesOfBack = (said: Pick<Said, 'refunded'>): readonly NoticeReason[] =>
  said.refunded > 0n ? ['excess'] : []

/** How long whoever has taken a payment to ask for keeps it from others. */
export const askingMs = 120_000

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/**
 * When a provider is asked again of itself, for whatever it forgets to tell: soon and then less and less while a
 * payment is open, for a week after it expired, for money that comes late, twice after the provider cancelled it, and
 * three times after it was paid, for money that went back.
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

/** How late a payment may be heard of and still count as in time: a provider's own word may take a while. */
const graceMs = 15 * minuteMs
/** How long the price of a purchase is held at most, whatever the time to pay is. */
export const heldMs = 3 * dayMs
/** How long a purchase that was paid for in time is tried: less than its key is kept. */
const triedMs = 3 * dayMs

/** What becomes of a purchase that waits, when its payment has taken these steps. */
export function purchaseAfter(payment: Payment, kinds: readonly ChangeKind[], nowMs: number): AwaitedPurchase | null {
  const { purchase } = payment
  if (purchase?.state !== 'waiting') return purchase
  const isOver = kinds.includes('expired') || kinds.includes('cancelled')
  const heldUntil = Math.min(payment.expiresAt, payment.createdAt + heldMs)
  const isLate = kinds.includes('credited') && nowMs > heldUntil + graceMs
  return isOver || isLate ? { ...purchase, state: 'lapsed' } : purchase
}

const [firstRetryMs, longestRetryMs] = [15_000, 30 * minuteMs]

/** Exponential backoff: how long a purchase waits after it was tried once more than so many times. */
export const retryMs = (tries: number): number => Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(tries, 20))

/** Whether it is still tried to buy what was paid for at that moment. */
export const isStillTried = (paidAt: number, nowMs: number): boolean => nowMs < paidAt + triedMs

/** A step that a payment takes, but for what is known only when it is written. */
export type Step = Pick<PaymentChange, 'kind' | 'note'> & {
  readonly amount?: Kopecks
  readonly total?: Kopecks
  readonly posting?: number
}

/** The payment after a step, and the row that tells of it. A step that may not be is a fault of ours. */
export function takeStep(
  payment: Payment,
  step: Step,
  nowMs: number,
): { readonly payment: Payment; readonly change: PaymentChange } {
  const after = { ...payment, ...changedBy(payment, step), changes: payment.changes + 1 }
  if (!isStep(payment.state, step.kind, after.state)) {
    throw new Error(`a payment that is ${payment.state} cannot be ${step.kind}`)
  }
  return {
    payment: after,
    change: {
      payment: payment.id,
      number: after.changes,
      kind: step.kind,
      state: after.state,
      amount: step.amount ?? (0n as Kopecks),
      total: step.total ?? null,
      posting: step.posting ?? null,
      at: nowMs,
      note: step.note,
    },
  }
}

function changedBy(payment: Payment, { kind, total }: Step): Partial<Payment> {
  if (kind === 'sent') return { state: 'pending' }
  if (kind === 'credited') return { state: 'paid', credited: payment.amount }
  if (kind === 'expired' || kind === 'cancelled') return { state: kind }
  if (kind !== 'debited' || total === undefined) return {}
  return { debited: total, state: total === payment.amount ? 'refunded' : 'paid' }
}
