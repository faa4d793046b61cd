import { makeId, type PaymentId } from '../../core/ids.ts'
import { type Kopecks, negate, subtract, toRoubles } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import type { DomainEvent } from '../events/rules.ts'
import { giveBonus, returnBonus } from './codes.ts'
import { noteIfLow, type PaymentDeps } from './deps.ts'
import { giveShare, returnShare } from './referrals.ts'
import {
  decide,
  isOpen,
  type NoticeReason,
  nextAskAt,
  type Payment,
  type PaymentStep,
  type ProviderStatus,
  purchaseAfter,
  takeStep,
  toPay,
} from './rules.ts'
import * as store from './store.ts'

/** Where a status comes from. */
type Settling = {
  readonly isProduction: boolean
  /** False where no provider can be asked again. */
  readonly isPollable: boolean
  readonly note: string
  /** How many steps the payment had taken when the provider was asked; without it, the status is current. */
  readonly stepsBefore?: number
}

/** Past this many unresolved notices, no more are written. */
const maxUnresolved = 10_000

/** A cancellation from before the credit is ignored: it would debit money that was paid after it. */
const isOutdated = (payment: Payment, status: ProviderStatus, { stepsBefore }: Settling): boolean =>
  stepsBefore !== undefined &&
  stepsBefore !== payment.changes &&
  payment.credited > 0n &&
  (status.state === 'cancelled' || status.state === 'expired')

/** Writes steps and the payment after them. */
export function writeSteps(
  { clock }: PaymentDeps,
  tx: Tx,
  before: Payment,
  steps: readonly PaymentStep[],
  also: Partial<Payment> = {},
): Payment {
  const nowMs = clock()
  let payment: Payment = { ...before, ...also }
  for (const step of steps) {
    const taken = takeStep(payment, step, nowMs)
    payment = taken.payment
    store.insertChange(tx, taken.change)
  }
  const kinds = steps.map((step) => step.kind)
  payment = { ...payment, purchase: purchaseAfter(payment, kinds, nowMs) }
  store.updatePayment(tx, payment)
  return payment
}

/** Keeps a report that no payment explains, for the operator. */
export async function keepNotice(
  { clock, random }: PaymentDeps,
  tx: Tx,
  reason: NoticeReason,
  of: { readonly provider: string; readonly payment: PaymentId | null },
  status: Pick<ProviderStatus, 'providerId'> & Partial<Pick<ProviderStatus, 'amount' | 'currency' | 'refunded'>>,
): Promise<void> {
  if ((await store.countUnresolved(tx)) >= maxUnresolved) throw new Refusal('notice_limit')
  const nowMs = clock()
  store.insertNotice(tx, {
    id: makeId('notice', nowMs, random),
    ...of,
    providerId: status.providerId,
    reason,
    amount: (reason === 'excess' ? status.refunded : status.amount) ?? null,
    currency: status.currency ?? null,
    at: nowMs,
    resolvedAt: null,
    resolution: null,
  })
}

/**
 * Whether money has come for an erased customer, or was credited by hand under the payment's id. The account is locked
 * first, so a running erasure or credit is awaited.
 */
async function customerFacts({ ledger }: PaymentDeps, tx: Tx, payment: Payment, status: ProviderStatus) {
  if (status.state !== 'paid' || payment.credited > 0n) return { isErased: false, isCreditedByHand: false }
  await ledger.lock(tx, payment.customer)
  return {
    isErased: await ledger.isErased(tx, payment.customer),
    isCreditedByHand: (await ledger.findByKey(tx, payment.id)) !== undefined,
  }
}

async function credit(deps: PaymentDeps, tx: Tx, payment: Payment, note: string): Promise<readonly PaymentStep[]> {
  const { customer, amount, provider, id, method } = payment
  const posting = await deps.ledger.creditPayment(tx, customer, amount, provider, `top-up by ${method}`, id)
  await deps.events.note(tx, [toEvent('payment.paid', payment, amount, posting.balanceAfter)])
  const credited: PaymentStep = { kind: 'credited', amount, posting: posting.seq, note }
  return [credited, ...(await giveBonus(deps, tx, payment)), ...(await giveShare(deps, tx, payment))]
}

