import { type CustomerId, makeId, type PaymentId, type RandomBytes } from '../../core/ids.ts'
import { type Kopecks, kopecks, toRoubles, zero } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Events } from '../events/index.ts'
import type { Ledger, Payer } from '../ledger/index.ts'
import type { Replayed } from '../orders/index.ts'
import { keyKeptMs, type Plain, toCanonical } from '../orders/rules.ts'
import type { Codes } from './codes/service.ts'
import {
  emailWanted,
  noSuchPayment,
  paymentInProgress,
  paymentKeyReused,
  providerRefused,
  providerSilent,
  tooLittleForThat,
  tooManyOpen,
  tooManyRefused,
  unknownMethod,
  wrongAmount,
} from './errors.ts'
import { type Opened, type PaymentProvider, ProviderRefused, ProviderUnavailable } from './ports.ts'
import { type AwaitedPurchase, askingMs, feeOf, isOpen, type Payment, toPay } from './rules.ts'
import type { Books } from './service-books.ts'
import type { Method, Providers } from './service-providers.ts'
import type { Purchases, PurchaseWish } from './service-purchases.ts'
import * as store from './store.ts'

const mostOpen = 20
/** How many payments of one customer one provider may refuse within an hour before no more are opened there. */
const mostRefused = { count: 5, withinMs: 3_600_000 }
/** How often a provider is asked to open one payment before its customer is told to try again. */
const mostTries = 2

export type Payments = ReturnType<typeof createPayments>

export type TopUp = {
  readonly amount: Kopecks
  readonly method: string
  readonly returnUrl: string | undefined
  readonly email: string | undefined
  /** A code that adds to it. */
  readonly code?: string | undefined
  /** What to buy as soon as it is paid. */
  readonly purchase?: PurchaseWish | undefined
}

/** What a payment would come to. */
export type PaymentQuote = Pick<Payment, 'amount' | 'fee' | 'bonus'>

/** A payment, and whether it was asked for before under the same key. */
export type Begun = { readonly payment: Payment; readonly isRepeat: boolean }

export type PaymentsDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'lock' | 'credit' | 'takeBack'>
  readonly customers: Pick<Customers, 'mode' | 'assertOpenIn'>
  readonly events: Pick<Events, 'note'>
  readonly providers: Providers
  readonly books: Books
  readonly codes: Pick<Codes, 'promise' | 'quote'>
  readonly purchases: Purchases
  readonly clock: Clock
  readonly random: RandomBytes
  readonly sha256: (text: string) => Uint8Array
}

