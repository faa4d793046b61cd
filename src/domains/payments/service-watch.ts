import { type PaymentId, readId } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import { noSuchPayment, noSuchProvider, notTheProvider, unreadableNotification } from './errors.ts'
import {
  type CallPurpose,
  type Hint,
  type Notification,
  NotTheProvider,
  type PaymentProvider,
  ProviderRefused,
  ProviderUnavailable,
  type Seen,
  UnreadableNotification,
} from './ports.ts'
import { askingMs, isOpen, noticesOfBack, type Payment } from './rules.ts'
import type { Books } from './service-books.ts'
import type { Providers } from './service-providers.ts'
import type { Purchases } from './service-purchases.ts'
import * as store from './store.ts'

export type PaymentWatch = ReturnType<typeof createPaymentWatch>

/** How it is found out that money has come or gone: by being told, and by asking. Only what was asked for counts. */
export function createPaymentWatch(deps: {
  db: Database
  customers: Pick<Customers, 'mode'>
  providers: Providers
  books: Books
  purchases: Pick<Purchases, 'carryOut'>
  clock: Clock
}) {
  const { db, providers, books, clock } = deps

  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) !== 'sandbox'

  async function lockKnown(tx: Tx, id: PaymentId): Promise<Payment> {
    const payment = await store.lockPayment(tx, id)
    if (!payment) throw noSuchPayment()
    return payment
  }

  /** A payment that is made is spent at once if it was made for something. */
  async function spend(payment: Payment | undefined): Promise<void> {
    if (payment?.state === 'paid') await deps.purchases.carryOut(payment)
  }

  /** Which payment here a provider's one is: by the provider's id, or by our own that it keeps. */
  async function findMeant(reader: Reader, provider: string, hint: Hint): Promise<Payment | undefined> {
    const known = await store.findByProviderId(reader, provider, hint.providerId)
    if (known) return known
    const id = hint.reference === null ? undefined : readId('payment', hint.reference)
    const named = id && (await store.findAny(reader, id))
    return named?.provider === provider ? named : undefined
  }

  async function match(tx: Tx, provider: string, hint: Hint): Promise<Payment | undefined> {
    const meant = await findMeant(tx, provider, hint)
    return meant && store.lockPayment(tx, meant.id)
  }

  /** What a provider says of one of its payments, whichever of ours that is; what is none is kept if it is money. */
  async function take(provider: string, hint: Hint, seen: Seen | undefined, stepsBefore: number): Promise<void> {
    const of = { isProduction: await isProduction(), isAsked: true, note: 'notified', stepsBefore }
    const settled = await db.transact(async (tx) => {
      const payment = await match(tx, provider, { ...hint, reference: seen?.reference ?? hint.reference })
      if (seen && payment) return books.settle(tx, payment, seen, of)
      if (!seen) await books.keep(tx, 'not_at_provider', { provider, payment: payment?.id ?? null }, hint)
      else if (seen.state === 'paid') {
        for (const reason of ['unknown', ...noticesOfBack(seen)] as const) {
          await books.keep(tx, reason, { provider, payment: null }, seen)
        }
      }
      return undefined
    })
    await spend(settled)
  }

  /** Asks for one payment, and writes down what was answered. */
  async function ask(
    payment: Payment,
    connection: PaymentProvider | undefined,
    purpose: CallPurpose = 'poll',
  ): Promise<void> {
    const seen = connection && (await lookFor(payment, connection, purpose))
    const isAsked = connection !== undefined
    const of = { isProduction: await isProduction(), isAsked, note: 'asked for', stepsBefore: payment.changes }
    const settled = await db.transact(async (tx) => {
      const before = await lockKnown(tx, payment.id)
      const now = seen ? await books.settle(tx, before, seen, of) : before
      if (isOpen(now.state) && clock() >= now.expiresAt) return books.expire(tx, now, of.isAsked)
      return seen ? now : books.putOff(tx, now, of.isAsked)
    })
    await spend(settled)
  }

  const lookFor = (payment: Payment, connection: PaymentProvider, purpose: CallPurpose): Promise<Seen | undefined> =>
    payment.providerId === null
      ? connection.findOpened(payment.id, payment.createdAt)
      : connection.find(payment.providerId, purpose)

  return {
    /** Somebody calls in a provider's name. It is checked, the provider is asked, and only that counts. */
    async notify(name: string, notification: Notification): Promise<void> {
      const connection = (await providers.find(name))?.connection
      if (!connection) throw noSuchProvider(providers.names)
      const hint = readHint(connection, notification)
      const stepsBefore = (await findMeant(db, name, hint))?.changes ?? 0
      let seen: Seen | undefined
      try {
        seen = await connection.find(hint.providerId, 'notify')
        const meant = await findMeant(db, name, { ...hint, reference: seen?.reference ?? hint.reference })
        // Once this one counts, nobody asks for the one that the payer was shown: that is asked for first.
        if (meant && seen && isOrphanPaid(meant, seen)) await ask(meant, connection, 'notify')
      } catch (error) {
        if (!(error instanceof ProviderUnavailable) && !(error instanceof ProviderRefused)) throw error
        await db.transact(async (tx) => {
          const payment = await match(tx, name, hint)
          if (payment) store.putOff(tx, payment.id, clock())
        })
        throw Object.assign(new Refusal('notification_not_confirmed'), { cause: error })
      }
      await take(name, hint, seen, stepsBefore)
    },

    /** Asks for payments whose turn it is. Returns how many; call again while it is as many as asked for. */
    async lookAgain(most: number): Promise<{ readonly asked: number; readonly silent: readonly string[] }> {
      const due = await db.transact((tx) => store.takeDue(tx, clock(), clock() + askingMs, most))
      const silent = new Set<string>()
      const faults: unknown[] = []
      for (const payment of due) {
        // Who does not answer now will hardly answer for the next payment.
        if (silent.has(payment.provider)) continue
        try {
          const provider = await providers.find(payment.provider)
          if (provider) await ask(payment, provider.connection)
        } catch (error) {
          // One that fails must not keep the others from being asked for: they would be put off with it, for ever.
          if (error instanceof ProviderUnavailable || error instanceof ProviderRefused) silent.add(payment.provider)
          else faults.push(error)
        }
      }
      if (faults.length > 0) throw faults[0]
      return { asked: due.length, silent: [...silent] }
    },
  }
}

/** Whether another one is paid than the payment is known by, as after a try whose answer never came. */
const isOrphanPaid = (payment: Payment, seen: Seen): boolean =>
  seen.state === 'paid' &&
  payment.credited === 0n &&
  payment.providerId !== null &&
  payment.providerId !== seen.providerId

function readHint(connection: PaymentProvider, notification: Notification): Hint {
  try {
    return connection.readNotification(notification)
  } catch (error) {
    if (error instanceof NotTheProvider) throw notTheProvider()
    if (error instanceof UnreadableNotification) throw unreadableNotification()
    throw error
  }
}
