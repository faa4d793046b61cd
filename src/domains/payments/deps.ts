import type { CustomerId, OrderId, PaymentId, RandomBytes } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { createTokenBuckets } from '../../core/token-buckets.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import type { Posting } from '../ledger/rules.ts'
import type { Once, Orders } from '../orders/index.ts'
import { balanceLow, type Plain } from '../orders/rules.ts'
import { ProviderRefused, ProviderUnavailable } from './ports.ts'
import type { Providers } from './providers.ts'
import { type AwaitedPurchase, type Payment, type ProviderStatus, toPay } from './rules.ts'
import * as store from './store.ts'

/** A product that a payment can buy: its price now, and its purchase at the prices of a price list. */
export type Buyer = {
  readonly product: string
  quote(input: Plain): Promise<Kopecks>
  buy(
    request: { readonly by: Payer; readonly key: string; readonly catalogue: number },
    input: Plain,
  ): Promise<{ readonly order: OrderId | null }>
}

/** The end of a purchase that was attached to a payment. */
export type EndedPurchase = Pick<AwaitedPurchase, 'product' | 'state' | 'order'> & {
  readonly payment: PaymentId
  readonly customer: CustomerId
  /** Of a refusal. */
  readonly reason: string | null
}

/** The first parameter of every use case of payments. */
export type PaymentDeps = {
  readonly db: Database
  readonly ledger: Ledger
  readonly customers: Pick<Customers, 'mode' | 'assertOpenIn' | 'isOpenIn' | 'payerOf'>
  readonly events: Pick<Events, 'note'>
  readonly orders: Pick<Orders, 'findByKey'>
  readonly pricing: { readonly current: () => Promise<{ readonly version: number }> }
  readonly buyers: readonly Buyer[]
  readonly once: Once
  /** Called once for each purchase that is over, after its commit; for the log. */
  readonly onPurchase?: ((ended: EndedPurchase) => void) | undefined
  readonly providers: Providers
  /** Token bucket for each customer's wrong promo codes. */
  readonly codeGuesses: ReturnType<typeof createTokenBuckets>
  /** The keys whose first request runs in this process now. */
  readonly running: Set<string>
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
}

/** Writes an event if a debit took the balance below the customer's threshold. */
export async function noteIfLow(
  { ledger, events }: Pick<PaymentDeps, 'ledger' | 'events'>,
  tx: Tx,
  posting: Posting,
): Promise<void> {
  await events.note(tx, balanceLow(await ledger.lock(tx, posting.customer), posting))
}

export const isProduction = async ({ customers }: PaymentDeps): Promise<boolean> =>
  (await customers.mode()) !== 'sandbox'

const loaded = (payment: Payment | undefined): Payment => {
  if (!payment) throw new Refusal('payment_not_found')
  return payment
}

export const lockKnown = async (tx: Tx, id: PaymentId): Promise<Payment> => loaded(await store.lockPayment(tx, id))

export const loadKnown = async (reader: Reader, id: PaymentId): Promise<Payment> =>
  loaded(await store.findAny(reader, id))

export const loadOwn = async ({ db }: PaymentDeps, ...of: [customer: Payment['customer'], id: PaymentId]) =>
  loaded(await store.findPayment(db, ...of))

/** The status of a payment that the operator or the sandbox says is paid. */
export const paidStatus = (payment: Payment): ProviderStatus => ({
  providerId: payment.providerId ?? payment.id,
  state: 'paid',
  amount: toPay(payment),
  currency: 'RUB',
  isTest: false,
  refunded: payment.debited,
})

/** Runs calls to a provider and turns its failures into refusals. */
export async function callProvider<Result>(
  work: () => Promise<Result>,
  as: { readonly refused?: () => Refusal; readonly unavailable: () => Refusal },
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProviderRefused && as.refused) throw Object.assign(as.refused(), { cause: error })
    if (error instanceof ProviderUnavailable) throw Object.assign(as.unavailable(), { cause: error })
    throw error
  }
}
