import type { Database, Tx } from '../../db/transaction.ts'
import type { CustomerId, NoticeId, PaymentId } from '../../kernel/ids.ts'
import { add, type Kopecks, kopecks, subtract, toRoubles, toRoubleText, zero } from '../../kernel/money.ts'
import { pagesOf } from '../../kernel/pages.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Customers } from '../customers/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Once, Told } from '../orders/index.ts'
import type { Codes } from './codes/service.ts'
import {
  booksRefused,
  booksUnheard,
  cannotRefund,
  noSuchNotice,
  noSuchPayment,
  nothingToCredit,
  notPaid,
  notToBeMarked,
  providerUnheard,
  refundedAlready,
  refundIsSpent,
  refusedAtProvider,
  shareIsSpent,
} from './errors.ts'
import { type PaymentProvider, ProviderRefused, ProviderUnavailable, type Seen } from './ports.ts'
import type { Referrals } from './referrals/service.ts'
import { isMoney, type Notice, type Payment, type PaymentChange, toPay } from './rules.ts'
import { paidWord, toTold } from './service.ts'
import type { Books } from './service-books.ts'
import type { Providers } from './service-providers.ts'
import type { Purchases } from './service-purchases.ts'
import * as store from './store.ts'
import * as notices from './store-operator.ts'

const page = 200

export type PaymentOperator = ReturnType<typeof createPaymentOperator>

/** Something that the provider's books and ours say differently. */
export type Difference = {
  readonly payment: string | null
  readonly providerId: string | null
  readonly problem: string
}

export type RefundWish = {
  readonly amount: Kopecks | 'all'
  /** Also if the money was spent. */
  readonly intoDebt: boolean
  readonly note: string
  readonly key?: string | undefined
}

