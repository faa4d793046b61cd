import { type CustomerId, makeId, type PaymentId } from '../../core/ids.ts'
import { fieldProblem } from '../../core/messages/problems.ts'
import { type Kopecks, kopecks, toRoubles, zero } from '../../core/money.ts'
import { malformed, Refusal, refuseField } from '../../core/refusal.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Payer } from '../ledger/index.ts'
import { keyKeptMs, type Plain, toCanonical } from '../orders/rules.ts'
import { promiseBonus, quoteBonus } from './codes.ts'
import { callProvider, isProduction, lockKnown, type PaymentDeps, paidStatus } from './deps.ts'
import { type OpenedPayment, type PaymentProvider, ProviderRefused, ProviderUnavailable } from './ports.ts'
import type { Method } from './providers.ts'
import { assertMayHold, buyPaidFor, type PurchaseInput, pricePurchase } from './purchases.ts'
import { type AwaitedPurchase, askingMs, feeOf, isOpen, type Payment, toChange, toPay } from './rules.ts'
import { scheduleNextPoll, settle, writeSteps } from './settle.ts'
import * as store from './store.ts'

const maxOpen = 20
/** How many payments of one customer one provider may refuse within an hour before no more are opened there. */
const maxRefused = { count: 5, withinMs: 3_600_000 }
/** How often a provider is asked to open one payment within one request. */
const maxTries = 2

export type TopUp = {
  readonly amount: Kopecks
  readonly method: string
  readonly returnUrl: string | undefined
  readonly email: string | undefined
  /** A code that adds to it. */
  readonly code?: string | undefined
  /** What to buy as soon as it is paid. */
  readonly purchase?: PurchaseInput | undefined
}

/** A payment, and whether its key was used before. */
type Begun = { readonly payment: Payment; readonly isRepeat: boolean }

/** The fee and the bonus of a top-up. Nothing is written. */
export async function quote(deps: PaymentDeps, customer: CustomerId, topUp: Pick<TopUp, 'amount' | 'method' | 'code'>) {
  const { amount, code } = topUp
  const method = methodFor(await deps.providers.methods(), topUp)
  const bonus = code === undefined ? zero : await quoteBonus(deps, customer, code, amount)
  return { amount, fee: feeOf(amount, method.feeHundredths), bonus }
}

/** Begins a payment, once for each key. A payment whose opening got no answer is continued under the same key. */
export async function begin(deps: PaymentDeps, by: Payer, key: string | undefined, topUp: TopUp, shopUrl: string) {
  const name = key === undefined ? undefined : `${by.customer} ${key}`
  if (name !== undefined && deps.running.has(name)) throw new Refusal('request_in_progress')
  if (name !== undefined) deps.running.add(name)
  try {
    const [methods, purchase] = await Promise.all([deps.providers.methods(), priced(deps, topUp)])
    const begun = await writePayment(deps, by, key, topUp, { methods, purchase })
    if (begun.payment.state !== 'new') return begun
    return { ...begun, payment: await open(deps, begun, topUp, shopUrl) }
  } finally {
    if (name !== undefined) deps.running.delete(name)
  }
}

