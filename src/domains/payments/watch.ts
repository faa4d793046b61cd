import { readId } from '../../core/ids.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { isProduction, lockKnown, type PaymentDeps } from './deps.ts'
import {
  type CallPurpose,
  type Hint,
  type Notification,
  NotTheProvider,
  type PaymentProvider,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
  UnreadableNotification,
} from './ports.ts'
import { noSuchProvider } from './providers.ts'
import { buyPaidFor } from './purchases.ts'
import { askingMs, isOpen, noticesOfBack, type Payment } from './rules.ts'
import { expire, keepNotice, scheduleNextPoll, settle } from './settle.ts'
import * as store from './store.ts'

/** The payment here that a provider's payment is: by the provider's id, or by ours that the provider keeps. */
async function findMeant(reader: Reader, provider: string, hint: Hint): Promise<Payment | undefined> {
  const known = await store.findByProviderId(reader, provider, hint.providerId)
  if (known) return known
  const id = hint.reference === null ? undefined : readId('payment', hint.reference)
  const named = id && (await store.findAny(reader, id))
  return named?.provider === provider ? named : undefined
}

async function lockMeant(tx: Tx, provider: string, hint: Hint): Promise<Payment | undefined> {
  const meant = await findMeant(tx, provider, hint)
  return meant && store.lockPayment(tx, meant.id)
}

/** Settles what a provider says of one of its payments. Money that is no payment's becomes a notice. */
async function settleReported(
  deps: PaymentDeps,
  provider: string,
  hint: Hint,
  seen: ProviderPayment | undefined,
  stepsBefore: number,
) {
  const of = { isProduction: await isProduction(deps), isPollable: true, note: 'notified', stepsBefore }
  const settled = await deps.db.transact(async (tx) => {
    const payment = await lockMeant(tx, provider, { ...hint, reference: seen?.reference ?? hint.reference })
    if (seen && payment) return settle(deps, tx, payment, seen, of)
    if (!seen) await keepNotice(deps, tx, 'not_at_provider', { provider, payment: payment?.id ?? null }, hint)
    else if (seen.state === 'paid') {
      // The shop may have forgotten the payment by a restore: the notice names it, so that it is credited once.
      const named = readId('payment', seen.reference ?? hint.reference ?? '') ?? null
      for (const reason of ['unknown', ...noticesOfBack(seen)] as const) {
        await keepNotice(deps, tx, reason, { provider, payment: named }, seen)
      }
    }
    return undefined
  })
  await buyPaidFor(deps, settled)
}

/** Polls the provider of one payment and settles the answer. */
async function pollPayment(
  deps: PaymentDeps,
  payment: Payment,
  connection: PaymentProvider | undefined,
  purpose: CallPurpose = 'poll',
): Promise<void> {
  const seen = connection && (await findAtProvider(payment, connection, purpose))
  const isPollable = connection !== undefined
  const of = { isProduction: await isProduction(deps), isPollable, note: 'asked for', stepsBefore: payment.changes }
  const settled = await deps.db.transact(async (tx) => {
    const before = await lockKnown(tx, payment.id)
    const now = seen ? await settle(deps, tx, before, seen, of) : before
    if (isOpen(now.state) && deps.clock() >= now.expiresAt) return expire(deps, tx, now, isPollable)
    return seen ? now : scheduleNextPoll(deps, tx, now, isPollable)
  })
  await buyPaidFor(deps, settled)
}

export const findAtProvider = (
  { id, providerId, createdAt }: Payment,
  connection: PaymentProvider,
  purpose: CallPurpose,
) => (providerId === null ? connection.findOpened(id, createdAt) : connection.find(providerId, purpose))

/** Handles a provider's notification: its sender is checked, the provider is asked, and only the answer counts. */
export async function notify(deps: PaymentDeps, name: string, notification: Notification): Promise<void> {
  const { db, providers, clock } = deps
  const connection = (await providers.find(name))?.connection
  if (!connection) throw noSuchProvider(providers.names)
  const hint = readHint(connection, notification)
  const stepsBefore = (await findMeant(db, name, hint))?.changes ?? 0
  let seen: ProviderPayment | undefined
  try {
    seen = await connection.find(hint.providerId, 'notify')
    const meant = await findMeant(db, name, { ...hint, reference: seen?.reference ?? hint.reference })
    // Once the orphan counts, the payment that the payer was shown is not polled again: it is asked for first.
    if (meant && seen && isOrphanPaid(meant, seen)) await pollPayment(deps, meant, connection, 'notify')
  } catch (error) {
    if (!(error instanceof ProviderUnavailable) && !(error instanceof ProviderRefused)) throw error
    await db.transact(async (tx) => {
      const payment = await lockMeant(tx, name, hint)
      if (payment) store.setAskAt(tx, payment.id, clock())
    })
    throw Object.assign(new Refusal('notification_not_confirmed'), { cause: error })
  }
  await settleReported(deps, name, hint, seen, stepsBefore)
}

/** Polls up to `max` payments that are due. Returns how many; call again while it is `max`. */
export async function pollDue(deps: PaymentDeps, max: number) {
  const { db, providers, clock } = deps
  const due = await db.transact((tx) => store.takeDue(tx, clock(), clock() + askingMs, max))
  const silent = new Set<string>()
  const faults: unknown[] = []
  for (const payment of due) {
    // A provider that does not answer now is not asked about the next payment.
    if (silent.has(payment.provider)) continue
    try {
      const provider = await providers.find(payment.provider)
      if (provider) await pollPayment(deps, payment, provider.connection)
    } catch (error) {
      // One fault must not keep the others from being asked for.
      if (error instanceof ProviderUnavailable || error instanceof ProviderRefused) silent.add(payment.provider)
      else faults.push(error)
    }
  }
  if (faults.length > 0) throw faults[0]
  return { polled: due.length, silent: [...silent] }
}

/** Whether the provider has a paid payment other than the known one, as after a try whose answer never came. */
const isOrphanPaid = (payment: Payment, seen: ProviderPayment): boolean =>
  seen.state === 'paid' &&
  payment.credited === 0n &&
  payment.providerId !== null &&
  payment.providerId !== seen.providerId

function readHint(connection: PaymentProvider, notification: Notification): Hint {
  try {
    return connection.readNotification(notification)
  } catch (error) {
    if (error instanceof NotTheProvider) throw new Refusal('notification_not_authentic')
    if (!(error instanceof UnreadableNotification)) throw error
    throw refuseField('body', 'not_a_notification')
  }
}