/** How customers bring money, and how it is found out that they have. */
export function createPayments(deps: PaymentsDeps) {
  const { db, providers, books, clock } = deps
  /** The keys whose first request runs in this process now. */
  const running = new Set<string>()

  const isProduction = async (): Promise<boolean> => (await deps.customers.mode()) !== 'sandbox'

  const digestOf = (wish: TopUp): Uint8Array => {
    const asked: Plain = {
      amount: String(wish.amount),
      method: wish.method,
      ...(wish.returnUrl !== undefined && { return_url: wish.returnUrl }),
      ...(wish.email !== undefined && { email: wish.email }),
      ...(wish.code !== undefined && { code: wish.code }),
      ...(wish.purchase !== undefined && { purchase: { product: wish.purchase.product, wish: wish.purchase.wish } }),
    }
    return deps.sha256(toCanonical({ payment: asked }))
  }

  function makePayment(
    by: Payer,
    key: string | undefined,
    wish: TopUp,
    offered: Method,
    also: Pick<Payment, 'request' | 'code' | 'bonus' | 'purchase'>,
  ): Payment {
    const nowMs = clock()
    return {
      id: makeId('payment', nowMs, deps.random),
      customer: by.customer,
      token: by.token?.id ?? null,
      key: key ?? null,
      ...also,
      provider: offered.provider,
      method: wish.method,
      amount: wish.amount,
      fee: feeOf(wish.amount, offered.feeHundredths),
      returnUrl: wish.returnUrl ?? null,
      state: 'new',
      providerId: null,
      payUrl: null,
      qr: null,
      credited: zero,
      debited: zero,
      changes: 1,
      createdAt: nowMs,
      expiresAt: nowMs + offered.payableMs,
      // Should this process die before the provider has answered, its orphan is looked for.
      askAt: nowMs + askingMs,
    }
  }

  /** The payment that this key has begun, or a new one. The key is looked at before anything that could refuse. */
  function write(
    by: Payer,
    key: string | undefined,
    wish: TopUp,
    { methods, purchase }: { readonly methods: readonly Method[]; readonly purchase: () => AwaitedPurchase | null },
  ): Promise<Begun> {
    const request = digestOf(wish)
    return db.transact(async (tx) => {
      const account = await deps.ledger.lock(tx, by.customer)
      const known = key === undefined ? undefined : await store.findByKey(tx, by.customer, key)
      if (known && key !== undefined) {
        if (known.createdAt > clock() - keyKeptMs) {
          if (!sameBytes(known.request, request)) throw paymentKeyReused(known.id)
          return { payment: known, isRepeat: true }
        }
        store.releaseKey(tx, by.customer, key, clock() - keyKeptMs)
      }
      // Whoever has left, or was shut out, while his request came in pays nothing in.
      await deps.customers.assertOpenIn(tx, by.customer)
      const method = methodFor(methods, wish)
      if (method.wantsEmail && wish.email === undefined) throw emailWanted()
      if ((await store.countOpen(tx, by.customer)) >= mostOpen) throw tooManyOpen(mostOpen)
      await assertFewRefused(tx, by.customer, method.provider)
      const none = { code: null, bonus: zero }
      const promised =
        wish.code === undefined ? none : await deps.codes.promise(tx, by.customer, wish.code, wish.amount)
      const also = { request, ...promised, purchase: purchase() }
      assertCoversPurchase(account.balance, wish.amount, also)
      const payment = makePayment(by, key, wish, method, also)
      await deps.purchases.assertMayHold(tx, payment)
      store.insertPayment(tx, payment)
      store.insertChange(tx, {
        payment: payment.id,
        number: 1,
        kind: 'opened',
        state: 'new',
        amount: 0n as Kopecks,
        total: null,
        posting: null,
        at: payment.createdAt,
        note: 'asked for by the customer',
      })
      return { payment, isRepeat: false }
    })
  }

  /** A refused payment costs a call to the provider, which all customers share. */
  async function assertFewRefused(tx: Tx, customer: CustomerId, provider: string): Promise<void> {
    const { count, withinMs } = mostRefused
    const refusedAt = await store.findRefusedAt(tx, { customer, provider, back: count })
    const waitMs = refusedAt === undefined ? 0 : refusedAt + withinMs - clock()
    if (waitMs > 0) throw tooManyRefused(count, Math.ceil(waitMs / 1000))
  }

  /** Has the provider open it. Where an earlier try may have come through, that is looked for first. */
  async function openAt(
    provider: PaymentProvider,
    payment: Payment,
    wish: TopUp,
    place: { readonly shopUrl: string; readonly isRepeat: boolean },
  ): Promise<Opened> {
    for (let tried = 0; ; tried += 1) {
      try {
        const mayBeOpen = !provider.opensOnce && (tried > 0 || place.isRepeat)
        const found = mayBeOpen ? await provider.findOpened(payment.id, payment.createdAt) : undefined
        if (found?.payUrl) {
          return { providerId: found.providerId, payUrl: found.payUrl, qr: found.payUrl, expiresAt: null }
        }
        return await provider.open({
          payment: payment.id,
          method: payment.method,
          amount: toPay(payment),
          description: `Top-up ${payment.id}`,
          returnUrl: payment.returnUrl ?? `${place.shopUrl}/`,
          email: wish.email,
          payer: deps.sha256(`payer ${payment.customer}`).toHex().slice(0, 24),
          expiresAt: payment.expiresAt,
        })
      } catch (error) {
        if (error instanceof ProviderRefused) {
          await noteRefused(payment.id, { mayBeOpen: tried > 0 || place.isRepeat })
          throw Object.assign(providerRefused(), { cause: error })
        }
        if (!(error instanceof ProviderUnavailable) || tried + 1 >= mostTries) throw error
      }
    }
  }

  /** Writes down where it can be paid, unless a notification was quicker. */
  const noteOpened = (id: PaymentId, opened: Opened, isAsked: boolean): Promise<Payment> =>
    db.transact(async (tx) => {
      const payment = await lockKnown(tx, id)
      const { providerId, payUrl, qr, expiresAt } = opened
      const place = { payUrl, qr, ...(expiresAt !== null && { expiresAt }) }
      const also = { ...place, providerId: payment.providerId ?? providerId }
      const steps = payment.state === 'new' ? [{ kind: 'sent' as const, note: 'opened at the provider' }] : []
      if (payment.payUrl !== null && steps.length === 0) return payment
      return books.putOff(tx, books.write(tx, payment, steps, also), isAsked)
    })

  async function lockKnown(tx: Tx, id: PaymentId): Promise<Payment> {
    const payment = await store.lockPayment(tx, id)
    if (!payment) throw noSuchPayment()
    return payment
  }

  /**
   * What the provider does not want is over, and its key is free for another try. It is asked for again only if an
   * earlier try got no answer and may have opened it.
   */
  const noteRefused = (id: PaymentId, { mayBeOpen }: { readonly mayBeOpen: boolean }): Promise<Payment> =>
    db.transact(async (tx) => {
      const payment = await lockKnown(tx, id)
      if (payment.state !== 'new') return payment
      const steps = [{ kind: 'cancelled' as const, note: 'the provider did not accept it' }]
      return books.putOff(tx, books.write(tx, payment, steps, { key: null }), mayBeOpen)
    })

  async function open(begun: Begun, wish: TopUp, shopUrl: string): Promise<Payment> {
    const { payment, isRepeat } = begun
    const connection = (await providers.load(payment.provider)).connection
    if (!connection) {
      const payUrl = `${shopUrl}/pay/${payment.id}`
      return noteOpened(payment.id, { providerId: payment.id, payUrl, qr: payUrl, expiresAt: null }, false)
    }
    try {
      return await noteOpened(payment.id, await openAt(connection, payment, wish, { shopUrl, isRepeat }), true)
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw Object.assign(providerSilent(), { cause: error })
      throw error
    }
  }

  /** What is to be bought, priced before the transaction; that it cannot be is said after the key was looked at. */
  async function priced({ purchase }: TopUp): Promise<() => AwaitedPurchase | null> {
    if (!purchase) return () => null
    try {
      const price = await deps.purchases.price(purchase)
      return () => price
    } catch (error) {
      return () => {
        throw error
      }
    }
  }

  /** A payment that is made is spent at once if it was made for something. */
  async function spend(payment: Payment | undefined): Promise<void> {
    if (payment?.state === 'paid') await deps.purchases.carryOut(payment)
  }

  return {
    methods: (): Promise<readonly Method[]> => providers.methods(),

    /** What a payment would come to, and what its code would add. Nothing is begun and nothing promised. */
    async quote(customer: CustomerId, wish: Pick<TopUp, 'amount' | 'method' | 'code'>): Promise<PaymentQuote> {
      const method = methodFor(await providers.methods(), wish)
      const fee = feeOf(wish.amount, method.feeHundredths)
      const bonus = wish.code === undefined ? zero : await deps.codes.quote(customer, wish.code, wish.amount)
      return { amount: wish.amount, fee, bonus }
    },

    /**
     * Begins a payment, once for each key. The first answer to a key is given again for as long as that is kept; a try
     * that nobody knows the end of is gone on with.
     */
    async begin(by: Payer, key: string | undefined, wish: TopUp, shopUrl: string): Promise<Begun> {
      const name = key === undefined ? undefined : `${by.customer} ${key}`
      if (name !== undefined && running.has(name)) throw paymentInProgress()
      if (name !== undefined) running.add(name)
      try {
        const [methods, purchase] = await Promise.all([providers.methods(), priced(wish)])
        const begun = await write(by, key, wish, { methods, purchase })
        if (begun.payment.state !== 'new') return begun
        return { ...begun, payment: await open(begun, wish, shopUrl) }
      } finally {
        if (name !== undefined) running.delete(name)
      }
    },

    list: (customer: CustomerId, before: PaymentId | undefined, limit: number): Promise<Payment[]> =>
      store.listOf(db, customer, before, limit),

    async load(customer: CustomerId, id: PaymentId): Promise<Payment> {
      const payment = await store.findPayment(db, customer, id)
      if (!payment) throw noSuchPayment()
      return payment
    },

    /** A payment that is paid here and not elsewhere, for whoever has its link. */
    async findOurs(id: PaymentId): Promise<{ payment: Payment; details: string | undefined } | undefined> {
      const payment = await store.findAny(db, id)
      const provider = payment && (await providers.find(payment.provider))
      if (!payment || !provider || provider.kind.connect) return undefined
      return { payment, details: provider.terms.settings['details'] }
    },

    /** The button of a sandbox: nobody pays, and it is paid. */
    async payInSandbox(id: PaymentId): Promise<Payment | undefined> {
      if (await isProduction()) return undefined
      const settled = await db.transact(async (tx) => {
        const payment = await store.lockPayment(tx, id)
        if (payment?.provider !== 'sandbox') return undefined
        if (!isOpen(payment.state)) return payment
        const of = { isProduction: false, isAsked: false, note: 'paid in the sandbox' }
        return books.settle(tx, payment, paidWord(payment), of)
      })
      await spend(settled)
      return settled
    },
  }
}