/** Prices the purchase before the transaction. A refusal is thrown inside of it, after the key was looked up. */
async function priced(deps: PaymentDeps, { purchase }: TopUp): Promise<() => AwaitedPurchase | null> {
  if (!purchase) return () => null
  try {
    const price = await pricePurchase(deps, purchase)
    return () => price
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** The payment that this key has begun, or a new one. The key is looked up before anything that could refuse. */
function writePayment(
  deps: PaymentDeps,
  by: Payer,
  key: string | undefined,
  topUp: TopUp,
  { methods, purchase }: { readonly methods: readonly Method[]; readonly purchase: () => AwaitedPurchase | null },
): Promise<Begun> {
  const { customer } = by
  const request = digestOf(deps, topUp)
  return deps.db.transact(async (tx) => {
    const account = await deps.ledger.lock(tx, customer)
    const known = key === undefined ? undefined : await store.findByKey(tx, customer, key)
    if (known && key !== undefined) {
      const keptSince = deps.clock() - keyKeptMs
      if (known.createdAt > keptSince) {
        if (sameBytes(known.request, request)) return { payment: known, isRepeat: true }
        throw new Refusal('payment_key_reused', { payment: known.id }, { charged: false, payment_id: known.id })
      }
      store.releaseKey(tx, customer, key, keptSince)
    }
    // The customer may have been blocked or erased while the request came in.
    await deps.customers.assertOpenIn(tx, customer)
    const method = methodFor(methods, topUp)
    if (method.wantsEmail && topUp.email === undefined) {
      throw refuseField('email', 'email_for_receipt')
    }
    if ((await store.countOpen(tx, customer)) >= maxOpen) {
      throw new Refusal('open_payment_limit', { max: maxOpen }, { charged: false })
    }
    await assertFewRefused(deps, tx, customer, method.provider)
    const { amount, code } = topUp
    const bonus =
      code === undefined ? { code: null, bonus: zero } : await promiseBonus(deps, tx, customer, code, amount)
    const also = { request, ...bonus, purchase: purchase() }
    assertCoversPurchase(account.balance, amount, also)
    if (also.purchase) await deps.ledger.assertWithinCap(tx, by, also.purchase.price)
    const payment = makePayment(deps, by, key, topUp, method, also)
    await assertMayHold(deps, tx, payment)
    store.insertPayment(tx, payment)
    store.insertChange(tx, toChange(payment, { kind: 'opened', note: 'asked for by the customer' }, payment.createdAt))
    return { payment, isRepeat: false }
  })
}

function digestOf({ sha256 }: PaymentDeps, { amount, method, returnUrl, email, code, purchase }: TopUp): Uint8Array {
  const payment: Plain = {
    amount: String(amount),
    method,
    ...(returnUrl !== undefined && { return_url: returnUrl }),
    ...(email !== undefined && { email }),
    ...(code !== undefined && { code }),
    ...(purchase !== undefined && { purchase: { product: purchase.product, input: purchase.input } }),
  }
  return sha256(toCanonical({ payment }))
}

function methodFor(methods: readonly Method[], { method: name, amount }: Pick<TopUp, 'method' | 'amount'>): Method {
  const method = methods.find((each) => each.method === name)
  const allowed = methods.map((each) => each.method)
  if (allowed.length === 0) throw malformed([{ ...fieldProblem('method', 'no_payment_method'), allowed }])
  if (!method) throw refuseField('method', 'one_of', { allowed })
  if (amount >= method.min && amount <= method.max) return method
  const bounds = { from_rub: toRoubles(method.min), to_rub: toRoubles(method.max) }
  throw refuseField('amount_rub', 'amount_by_method', bounds)
}

/** A refused payment costs a call to the provider, and all customers share the provider's rate limit. */
async function assertFewRefused(deps: PaymentDeps, tx: Tx, customer: CustomerId, provider: string): Promise<void> {
  const { count: maxCount, withinMs } = maxRefused
  const refusedAt = await store.findRefusedAt(tx, { customer, provider, back: maxCount })
  const waitMs = refusedAt === undefined ? 0 : refusedAt + withinMs - deps.clock()
  if (waitMs > 0)
    throw new Refusal('refused_payment_limit', { max: maxCount }, { charged: false }, Math.ceil(waitMs / 1000))
}

/** The balance, the payment and its bonus must pay for the purchase. */
function assertCoversPurchase(balance: Kopecks, amount: Kopecks, of: Pick<Payment, 'bonus' | 'purchase'>): void {
  if (!of.purchase || balance + amount + of.bonus >= of.purchase.price) return
  const least = kopecks(of.purchase.price - balance - of.bonus)
  throw refuseField('amount_rub', 'amount_too_small', { min_rub: toRoubles(least) })
}

function makePayment(
  { clock, random }: PaymentDeps,
  by: Payer,
  key: string | undefined,
  { method, amount, returnUrl }: TopUp,
  offered: Method,
  also: Pick<Payment, 'request' | 'code' | 'bonus' | 'purchase'>,
): Payment {
  const nowMs = clock()
  return {
    id: makeId('payment', nowMs, random),
    customer: by.customer,
    token: by.token?.id ?? null,
    key: key ?? null,
    ...also,
    provider: offered.provider,
    method,
    amount,
    fee: feeOf(amount, offered.feeHundredths),
    returnUrl: returnUrl ?? null,
    state: 'new',
    providerId: null,
    payUrl: null,
    qr: null,
    credited: zero,
    debited: zero,
    changes: 1,
    createdAt: nowMs,
    expiresAt: nowMs + offered.payableMs,
    // If this process dies before the provider answers, the opened payment is looked for then.
    askAt: nowMs + askingMs,
  }
}

async function open(deps: PaymentDeps, { payment, isRepeat }: Begun, topUp: TopUp, shopUrl: string): Promise<Payment> {
  const { id } = payment
  const { connection } = await deps.providers.load(payment.provider)
  if (!connection) {
    const payUrl = `${shopUrl}/pay/${id}`
    return noteOpened(deps, id, { providerId: id, payUrl, qr: payUrl, expiresAt: null }, false)
  }
  return callProvider(
    async () => {
      const opened = await openAt(deps, connection, payment, topUp, { shopUrl, isRepeat })
      return noteOpened(deps, id, opened, true)
    },
    { unavailable: () => new Refusal('provider_silent', {}, { charged: false }) },
  )
}

/** Opens the payment at the provider. Where an earlier try may have opened it, it is looked for first. */
async function openAt(
  deps: PaymentDeps,
  provider: PaymentProvider,
  payment: Payment,
  topUp: TopUp,
  { shopUrl, isRepeat }: { readonly shopUrl: string; readonly isRepeat: boolean },
): Promise<OpenedPayment> {
  for (let tried = 0; ; tried += 1) {
    const mayBeOpen = tried > 0 || isRepeat
    try {
      const isSought = !provider.opensOnce && mayBeOpen
      const found = isSought ? await provider.findOpened(payment.id, payment.createdAt) : undefined
      if (found?.payUrl) {
        return { providerId: found.providerId, payUrl: found.payUrl, qr: found.payUrl, expiresAt: null }
      }
      return await provider.open({
        payment: payment.id,
        method: payment.method,
        amount: toPay(payment),
        description: `Top-up ${payment.id}`,
        returnUrl: payment.returnUrl ?? `${shopUrl}/`,
        email: topUp.email,
        payer: deps.sha256(`payer ${payment.customer}`).toHex().slice(0, 24),
        expiresAt: payment.expiresAt,
      })
    } catch (error) {
      if (error instanceof ProviderRefused) {
        await noteRefused(deps, payment.id, mayBeOpen)
        throw Object.assign(new Refusal('provider_refused', {}, { charged: false }), { cause: error })
      }
      if (!(error instanceof ProviderUnavailable) || tried + 1 >= maxTries) throw error
    }
  }
}

/** Writes where it can be paid, unless a notification was quicker. */
const noteOpened = (deps: PaymentDeps, id: PaymentId, opened: OpenedPayment, isPollable: boolean): Promise<Payment> =>
  deps.db.transact(async (tx) => {
    const payment = await lockKnown(tx, id)
    const { providerId, payUrl, qr, expiresAt } = opened
    const also = { payUrl, qr, ...(expiresAt !== null && { expiresAt }), providerId: payment.providerId ?? providerId }
    const steps = payment.state === 'new' ? [{ kind: 'sent' as const, note: 'opened at the provider' }] : []
    if (payment.payUrl !== null && steps.length === 0) return payment
    return scheduleNextPoll(deps, tx, writeSteps(deps, tx, payment, steps, also), isPollable)
  })

/** Cancels a payment that the provider refused and frees its key. It is polled only if an earlier try may be open. */
const noteRefused = (deps: PaymentDeps, id: PaymentId, mayBeOpen: boolean): Promise<Payment> =>
  deps.db.transact(async (tx) => {
    const payment = await lockKnown(tx, id)
    if (payment.state !== 'new') return payment
    const steps = [{ kind: 'cancelled' as const, note: 'the provider did not accept it' }]
    return scheduleNextPoll(deps, tx, writeSteps(deps, tx, payment, steps, { key: null }), mayBeOpen)
  })

/** A payment that is paid on the shop's own page, for anyone who has its link. */
export async function findOurs({ db, providers }: PaymentDeps, id: PaymentId) {
  const payment = await store.findAny(db, id)
  const provider = payment && (await providers.find(payment.provider))
  if (!payment || !provider || provider.kind.connect) return undefined
  return { payment, details: provider.terms.settings['details'] }
}

/** The sandbox's pay button. */
export async function payInSandbox(deps: PaymentDeps, id: PaymentId): Promise<Payment | undefined> {
  if (await isProduction(deps)) return undefined
  const settled = await deps.db.transact(async (tx) => {
    const payment = await store.lockPayment(tx, id)
    if (payment?.provider !== 'sandbox') return undefined
    if (!isOpen(payment.state)) return payment
    const of = { isProduction: false, isPollable: false, note: 'paid in the sandbox' }
    return settle(deps, tx, payment, paidStatus(payment), of)
  })
  await buyPaidFor(deps, settled)
  return settled
}
