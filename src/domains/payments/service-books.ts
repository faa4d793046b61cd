import { makeId, type PaymentId, type RandomBytes } from '../../core/ids.ts'
import { type Kopecks, negate, subtract, toRoubles } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Events } from '../events/index.ts'
import type { Happening } from '../events/rules.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import { tooManyNotices } from './errors.ts'
import {
  decide,
  isOpen,
  type NoticeReason,
  nextAskAt,
  type Payment,
  purchaseAfter,
  type Said,
  type Step,
  takeStep,
  toPay,
} from './rules.ts'
import * as store from './store.ts'
import * as notices from './store-operator.ts'

/** What a provider says of a payment, and where it can be paid. */
export type Word = Said & { readonly payUrl?: string | null }

/** How a word was come by. */
export type Settling = {
  readonly isProduction: boolean
  /** False where nobody outside can be asked again. */
  readonly isAsked: boolean
  readonly note: string
  /** How many steps the payment had taken when the provider was asked; without it, the word is of now. */
  readonly stepsBefore?: number
}

/**
 * A no that was said before the payment was credited says nothing about the money that came after it. Were it believed,
 * a late answer would take off what was paid.
 */
const isOutdated = (payment: Payment, said: Word, { stepsBefore }: Settling): boolean =>
  stepsBefore !== undefined &&
  stepsBefore !== payment.changes &&
  payment.credited > 0n &&
  (said.state === 'cancelled' || said.state === 'expired')

/** What else happens with the money of a payment, in its transaction. */
export type Extras = {
  /** Steps that follow a credit: a bonus, a share of whoever brought the customer. */
  credited(tx: Tx, payment: Payment): Promise<readonly Step[]>
  /** Steps that follow when any of it has gone back. */
  refunded(tx: Tx, payment: Payment): Promise<readonly Step[]>
}

/** How many things wait for the operator at most before no more are taken in. */
const mostUnresolved = 10_000

export type Books = ReturnType<typeof createBooks>

