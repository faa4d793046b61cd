import { type CustomerId, type PaymentId, readId, timeOfId } from '../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Adjustment } from '../ledger/index.ts'
import { callProvider, isProduction, lockKnown, noteIfLow, type PaymentDeps, paidStatus } from './deps.ts'
import type { PaymentProvider } from './ports.ts'
import { buyPaidFor } from './purchases.ts'
import type { Payment, ProviderStatus } from './rules.ts'
import { settle } from './settle.ts'
import * as store from './store.ts'
import { findAtProvider } from './watch.ts'

type Adjusted = Awaited<ReturnType<PaymentDeps['ledger']['adjust']>>

/**
 * An operator's credit or debit. A credit that names a payment, by its key or its reference, credits the payment
 * itself: the provider is asked first, and the poll and the credit by hand exclude each other. A payment that the shop
 * does not know, such as one that was opened after a restored backup, is credited under its id as the key, with the
 * amount of its notice or of its provider. No debit has that key: the payment could not be credited any more.
 */
export async function adjustByHand(
  deps: PaymentDeps,
  customer: CustomerId,
  input: Adjustment,
  isDryRun = false,
): Promise<Adjusted> {
  const inKey = readPayment(input.key)
  if (input.kind === 'debit' && inKey) {
    throw new Refusal('payment_id_as_key', { payment: inKey }, { payment: inKey, charged: false })
  }
  const id = input.kind === 'credit' ? (inKey ?? readPayment(input.reference)) : undefined
  const payment = id && (await store.findAny(deps.db, id))
  if (!payment) {
    if (id) await assertPaid(deps, id, input.amount, isDryRun)
    return deps.db.transact(async (tx) => {
      const adjusted = await deps.ledger.adjust(tx, customer, { ...input, key: id ?? input.key ?? null })
      if (!adjusted.isRepeat) await noteIfLow(deps, tx, adjusted.posting)
      return adjusted
    })
  }
  if (payment.customer !== customer || payment.amount !== input.amount) {
    const facts = { payment: payment.id, customer: payment.customer, amount_rub: toRoubles(payment.amount) }
    throw new Refusal('payment_is_other', facts, { ...facts, charged: false })
  }
  const connection = (await deps.providers.find(payment.provider))?.connection
  const mayAsk = payment.credited === 0n && !isDryRun
  const status = connection && mayAsk ? await askAbout(payment, connection) : paidStatus(payment)
  const of = { isProduction: await isProduction(deps), isPollable: connection !== undefined, note: input.note }
  const { settled, ...adjusted } = await deps.db.transact((tx) => creditPayment(deps, tx, payment, status, of))
  if (!isDryRun) await buyPaidFor(deps, settled)
  return adjusted
}

/** Ids are lower case; an operator may have copied one in capitals. */
const readPayment = (text: string | null) => readId('payment', (text ?? '').toLowerCase())

/**
 * Refuses to credit a payment that the shop does not know with another amount than was paid: it would keep its notice
 * from being credited. Without a notice, each provider is asked for it. If no provider finds it, the operator's word
 * counts.
 */
async function assertPaid(deps: PaymentDeps, id: PaymentId, amount: Kopecks, isDryRun: boolean): Promise<void> {
  const noticed = await store.findUnknown(deps.db, id)
  const paid = noticed ?? (isDryRun ? undefined : await findAnywhere(deps, id))
  if (!paid || paid.amount === null || paid.currency !== 'RUB') return
  const { provider } = paid
  if (paid.state !== 'paid') throw new Refusal('payment_not_paid', { payment: id, provider }, { charged: false })
  if (paid.amount === amount) return
  const facts = { payment: id, amount_rub: toRoubles(paid.amount) }
  throw new Refusal('payment_amount_is_other', facts, { ...facts, charged: false })
}

async function findAnywhere({ providers }: PaymentDeps, payment: PaymentId) {
  for (const { kind, set } of await providers.list()) {
    const connection = set?.connection
    if (!connection) continue
    const refused = () => new Refusal('payment_not_confirmed', { payment, provider: kind.name })
    const find = () => connection.findOpened(payment, timeOfId(payment))
    const found = await callProvider(find, { refused, unavailable: refused })
    if (found) return { ...found, provider: kind.name }
  }
  return undefined
}

/** The provider's current status. The operator's word counts only where there is no provider to ask. */
function askAbout(payment: Payment, connection: PaymentProvider): Promise<ProviderStatus | undefined> {
  const refused = () => new Refusal('payment_not_confirmed', { payment: payment.id, provider: payment.provider })
  return callProvider(() => findAtProvider(payment, connection, 'open'), { refused, unavailable: refused })
}

async function creditPayment(
  deps: PaymentDeps,
  tx: Tx,
  { id, changes: stepsBefore }: Payment,
  status: ProviderStatus | undefined,
  of: Omit<Parameters<typeof settle>[4], 'stepsBefore'>,
): Promise<Adjusted & { readonly settled: Payment }> {
  const locked = await lockKnown(tx, id)
  await deps.ledger.lock(tx, locked.customer)
  const earlier = await postingOf(deps, tx, locked)
  if (earlier) return { posting: earlier, isRepeat: true, settled: locked }
  await deps.ledger.assertNotErased(tx, locked.customer)
  const settled = status ? await settle(deps, tx, locked, status, { ...of, stepsBefore }) : locked
  const posting = await postingOf(deps, tx, settled)
  if (!posting) throw new Refusal('payment_not_paid', { payment: id, provider: locked.provider }, { charged: false })
  return { posting, isRepeat: false, settled }
}

/** The posting that credited a payment: its own, or an earlier version's credit by hand. */
async function postingOf({ ledger }: PaymentDeps, tx: Tx, payment: Payment) {
  const step = payment.credited > 0n ? await store.findStep(tx, payment.id, 'credited') : undefined
  const own = step?.posting ?? null
  return own === null ? ledger.findByKey(tx, payment.id) : ledger.findPosting(tx, payment.customer, own)
}
