import type { PaymentId } from '../../core/ids.ts'
import { add, type Kopecks, subtract, zero } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Once } from '../orders/index.ts'
import type { Codes } from './codes/service.ts'
import {
  cannotRefund,
  noSuchPayment,
  notPaid,
  providerUnheard,
  refundedAlready,
  refundIsSpent,
  refundUnderWay,
  refusedAtProvider,
  shareIsSpent,
} from './errors.ts'
import { type PaymentProvider, ProviderRefused, ProviderUnavailable } from './ports.ts'
import type { Referrals } from './referrals/service.ts'
import type { Payment } from './rules.ts'
import { type PaymentTold, paidWord, toTold } from './service.ts'
import type { Books } from './service-books.ts'
import type { Providers } from './service-providers.ts'
import * as store from './store.ts'
import * as refunds from './store-refunds.ts'

type RefundWish = {
  readonly amount: Kopecks | 'all'
  /** Also if the money was spent. */
  readonly intoDebt: boolean
  readonly note: string
  readonly key?: string | undefined
}

/**
 * Gives payments back, whole or in part, to the payer: at the provider, which is asked afterwards what has gone back,
 * or from hand to hand.
 */
export function createPaymentRefunds(deps: {
  db: Database
  ledger: Ledger
  providers: Providers
  books: Books
  codes: Pick<Codes, 'given'>
  referrals: Pick<Referrals, 'given'>
  once: Once
  clock: Clock
  isProduction: () => Promise<boolean>
}) {
  const { db, books, clock, isProduction } = deps

  /** A refund also takes back the bonus and the referrer's share: none of the three may have been spent. */
  async function assertNotSpent(tx: Tx, payment: Payment, given: Kopecks): Promise<void> {
    const { balance } = await deps.ledger.lock(tx, payment.customer)
    const bonus = (await deps.codes.given(tx, payment))?.amount ?? zero
    if (given + bonus > balance) throw refundIsSpent(balance, bonus)
    const share = await deps.referrals.given(tx, payment)
    if (share && share.amount > (await deps.ledger.lock(tx, share.referrer)).balance) throw shareIsSpent(share.referrer)
  }

  /** Notes a refund before the provider is asked for it. Returns the number of the step that notes it. */
  async function noteRefund(tx: Tx, id: PaymentId, wish: RefundWish): Promise<number> {
    const payment = await lockKnown(tx, id)
    const known = await refunds.refundsOf(tx, id)
    const before = goneOf(payment, known)
    const amount = wish.amount === 'all' ? subtract(payment.amount, before) : wish.amount
    const underWay = known.find((each) => each.state === 'asked')
    // Without a key, the same amount repeats the refund that has no outcome yet.
    if (wish.key === undefined && underWay?.amount === amount) return underWay.step
    assertLeft(payment, before, amount)
    if (underWay) throw refundUnderWay(underWay.amount)
    if (!wish.intoDebt) await assertNotSpent(tx, payment, amount)
    const { changes: step } = books.write(tx, payment, [{ kind: 'refund_asked', note: wish.note }])
    refunds.insertRefund(tx, { payment: id, step, amount, before, state: 'asked', tries: 0, askedAt: clock() })
    return step
  }

  /** Counts one more try, unless the refund is done. One that was refused is checked again as a new one is. */
  async function beginTry(tx: Tx, id: PaymentId, step: number, intoDebt: boolean): Promise<refunds.ProviderRefund> {
    const payment = await lockKnown(tx, id)
    const known = await refunds.refundsOf(tx, id)
    const refund = known.find((each) => each.step === step)
    if (!refund) throw new Error(`step ${step} of ${id} notes no refund`)
    if (refund.state === 'done') return refund
    // What has gone back is asked for even if this process dies.
    store.putOff(tx, id, clock())
    const tried = { ...refund, tries: refund.tries + 1 }
    if (refund.state === 'asked') {
      refunds.writeTry(tx, tried)
      return tried
    }
    const before = goneOf(payment, known)
    assertLeft(payment, before, refund.amount)
    const underWay = known.find((each) => each.state === 'asked')
    if (underWay) throw refundUnderWay(underWay.amount)
    if (!intoDebt) await assertNotSpent(tx, payment, refund.amount)
    const again = { ...tried, before, state: 'asked', askedAt: clock() } as const
    refunds.writeTry(tx, again)
    return again
  }

  /** The payment after what its provider says of it now. */
  async function settleAsSeen(connection: PaymentProvider, id: PaymentId, providerId: string, note: string) {
    const { changes: stepsBefore } = await loadKnown(db, id)
    const seen = await connection.find(providerId, 'open')
    const of = { isProduction: await isProduction(), isAsked: true, note, stepsBefore }
    return db.transact(async (tx) => {
      const locked = await lockKnown(tx, id)
      return seen ? books.settle(tx, locked, seen, of) : locked
    })
  }

  /**
   * A refund at the provider has a row, an outcome and a provider's key of its own. The total that has gone back proves
   * no single refund, because the provider may give money back by itself: a try without an answer is repeated with the
   * same provider's key. Only after the provider has forgotten the key, the total decides.
   */
  async function refundOutside(connection: PaymentProvider, id: PaymentId, wish: RefundWish): Promise<PaymentTold> {
    const { provider, providerId, amount: whole } = await loadKnown(db, id)
    const ask = connection.refund?.bind(connection)
    if (!ask || providerId === null) throw cannotRefund(provider)
    const noted = await deps.once(wish.key, toAsked(id, wish), async (tx) => ({ step: await noteRefund(tx, id, wish) }))
    const { step } = noted
    if (typeof step !== 'number') throw new Error(`a refund of ${id} was noted without its step`)
    const refund = await db.transact((tx) => beginTry(tx, id, step, wish.intoDebt))
    const { amount, tries, askedAt } = refund
    const settle = () => settleAsSeen(connection, id, providerId, wish.note)
    const isDone = () => db.transact(async (tx) => refunds.writeDone(tx, refund))
    return asking(async () => {
      if (refund.state === 'done') {
        const known = await loadKnown(db, id)
        return { ...toTold(mayHaveGone(known, refund) ? known : await settle()), replayed: true }
      }
      const replayed = tries > 1
      if (replayed && clock() >= askedAt + (connection.refundKeyMs ?? 0)) {
        const seen = await settle()
        if (mayHaveGone(seen, refund)) {
          await isDone()
          return { ...toTold(seen), replayed }
        }
      }
      try {
        await ask({ providerId, amount, isWhole: amount === whole, key: `${id}-refund-${step}` })
      } catch (error) {
        // An earlier try may have given the money back and got no answer: then this no is not its outcome.
        const isOutcome = error instanceof ProviderRefused && !(replayed && mayHaveGone(await settle(), refund))
        if (isOutcome) await db.transact(async (tx) => refunds.writeRefused(tx, refund))
        throw error
      }
      await isDone()
      return { ...toTold(await settle()), ...(replayed && { replayed }) }
    })
  }

  return async (id: PaymentId, wish: RefundWish): Promise<PaymentTold> => {
    const { connection } = await deps.providers.load((await loadKnown(db, id)).provider)
    if (connection) return refundOutside(connection, id, wish)
    const of = { isProduction: await isProduction(), isAsked: false, note: wish.note }
    return deps.once(wish.key, toAsked(id, wish), async (tx) => {
      const locked = await lockKnown(tx, id)
      const amount = wish.amount === 'all' ? subtract(locked.amount, locked.debited) : wish.amount
      assertLeft(locked, locked.debited, amount)
      if (!wish.intoDebt) await assertNotSpent(tx, locked, amount)
      const refunded = add(locked.debited, amount)
      return toTold(await books.settle(tx, locked, { ...paidWord(locked), refunded }, of))
    })
  }
}