/** The way to pay that was named, for an amount that it takes. */
function methodFor(methods: readonly Method[], { method: name, amount }: Pick<TopUp, 'method' | 'amount'>): Method {
  const method = methods.find((each) => each.method === name)
  if (!method) throw unknownMethod(methods.map((each) => each.method))
  if (amount < method.min || amount > method.max) throw wrongAmount(method.min, method.max)
  return method
}

/** What is paid and what is there already must be enough for what is to be bought. */
function assertCoversPurchase(balance: Kopecks, amount: Kopecks, of: Pick<Payment, 'bonus' | 'purchase'>): void {
  if (!of.purchase || balance + amount + of.bonus >= of.purchase.price) return
  throw tooLittleForThat(kopecks(of.purchase.price - balance - of.bonus))
}

/** What is said of a payment that nobody outside can be asked about, by whoever may say it. */
export const paidWord = (payment: Payment) => ({
  providerId: payment.providerId ?? payment.id,
  state: 'paid' as const,
  amount: toPay(payment),
  currency: 'RUB',
  isTest: false,
  refunded: payment.debited,
})

/** What a payment looks like in words, for the operator's answers. */
/** How a payment stands, after an operator's action. */
export type PaymentTold = ReturnType<typeof toTold> & Replayed

export const toTold = (payment: Payment) => ({
  payment_id: payment.id,
  customer: payment.customer,
  status: payment.state,
  amount_rub: toRoubles(payment.amount),
  refunded_rub: toRoubles(payment.debited),
})
