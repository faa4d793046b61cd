import type { PaymentId } from '../../core/ids.ts'
import { add, type Kopecks, subtract, toRoubles, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Replayed } from '../orders/index.ts'
import { givenBonus } from './codes.ts'
import { callProvider, isProduction, loadKnown, lockKnown, type PaymentDeps, paidStatus } from './deps.ts'
import { type PaymentProvider, ProviderRefused } from './ports.ts'
import { givenShare } from './referrals.ts'
import type { Payment, ProviderRefund } from './rules.ts'
import { settle, writeSteps } from './settle.ts'
import * as store from './store.ts'

type RefundInput = {
  readonly amount: Kopecks | 'all'
  /** Also if the money was spent. */
  readonly intoDebt: boolean
  readonly note: string
  readonly key?: string | undefined
  /** The caller rolls the transaction back; the provider is not asked. */
  readonly isDryRun?: boolean
}

/** A payment after an operator's action. */
export type PaymentOutcome = ReturnType<typeof toOutcome> & Replayed

export const toOutcome = (payment: Payment) => ({
  payment_id: payment.id,
  customer: payment.customer,
  status: payment.state,
  amount_rub: toRoubles(payment.amount),
  refunded_rub: toRoubles(payment.debited),
})

/** Refunds a payment, whole or in part: at its provider, or by hand where there is none to ask. */
export async function refund(deps: PaymentDeps, id: PaymentId, input: RefundInput): Promise<PaymentOutcome> {
  const { connection } = await deps.providers.load((await loadKnown(deps.db, id)).provider)
  if (connection) return (input.isDryRun ? tryAtProvider : refundAtProvider)(deps, connection, id, input)
  const of = { isProduction: await isProduction(deps), isPollable: false, note: input.note }
  return deps.once(input.key, toKeyed(id, input), async (tx) => {
    const locked = await lockKnown(tx, id)
    const amount = input.amount === 'all' ? subtract(locked.amount, locked.debited) : input.amount
    assertLeft(locked, locked.debited, amount)
    if (!input.intoDebt) await assertNotSpent(deps, tx, locked, amount)
    const refunded = add(locked.debited, amount)
    return toOutcome(await settle(deps, tx, locked, { ...paidStatus(locked), refunded }, of))
  })
}

/**
 * A refund at the provider has a row, an outcome and an idempotency key of its own. The provider may give money back by
 * itself, so the total that has gone back proves no single refund: a try without an answer is repeated with the same
 * key. The total decides only after the provider has forgotten the key.
 */
async function refundAtProvider(deps: PaymentDeps, connection: PaymentProvider, id: PaymentId, input: RefundInput) {
  const { db, clock } = deps
  const { ask, providerId, whole } = await loadRefundable(deps, connection, id)
  const { step } = await deps.once(input.key, toKeyed(id, input), async (tx) => ({
    step: await noteRefund(deps, tx, id, input),
  }))
  if (typeof step !== 'number') throw new Error(`a refund of ${id} was noted without its step`)
  const noted = await db.transact((tx) => beginTry(deps, tx, id, step, input.intoDebt))
  const { amount, tries, requestedAt } = noted
  const settleNow = () => settleAsSeen(deps, connection, id, providerId, input.note)
  const markDone = () => db.transact(async (tx) => store.writeDone(tx, noted))
  const work = async () => {
    if (noted.state === 'done') {
      const known = await loadKnown(db, id)
      return { ...toOutcome(mayHaveGone(known, noted) ? known : await settleNow()), replayed: true }
    }
    const replayed = tries > 1
    if (replayed && clock() >= requestedAt + (connection.refundKeyMs ?? 0)) {
      const seen = await settleNow()
      if (mayHaveGone(seen, noted)) {
        await markDone()
        return { ...toOutcome(seen), replayed }
      }
    }
    try {
      await ask({ providerId, amount, isWhole: amount === whole, key: `${id}-refund-${step}` })
    } catch (error) {
      // An earlier try may have succeeded without an answer; then this refusal is not the outcome.
      const isOutcome = error instanceof ProviderRefused && !(replayed && mayHaveGone(await settleNow(), noted))
      if (isOutcome) await db.transact(async (tx) => store.writeRefused(tx, noted))
      throw error
    }
    await markDone()
    return { ...toOutcome(await settleNow()), ...(replayed && { replayed }) }
  }
  return callProvider(work, {
    refused: () => new Refusal('refund_refused_by_provider'),
    unavailable: () => new Refusal('refund_without_answer'),
  })
}

async function loadRefundable({ db }: PaymentDeps, connection: PaymentProvider, id: PaymentId) {
  const { provider, providerId, amount: whole } = await loadKnown(db, id)
  const ask = connection.refund?.bind(connection)
  if (!ask || providerId === null) throw new Refusal('provider_cannot_refund', { provider })
  return { ask, providerId, whole }
}

/** What a refund at the provider would give back, by the checks of the refund itself. */
async function tryAtProvider(deps: PaymentDeps, connection: PaymentProvider, id: PaymentId, input: RefundInput) {
  await loadRefundable(deps, connection, id)
  return deps.db.transact(async (tx) => {
    const step = await noteRefund(deps, tx, id, input)
    const noted = (await store.refundsOf(tx, id)).find((each) => each.step === step)
    const payment = await lockKnown(tx, id)
    const refunded = noted ? add(noted.before, noted.amount) : payment.debited
    return { ...toOutcome(payment), refunded_rub: toRoubles(refunded) }
  })
}