/** Debits a chargeback or a refund, up to `total` for the payment. */
async function debit(deps: PaymentDeps, tx: Tx, payment: Payment, total: Kopecks, note: string) {
  const { customer, provider, id, method } = payment
  const amount = subtract(total, payment.debited)
  const posting = await deps.ledger.chargeback(tx, customer, amount, provider, `${method} payment taken back`, id)
  await deps.events.note(tx, [toEvent('payment.refunded', payment, amount, posting.balanceAfter)])
  await noteIfLow(deps, tx, posting)
  const debited: PaymentStep = { kind: 'debited', amount: negate(amount), total, posting: posting.seq, note }
  return [debited, ...(await returnBonus(deps, tx, payment)), ...(await returnShare(deps, tx, payment))]
}

/** Applies a provider's status to a payment whose row is locked. The same status twice changes nothing. */
export async function settle(deps: PaymentDeps, tx: Tx, payment: Payment, status: ProviderStatus, of: Settling) {
  if (isOutdated(payment, status, of)) return setNextPoll(tx, payment, deps.clock())
  const decision = decide(payment, status, { ...of, ...(await customerFacts(deps, tx, payment, status)) })
  for (const reason of decision.notices) {
    await keepNotice(deps, tx, reason, { provider: payment.provider, payment: payment.id }, status)
  }
  const steps: PaymentStep[] = []
  if (payment.state === 'new' && status.state === 'pending') steps.push({ kind: 'sent', note: of.note })
  if (decision.credit) steps.push(...(await credit(deps, tx, payment, of.note)))
  if (decision.close) steps.push({ kind: decision.close, note: of.note })
  if (decision.close === 'expired') await deps.events.note(tx, [toEvent('payment.expired', payment, toPay(payment))])
  const isNamed = payment.providerId === null || decision.credit
  let settled = writeSteps(deps, tx, payment, steps, {
    ...(isNamed && decision.notices.length === 0 && { providerId: status.providerId }),
    ...(payment.payUrl === null && status.payUrl && { payUrl: status.payUrl, qr: status.payUrl }),
  })
  // After the credit is written, so that the steps of money that came and went at once are in that order.
  if (decision.debitTo !== null) {
    settled = writeSteps(deps, tx, settled, await debit(deps, tx, settled, decision.debitTo, of.note))
  }
  return scheduleNextPoll(deps, tx, settled, of.isPollable)
}

/** Closes a payment whose time to pay is over. Money that comes later is credited all the same. */
export async function expire(deps: PaymentDeps, tx: Tx, payment: Payment, isPollable: boolean): Promise<Payment> {
  await deps.events.note(tx, [toEvent('payment.expired', payment, toPay(payment))])
  const expired = writeSteps(deps, tx, payment, [{ kind: 'expired', note: 'not paid in time' }])
  return scheduleNextPoll(deps, tx, expired, isPollable)
}

/** Schedules the next poll. An open payment that no provider can be asked about is looked at when it expires. */
export function scheduleNextPoll({ clock }: PaymentDeps, tx: Tx, payment: Payment, isPollable: boolean): Payment {
  const ours = isOpen(payment.state) ? payment.expiresAt : null
  return setNextPoll(tx, payment, isPollable ? nextAskAt(payment, clock()) : ours)
}

function setNextPoll(tx: Tx, payment: Payment, askAt: number | null): Payment {
  store.setAskAt(tx, payment.id, askAt)
  return { ...payment, askAt }
}

const toEvent = (type: DomainEvent['type'], payment: Payment, amount: Kopecks, balance?: Kopecks): DomainEvent => ({
  customer: payment.customer,
  order: null,
  subject: payment.id,
  type,
  data: {
    payment_id: payment.id,
    method: payment.method,
    amount_rub: toRoubles(amount),
    ...(balance !== undefined && { balance_rub: toRoubles(balance) }),
  },
})
