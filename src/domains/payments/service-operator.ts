import type { CustomerId, NoticeId, PaymentId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { toRoubles, toRoubleText } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Database } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Once, Told } from '../orders/index.ts'
import type { Codes } from './codes/service.ts'
import { booksRefused, booksUnheard, noSuchNotice, nothingToCredit, notToBeMarked } from './errors.ts'
import type { PaymentProvider, Seen } from './ports.ts'
import type { Referrals } from './referrals/service.ts'
import { isMoney, type Notice, type Payment, type PaymentChange, toPay } from './rules.ts'
import { type PaymentTold, paidWord, toTold } from './service.ts'
import type { Books } from './service-books.ts'
import type { Providers } from './service-providers.ts'
import type { Purchases } from './service-purchases.ts'
import { asking, createPaymentRefunds, loadKnown, lockKnown } from './service-refunds.ts'
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

  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) !== 'sandbox'

  const refund = createPaymentRefunds({ ...deps, isProduction })

  return {
    list: (filter: Parameters<typeof store.listAll>[1]): Promise<Payment[]> => store.listAll(db, filter),

    async show(id: PaymentId): Promise<{ payment: Payment; changes: readonly PaymentChange[] }> {
      return { payment: await loadKnown(db, id), changes: await store.changesOf(db, id) }
    },

    /** The operator has the money in hand or on his account. Only for what nobody else can be asked about. */
    async markPaid(id: PaymentId, note: string, key: string | undefined): Promise<PaymentTold> {
      const { provider } = await loadKnown(db, id)
      if ((await providers.load(provider)).kind.connect) throw notToBeMarked()
      const of = { isProduction: await isProduction(), isAsked: false, note }
      const told = await deps.once(key, { mark_paid: id }, async (tx) => {
        const payment = await lockKnown(tx, id)
        const replayed = payment.credited > 0n
        if (!replayed) await deps.ledger.assertNotErased(tx, payment.customer)
        return { ...toTold(await books.settle(tx, payment, paidWord(payment), of)), ...(replayed && { replayed }) }
      })
      await deps.purchases.carryOut(await loadKnown(db, id))
      return told
    },

    refund,

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
    for await (const batch of keysetPages(read, { start: '', size: page, keyOf: (each: Payment) => each.id }))
      yield* batch
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