/** Turns what a provider says into what the ledger says. Each payment's steps and their money are one commit. */
export function createBooks(deps: {
  ledger: Pick<Ledger, 'lock' | 'isErased' | 'credit' | 'takeBack'>
  events: Pick<Events, 'note'>
  clock: Clock
  random: RandomBytes
  extras: Extras
}) {
  const { ledger, events, clock } = deps

  /** Writes steps and the payment after them. */
  function write(tx: Tx, before: Payment, steps: readonly Step[], also: Partial<Payment> = {}): Payment {
    const nowMs = clock()
    let payment: Payment = { ...before, ...also }
    for (const step of steps) {
      const taken = takeStep(payment, step, nowMs)
      payment = taken.payment
      store.insertChange(tx, taken.change)
    }
    payment = {
      ...payment,
      purchase: purchaseAfter(
        payment,
        steps.map((step) => step.kind),
        nowMs,
      ),
    }
    store.updatePayment(tx, payment)
    return payment
  }

  /** Keeps what no payment explains, for the operator. */
  async function keep(
    tx: Tx,
    reason: NoticeReason,
    of: { readonly provider: string; readonly payment: PaymentId | null },
    said: Pick<Said, 'providerId'> & Partial<Pick<Said, 'amount' | 'currency' | 'refunded'>>,
  ): Promise<void> {
    if ((await notices.countUnresolved(tx)) >= mostUnresolved) throw tooManyNotices()
    const nowMs = clock()
    notices.insertNotice(tx, {
      id: makeId('notice', nowMs, deps.random),
      ...of,
      providerId: said.providerId,
      reason,
      // Of what has gone back, the total; of anything else, what was paid.
      amount: (reason === 'excess' ? said.refunded : said.amount) ?? null,
      currency: said.currency ?? null,
      at: nowMs,
      resolvedAt: null,
      resolution: null,
    })
  }

  /**
   * Whether money has come for a customer who was erased. The account is locked first, so that an erasure waits or is
   * seen.
   */
  async function isErased(tx: Tx, { customer, credited }: Payment, said: Word): Promise<boolean> {
    if (said.state !== 'paid' || credited > 0n) return false
    await ledger.lock(tx, customer)
    return ledger.isErased(tx, customer)
  }

  async function credit(tx: Tx, payment: Payment, note: string): Promise<readonly Step[]> {
    const { customer, amount, provider, id } = payment
    const posting = await ledger.credit(tx, customer, amount, provider, `top-up by ${payment.method}`, id)
    await events.note(tx, [toPaid(payment, posting)])
    const credited: Step = { kind: 'credited', amount, posting: posting.seq, note }
    return [credited, ...(await deps.extras.credited(tx, payment))]
  }

  async function debit(tx: Tx, payment: Payment, total: Kopecks, note: string): Promise<readonly Step[]> {
    const { customer, provider, id } = payment
    const amount = subtract(total, payment.debited)
    const posting = await ledger.takeBack(tx, customer, amount, provider, `${payment.method} payment taken back`, id)
    await events.note(tx, [toRefunded(payment, amount, posting)])
    const debited: Step = { kind: 'debited', amount: negate(amount), total, posting: posting.seq, note }
    return [debited, ...(await deps.extras.refunded(tx, payment))]
  }

  return {
    write,
    keep,

    /**
     * What the provider says of a payment whose row is locked. The same word twice changes nothing.
     */
    async settle(tx: Tx, payment: Payment, said: Word, of: Settling): Promise<Payment> {
      if (isOutdated(payment, said, of)) return askNext(tx, payment, clock())
      const decision = decide(payment, said, { ...of, isErased: await isErased(tx, payment, said) })
      for (const reason of decision.notices) {
        await keep(tx, reason, { provider: payment.provider, payment: payment.id }, said)
      }
      const steps: Step[] = []
      if (payment.state === 'new' && said.state === 'pending') steps.push({ kind: 'sent', note: of.note })
      if (decision.credit) steps.push(...(await credit(tx, payment, of.note)))
      if (decision.close) steps.push({ kind: decision.close, note: of.note })
      if (decision.close === 'expired') await events.note(tx, [toExpired(payment)])
      const isNamed = payment.providerId === null || decision.credit
      let settled = write(tx, payment, steps, {
        ...(isNamed && decision.notices.length === 0 && { providerId: said.providerId }),
        ...(payment.payUrl === null && said.payUrl && { payUrl: said.payUrl, qr: said.payUrl }),
      })
      // After the credit is written: what came and went at once is told of in that order.
      if (decision.debitTo !== null) {
        settled = write(tx, settled, await debit(tx, settled, decision.debitTo, of.note))
      }
      return putOff(tx, settled, of.isAsked)
    },

    /** Nobody can pay it in time any more. Money that comes all the same is credited all the same. */
    async expire(tx: Tx, payment: Payment, isAsked: boolean): Promise<Payment> {
      await events.note(tx, [toExpired(payment)])
      return putOff(tx, write(tx, payment, [{ kind: 'expired', note: 'not paid in time' }]), isAsked)
    },

    putOff,
  }

  /** When it is asked for next: an open payment that nobody can be asked about is looked at when its time is over. */
  function putOff(tx: Tx, payment: Payment, isAsked: boolean): Payment {
    const ours = isOpen(payment.state) ? payment.expiresAt : null
    return askNext(tx, payment, isAsked ? nextAskAt(payment, clock()) : ours)
  }

  function askNext(tx: Tx, payment: Payment, askAt: number | null): Payment {
    store.putOff(tx, payment.id, askAt)
    return { ...payment, askAt }
  }
}

const common = (payment: Payment) => ({ customer: payment.customer, order: null, subject: payment.id })

const toPaid = (payment: Payment, posting: Posting): Happening => ({
  ...common(payment),
  type: 'payment.paid',
  data: {
    payment_id: payment.id,
    method: payment.method,
    amount_rub: toRoubles(payment.amount),
    balance_rub: toRoubles(posting.balanceAfter),
  },
})

const toExpired = (payment: Payment): Happening => ({
  ...common(payment),
  type: 'payment.expired',
  data: { payment_id: payment.id, method: payment.method, amount_rub: toRoubles(toPay(payment)) },
})

const toRefunded = (payment: Payment, amount: Kopecks, posting: Posting): Happening => ({
  ...common(payment),
  type: 'payment.refunded',
  data: {
    payment_id: payment.id,
    method: payment.method,
    amount_rub: toRoubles(amount),
    balance_rub: toRoubles(posting.balanceAfter),
  },
})