/** What an operator does about payments. */
export function createPaymentOperator(deps: {
  db: Database
  ledger: Ledger
  customers: Pick<Customers, 'mode'>
  providers: Providers
  books: Books
  codes: Pick<Codes, 'given'>
  referrals: Pick<Referrals, 'given'>
  purchases: Pick<Purchases, 'carryOut'>
  once: Once
  clock: Clock
}) {
  const { db, providers, books, clock } = deps

  async function lockKnown(tx: Tx, id: PaymentId): Promise<Payment> {
    const payment = await store.lockPayment(tx, id)
    if (!payment) throw noSuchPayment()
    return payment
  }

  async function loadKnown(id: PaymentId): Promise<Payment> {
    const payment = await store.findAny(db, id)
    if (!payment) throw noSuchPayment()
    return payment
  }

  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) !== 'sandbox'

  /** A refund takes the bonus and the share of whoever brought the customer along: none of it may have been spent. */
  async function assertNotSpent(tx: Tx, payment: Payment, given: Kopecks, balance: Kopecks): Promise<void> {
    const bonus = (await deps.codes.given(tx, payment))?.amount ?? zero
    if (given + bonus > balance) throw refundIsSpent(balance, bonus)
    const share = await deps.referrals.given(tx, payment)
    if (share && share.amount > (await deps.ledger.lock(tx, share.referrer)).balance) throw shareIsSpent(share.referrer)
  }

  /** How much of a payment is to have gone back after one more refund, if that is possible. */
  async function afterRefund(tx: Tx, payment: Payment, { amount, intoDebt }: RefundWish): Promise<Kopecks> {
    if (payment.credited === 0n) throw notPaid()
    const left = subtract(payment.amount, payment.debited)
    const given = amount === 'all' ? left : amount
    if (given <= 0n || given > left) throw refundedAlready(left)
    const { balance } = await deps.ledger.lock(tx, payment.customer)
    if (!intoDebt) await assertNotSpent(tx, payment, given, balance)
    return add(payment.debited, given)
  }

  /** The payment after what its provider says of it now. */
  async function settleAsSeen(connection: PaymentProvider, id: PaymentId, providerId: string, note: string) {
    const { changes: stepsBefore } = await loadKnown(id)
    const seen = await connection.find(providerId, 'open')
    const of = { isProduction: await isProduction(), isAsked: true, note, stepsBefore }
    return db.transact(async (tx) => {
      const locked = await lockKnown(tx, id)
      return seen ? books.settle(tx, locked, seen, of) : locked
    })
  }

  /**
   * A refund that somebody outside makes: noted first, so that what has gone back is asked for should this process die.
   * Asked for again under its key, it goes on where it was left, and the provider knows it by a key of its own.
   */
  async function refundOutside(connection: PaymentProvider, id: PaymentId, wish: RefundWish): Promise<Told> {
    const { provider, providerId, amount: whole } = await loadKnown(id)
    const refund = connection.refund?.bind(connection)
    if (!refund || providerId === null) throw cannotRefund(provider)
    const noted = await deps.once(wish.key, toAsked(id, wish), async (tx) => {
      const locked = await lockKnown(tx, id)
      const total = await afterRefund(tx, locked, wish)
      books.write(tx, locked, [{ kind: 'refund_asked', note: wish.note }], { askAt: clock() })
      return { total: String(total), amount: String(subtract(total, locked.debited)) }
    })
    const [total, amount] = [readKept(noted, 'total'), readKept(noted, 'amount')]
    return asking(async () => {
      const settle = () => settleAsSeen(connection, id, providerId, wish.note)
      const replayed = noted['replayed'] === true
      const before = replayed ? await settle() : undefined
      if (before && before.debited >= total) return { ...toTold(before), replayed }
      await refund({ providerId, amount, isWhole: amount === whole, key: `${id}-${total}` })
      return { ...toTold(await settle()), ...(replayed && { replayed }) }
    })
  }

  return {
    list: (filter: Parameters<typeof store.listAll>[1]): Promise<Payment[]> => store.listAll(db, filter),

    async show(id: PaymentId): Promise<{ payment: Payment; changes: readonly PaymentChange[] }> {
      return { payment: await loadKnown(id), changes: await store.changesOf(db, id) }
    },

    /** The operator has the money in hand or on his account. Only for what nobody else can be asked about. */
    async markPaid(id: PaymentId, note: string, key: string | undefined): Promise<Told> {
      const { provider } = await loadKnown(id)
      if ((await providers.load(provider)).kind.connect) throw notToBeMarked()
      const of = { isProduction: await isProduction(), isAsked: false, note }
      const told = await deps.once(key, { mark_paid: id }, async (tx) => {
        const payment = await lockKnown(tx, id)
        if (payment.credited === 0n) await deps.ledger.assertNotErased(tx, payment.customer)
        return toTold(await books.settle(tx, payment, paidWord(payment), of))
      })
      await deps.purchases.carryOut(await loadKnown(id))
      return told
    },

    /**
     * Gives a payment back, whole or in part, to whoever paid: at the provider, which is asked afterwards what has gone
     * back, or from hand to hand.
     */
    async refund(id: PaymentId, wish: RefundWish): Promise<Told> {
      const { connection } = await providers.load((await loadKnown(id)).provider)
      if (connection) return refundOutside(connection, id, wish)
      const of = { isProduction: await isProduction(), isAsked: false, note: wish.note }
      return deps.once(wish.key, toAsked(id, wish), async (tx) => {
        const locked = await lockKnown(tx, id)
        const refunded = await afterRefund(tx, locked, wish)
        return toTold(await books.settle(tx, locked, { ...paidWord(locked), refunded }, of))
      })
    },

    unmatched: (withResolved: boolean, limit: number): Promise<Notice[]> =>
      notices.listNotices(db, withResolved, limit),

    /** What to do about a notice is the operator's to say; money goes to a customer in the same commit. */
    resolve: (
      id: NoticeId,
      wish: { readonly customer: CustomerId | undefined; readonly note: string },
    ): Promise<Told> =>
      db.transact(async (tx) => {
        const notice = await notices.lockUnresolved(tx, id)
        if (!notice) throw noSuchNotice()
        const { customer, note } = wish
        notices.resolveNotice(tx, id, clock(), note)
        if (customer === undefined) return { notice: id, resolved: true, credited_rub: null }
        if (notice.amount === null || notice.currency !== 'RUB' || !isMoney(notice.reason)) throw nothingToCredit()
        const { posting } = await deps.ledger.adjust(tx, customer, {
          kind: 'credit',
          amount: notice.amount,
          note,
          key: `notice ${id}`,
          reference: `${notice.provider} ${notice.providerId}`,
        })
        return { notice: id, resolved: true, customer, credited_rub: toRoubles(posting.amount) }
      }),

    /** Holds every payment of a time against its provider's own list, of one or of all, and names each difference. */
    async reconcile(
      name: string | undefined,
      fromAt: number,
      toAt: number,
    ): Promise<{ readonly compared: number; readonly differences: readonly (Difference & { provider: string })[] }> {
      const outcomes = { compared: 0, differences: [] as (Difference & { provider: string })[] }
      for (const provider of name === undefined ? await connected() : [name]) {
        const { compared, differences } = await asking(() => compare(provider, fromAt, toAt), {
          refused: () => booksRefused(provider),
          unheard: () => booksUnheard(provider),
        })
        outcomes.compared += compared
        outcomes.differences.push(...differences.map((each) => ({ ...each, provider })))
      }
      return outcomes
    },
  }

  async function connected(): Promise<string[]> {
    return (await providers.list()).filter((each) => each.set?.connection).map((each) => each.kind.name)
  }

  async function compare(name: string, fromAt: number, toAt: number) {
    const { connection } = await providers.load(name)
    if (!connection) return { compared: 0, differences: [] }
    return connection.list
      ? compareLists(name, connection.list(fromAt, toAt), fromAt, toAt)
      : compareEach(name, connection, fromAt, toAt)
  }

  async function* begun(provider: string, fromAt: number, toAt: number): AsyncGenerator<Payment> {
    const read = (after: string, limit: number) => store.listBegun(db, { provider, fromAt, toAt, after }, limit)
    for await (const batch of pagesOf(read, { start: '', size: page, keyOf: (each: Payment) => each.id })) yield* batch
  }

  async function compareLists(provider: string, listed: AsyncIterable<Seen>, fromAt: number, toAt: number) {
    const differences: Difference[] = []
    const [ours, named] = [new Map<string, Payment>(), new Map<string, Payment>()]
    // The two clocks may differ by a little, so a little more of ours is looked at than was asked for.
    const slackMs = 3_600_000
    for await (const payment of begun(provider, fromAt - slackMs, toAt + slackMs)) {
      if (payment.providerId !== null) ours.set(payment.providerId, payment)
      named.set(payment.id, payment)
    }
    let compared = 0
    const seenIds = new Set<string>()
    for await (const seen of listed) {
      compared += 1
      seenIds.add(seen.providerId)
      differences.push(...differencesOf(ours.get(seen.providerId) ?? named.get(seen.reference ?? ''), seen))
    }
    for (const payment of ours.values()) {
      const isAsked = payment.createdAt >= fromAt && payment.createdAt < toAt
      if (!isAsked || seenIds.has(payment.providerId ?? '') || payment.credited === 0n) continue
      differences.push(different(payment, payment.providerId, 'credited here, and not in the provider’s list'))
    }
    return { compared, differences }
  }

  async function compareEach(provider: string, connection: PaymentProvider, fromAt: number, toAt: number) {
    const differences: Difference[] = []
    let compared = 0
    for await (const payment of begun(provider, fromAt, toAt)) {
      if (payment.providerId === null) continue
      compared += 1
      const seen = await connection.find(payment.providerId)
      if (seen) differences.push(...differencesOf(payment, seen))
      else differences.push(different(payment, payment.providerId, 'the provider has no such payment'))
    }
    return { compared, differences }
  }
}