/** A refund also debits the bonus and the referrer's share: none of the three may have been spent. */
async function assertNotSpent({ ledger }: PaymentDeps, tx: Tx, payment: Payment, given: Kopecks): Promise<void> {
  const { balance } = await ledger.lock(tx, payment.customer)
  const bonus = (await givenBonus(tx, payment))?.amount ?? zero
  if (given + bonus > balance) {
    const facts = { balance_rub: toRoubles(balance) }
    throw new Refusal('refund_is_spent', { ...facts, bonus_rub: toRoubles(bonus) }, facts)
  }
  const share = await givenShare(tx, payment)
  if (!share || share.amount <= (await ledger.lock(tx, share.referrer)).balance) return
  throw new Refusal('referral_share_spent', { referrer: share.referrer }, { referrer_id: share.referrer })
}

/** Notes a refund before the provider is asked for it. Returns the number of the step that notes it. */
async function noteRefund(deps: PaymentDeps, tx: Tx, id: PaymentId, input: RefundInput): Promise<number> {
  const payment = await lockKnown(tx, id)
  const known = await store.refundsOf(tx, id)
  const before = goneOf(payment, known)
  const amount = input.amount === 'all' ? subtract(payment.amount, before) : input.amount
  const underWay = known.find((each) => each.state === 'requested')
  // Without a key, the same amount repeats the refund that has no outcome yet.
  if (input.key === undefined && underWay?.amount === amount) return underWay.step
  assertLeft(payment, before, amount)
  assertNoneUnderWay(underWay)
  if (!input.intoDebt) await assertNotSpent(deps, tx, payment, amount)
  const { changes: step } = writeSteps(deps, tx, payment, [{ kind: 'refund_requested', note: input.note }])
  store.insertRefund(tx, { payment: id, step, amount, before, state: 'requested', tries: 0, requestedAt: deps.clock() })
  return step
}

/** Counts one more try, unless the refund is done. A refused one is checked again like a new one. */
async function beginTry(deps: PaymentDeps, tx: Tx, id: PaymentId, step: number, intoDebt: boolean) {
  const payment = await lockKnown(tx, id)
  const known = await store.refundsOf(tx, id)
  const noted = known.find((each) => each.step === step)
  if (!noted) throw new Error(`step ${step} of ${id} notes no refund`)
  if (noted.state === 'done') return noted
  // The provider is polled even if this process dies.
  store.setAskAt(tx, id, deps.clock())
  const tried = { ...noted, tries: noted.tries + 1 }
  if (noted.state === 'requested') {
    store.writeTry(tx, tried)
    return tried
  }
  const before = goneOf(payment, known)
  assertLeft(payment, before, noted.amount)
  assertNoneUnderWay(known.find((each) => each.state === 'requested'))
  if (!intoDebt) await assertNotSpent(deps, tx, payment, noted.amount)
  const again = { ...tried, before, state: 'requested', requestedAt: deps.clock() } as const
  store.writeTry(tx, again)
  return again
}

/** The payment after the provider's current status is settled. */
async function settleAsSeen(
  deps: PaymentDeps,
  connection: PaymentProvider,
  id: PaymentId,
  providerId: string,
  note: string,
): Promise<Payment> {
  const { changes: stepsBefore } = await loadKnown(deps.db, id)
  const seen = await connection.find(providerId, 'open')
  const of = { isProduction: await isProduction(deps), isPollable: true, note, stepsBefore }
  return deps.db.transact(async (tx) => {
    const locked = await lockKnown(tx, id)
    return seen ? settle(deps, tx, locked, seen, of) : locked
  })
}

/** What has gone back of a payment, or is to go back because its provider has agreed to it. */
function goneOf({ debited }: Payment, known: readonly ProviderRefund[]): Kopecks {
  const agreed = known.filter((each) => each.state === 'done').reduce((sum, each) => add(sum, each.amount), zero)
  return agreed > debited ? agreed : debited
}

function assertLeft(payment: Payment, gone: Kopecks, amount: Kopecks): void {
  if (payment.credited === 0n) throw new Refusal('payment_not_credited')
  const left = subtract(payment.amount, gone)
  const facts = { left_rub: toRoubles(left) }
  if (amount <= 0n || amount > left) throw new Refusal('refund_exceeds_payment', facts, facts)
}

/** While a refund has no outcome, it is not known what is left of the payment. */
function assertNoneUnderWay(underWay: ProviderRefund | undefined): void {
  if (!underWay) return
  const facts = { amount_rub: toRoubles(underWay.amount) }
  throw new Refusal('refund_under_way', facts, facts)
}

/** Whether enough has gone back since a refund was asked for that it may be part of it. */
const mayHaveGone = ({ debited }: Payment, { before, amount }: ProviderRefund): boolean =>
  debited >= add(before, amount)

/** The request that is compared when its key is used again. */
const toKeyed = (id: PaymentId, { amount, intoDebt, note }: RefundInput) => ({
  refund_payment: id,
  amount: amount === 'all' ? 'all' : String(amount),
  into_debt: intoDebt,
  note,
})