export async function lockKnown(tx: Tx, id: PaymentId): Promise<Payment> {
  const payment = await store.lockPayment(tx, id)
  if (!payment) throw noSuchPayment()
  return payment
}

export async function loadKnown(reader: Reader, id: PaymentId): Promise<Payment> {
  const payment = await store.findAny(reader, id)
  if (!payment) throw noSuchPayment()
  return payment
}

/** What has gone back of a payment, or is to go back because its provider has agreed to it. */
function goneOf({ debited }: Payment, known: readonly refunds.ProviderRefund[]): Kopecks {
  const agreed = known.filter((each) => each.state === 'done').reduce((sum, each) => add(sum, each.amount), zero)
  return agreed > debited ? agreed : debited
}

function assertLeft(payment: Payment, gone: Kopecks, amount: Kopecks): void {
  if (payment.credited === 0n) throw notPaid()
  const left = subtract(payment.amount, gone)
  if (amount <= 0n || amount > left) throw refundedAlready(left)
}

/** Whether so much more has gone back since a refund was asked for that it may be among that. */
const mayHaveGone = ({ debited }: Payment, { before, amount }: refunds.ProviderRefund): boolean =>
  debited >= add(before, amount)

/** What is asked for under a key: the same once more is the same refund. */
const toAsked = (id: PaymentId, { amount, intoDebt, note }: RefundWish) => ({
  refund_payment: id,
  amount: amount === 'all' ? 'all' : String(amount),
  into_debt: intoDebt,
  note,
})

/** What a provider would not do, or did not answer to, is told to the operator who asked. */
export async function asking<Result>(
  work: () => Promise<Result>,
  as = { refused: refusedAtProvider, unheard: providerUnheard },
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProviderRefused) throw Object.assign(as.refused(), { cause: error })
    if (error instanceof ProviderUnavailable) throw Object.assign(as.unheard(), { cause: error })
    throw error
  }
}
