import type { CustomerId, NoticeId, PaymentId } from '../../core/ids.ts'
import { keysetPages } from '../../core/keyset-pages.ts'
import { type KeyAndParams, messagesOf } from '../../core/messages/catalogue.ts'
import type { findingsEn } from '../../core/messages/findings-en.ts'
import { kopecks, toRoubles, toRoubleText, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { ActionAnswer } from '../orders/index.ts'
import { callProvider, isProduction, loadKnown, lockKnown, type PaymentDeps, paidStatus } from './deps.ts'
import type { PaymentProvider, ProviderPayment } from './ports.ts'
import { fulfil } from './purchases.ts'
import { toOutcome } from './refund.ts'
import { isMoney, type Payment, toPay } from './rules.ts'
import { settle } from './settle.ts'
import * as store from './store.ts'

const pageSize = 200
const dayMs = 86_400_000

type Differences = typeof findingsEn.differences
/** A difference between the provider's books and ours. */
type Difference = ReturnType<typeof different>

const difference = messagesOf<Differences>()

export const showPayment = async ({ db }: PaymentDeps, id: PaymentId) => ({
  payment: await loadKnown(db, id),
  changes: await store.changesOf(db, [id]),
})

/** Payments whose id begins with the text, and those whose id at a provider is the text. */
export async function findNamed({ db, providers }: PaymentDeps, text: string, limit: number): Promise<Payment[]> {
  const found = new Map((await store.findByPrefix(db, text, limit)).map((each) => [each.id, each]))
  for (const { kind } of await providers.list()) {
    const payment = await store.findByProviderId(db, kind.name, text)
    if (payment) found.set(payment.id, payment)
  }
  return [...found.values()]
}

/** Credits a payment that the operator has received. Only where there is no provider to ask. */
export async function markPaid(deps: PaymentDeps, id: PaymentId, note: string, key: string | undefined) {
  const { provider } = await loadKnown(deps.db, id)
  if ((await deps.providers.load(provider)).kind.connect) throw new Refusal('payment_not_manual')
  const of = { isProduction: await isProduction(deps), isPollable: false, note }
  const outcome = await deps.once(key, { mark_paid: id }, async (tx) => {
    const payment = await lockKnown(tx, id)
    const replayed = payment.credited > 0n
    if (!replayed) await deps.ledger.assertNotErased(tx, payment.customer)
    const settled = await settle(deps, tx, payment, paidStatus(payment), of)
    return { ...toOutcome(settled), ...(replayed && { replayed }) }
  })
  await fulfil(deps, await loadKnown(deps.db, id))
  return outcome
}

/** Resolves a notice; its money goes to a customer in the same commit, if one is named. */
export const resolve = (
  { db, ledger, clock }: PaymentDeps,
  id: NoticeId,
  { customer, note }: { readonly customer: CustomerId | undefined; readonly note: string },
): Promise<ActionAnswer> =>
  db.transact(async (tx) => {
    const notice = await store.lockUnresolved(tx, id)
    if (!notice) throw new Refusal('notice_not_found')
    store.resolveNotice(tx, id, clock(), note)
    if (customer === undefined) return { notice: id, resolved: true, credited_rub: null }
    if (notice.amount === null || notice.currency !== 'RUB' || !isMoney(notice.reason)) {
      throw new Refusal('notice_without_amount')
    }
    const { posting } = await ledger.adjust(tx, customer, {
      kind: 'credit',
      amount: notice.amount,
      note,
      // A payment that the shop does not know is credited under its id, so that a credit by hand excludes this one.
      key: notice.reason === 'unknown' && notice.payment !== null ? notice.payment : `notice ${id}`,
      reference: `${notice.provider} ${notice.providerId}`,
    })
    return { notice: id, resolved: true, customer, credited_rub: toRoubles(posting.amount) }
  })

type Comparison = { readonly compared: number; readonly differences: readonly Difference[] }

/**
 * Compares all payments of a time with the lists of one provider or all of them. A provider that does not answer is the
 * `failure`; the others are compared.
 */
export async function reconcile(deps: PaymentDeps, name: string | undefined, fromAt: number, toAt: number) {
  const connected = async () =>
    (await deps.providers.list()).filter((each) => each.set?.connection).map((each) => each.kind.name)
  let compared = 0
  const differences: (Difference & { provider: string })[] = []
  let failure: Refusal | undefined
  for (const provider of name === undefined ? await connected() : [name]) {
    try {
      const found = await callProvider(() => compare(deps, provider, fromAt, toAt), {
        refused: () => new Refusal('provider_list_refused', { provider }),
        unavailable: () => new Refusal('provider_list_unavailable', { provider }),
      })
      compared += found.compared
      differences.push(...found.differences.map((each) => ({ ...each, provider })))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      failure ??= error
    }
  }
  return { compared, differences, failure }
}

async function compare(deps: PaymentDeps, name: string, fromAt: number, toAt: number): Promise<Comparison> {
  const { connection } = await deps.providers.load(name)
  if (!connection) return { compared: 0, differences: [] }
  return connection.list
    ? compareLists(deps, name, connection.list(fromAt, toAt), fromAt, toAt)
    : compareEach(deps, name, connection, fromAt, toAt)
}

async function* begunBetween({ db }: PaymentDeps, provider: string, fromAt: number, toAt: number) {
  const read = (after: string, limit: number) => store.listBegun(db, { provider, fromAt, toAt, after }, limit)
  const from = { start: '', size: pageSize, keyOf: (each: Payment): string => each.id }
  for await (const batch of keysetPages(read, from)) yield* batch
}

async function compareLists(
  deps: PaymentDeps,
  provider: string,
  listed: AsyncIterable<ProviderPayment>,
  fromAt: number,
  toAt: number,
): Promise<Comparison> {
  const differences: Difference[] = []
  const [ours, named] = [new Map<string, Payment>(), new Map<string, Payment>()]
  // The two clocks may differ, so an hour more of ours is read on both sides.
  const slackMs = 3_600_000
  for await (const payment of begunBetween(deps, provider, fromAt - slackMs, toAt + slackMs)) {
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
    const isInPeriod = payment.createdAt >= fromAt && payment.createdAt < toAt
    if (!isInPeriod || seenIds.has(payment.providerId ?? '') || payment.credited === 0n) continue
    differences.push(different(payment, payment.providerId, 'not_listed'))
  }
  return { compared, differences }
}

async function compareEach(
  deps: PaymentDeps,
  provider: string,
  connection: PaymentProvider,
  fromAt: number,
  toAt: number,
): Promise<Comparison> {
  const differences: Difference[] = []
  let compared = 0
  for await (const payment of begunBetween(deps, provider, fromAt, toAt)) {
    if (payment.providerId === null) continue
    compared += 1
    const seen = await connection.find(payment.providerId)
    if (seen) differences.push(...differencesOf(payment, seen))
    else differences.push(different(payment, payment.providerId, 'unknown_there'))
  }
  return { compared, differences }
}

const different = (payment: Payment | undefined, providerId: string | null, ...what: KeyAndParams<Differences>) => ({
  payment: payment?.id ?? null,
  providerId,
  ...difference(...what),
})

function differencesOf(payment: Payment | undefined, seen: ProviderPayment): Difference[] {
  const found = (...what: KeyAndParams<Differences>): Difference[] => [different(payment, seen.providerId, ...what)]
  if (!payment) return seen.state === 'paid' ? found('unknown_here') : []
  const isPaid = payment.credited > 0n
  if (seen.state !== 'paid') return isPaid ? found('not_paid_there', { state: seen.state }) : []
  if (!isPaid) return found('not_paid_here', { state: payment.state })
  if (seen.providerId !== payment.providerId) return found('paid_twice')
  if (seen.amount !== toPay(payment)) {
    return found('amount', { there: toRoubleText(seen.amount), here: toRoubleText(toPay(payment)) })
  }
  const back = seen.refunded < payment.amount ? seen.refunded : payment.amount
  if (back === payment.debited) return []
  return found('refunded', { there: toRoubleText(seen.refunded), here: toRoubleText(payment.debited) })
}

const noSums = { payments: 0, credited: zero, fees: zero, chargedBack: zero, bonuses: zero }

/** Top-ups, fees, chargebacks and bonuses, by day and method. */
export async function reportMethods({ db }: PaymentDeps, fromDay: number, toDay: number) {
  const days = new Map<string, typeof noSums & { day: number; method: string }>()
  for (const row of await store.sumByDay(db, fromDay * dayMs, toDay * dayMs)) {
    const { day, method, kind } = row
    const name = `${day} ${method}`
    const before = days.get(name) ?? { day, method, ...noSums }
    days.set(name, {
      ...before,
      payments: before.payments + (kind === 'credited' ? row.count : 0),
      credited: kopecks(before.credited + (kind === 'credited' ? row.amount : 0n)),
      fees: kopecks(before.fees + row.fee),
      chargedBack: kopecks(before.chargedBack - (kind === 'debited' ? row.amount : 0n)),
      bonuses: kopecks(before.bonuses + (/^(bonus|share)/.test(kind) ? row.amount : 0n)),
    })
  }
  return [...days.values()]
}