/** What is asked for under a key: the same once more is the same refund. */
const toAsked = (id: PaymentId, { amount, intoDebt, note }: RefundWish) => ({
  refund_payment: id,
  amount: amount === 'all' ? 'all' : String(amount),
  into_debt: intoDebt,
  note,
})

function readKept(told: Told, name: string): Kopecks {
  const text = told[name]
  if (typeof text !== 'string') throw new Error(`a refund was noted without its ${name}`)
  return kopecks(BigInt(text))
}

/** What a provider would not do, or did not answer to, is told to the operator who asked. */
async function asking<Result>(
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

const different = (payment: Payment | undefined, providerId: string | null, problem: string): Difference => ({
  payment: payment?.id ?? null,
  providerId,
  problem,
})

function differencesOf(payment: Payment | undefined, seen: Seen): Difference[] {
  const found = (problem: string): Difference[] => [different(payment, seen.providerId, problem)]
  if (!payment) return seen.state === 'paid' ? found('paid at the provider, and no payment here') : []
  const isPaid = payment.credited > 0n
  if (seen.state !== 'paid') return isPaid ? found(`credited here, ${seen.state} at the provider`) : []
  if (!isPaid) return found(`paid at the provider, ${payment.state} here`)
  if (seen.providerId !== payment.providerId) return found('paid at the provider a second time')
  if (seen.amount !== toPay(payment)) {
    return found(`${toRoubleText(seen.amount)} RUB at the provider, ${toRoubleText(toPay(payment))} here`)
  }
  const back = seen.refunded < payment.amount ? seen.refunded : payment.amount
  return back === payment.debited
    ? []
    : found(
        `${toRoubleText(seen.refunded)} RUB given back at the provider, ${toRoubleText(payment.debited)} taken here`,
      )
}
