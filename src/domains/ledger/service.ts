import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, negate, subtract } from '../../core/money.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { alreadyRefunded, erasedCustomer, keyMovedOther, noAccount, nothingToRefund, refundTooLarge } from './errors.ts'
import { type Account, type Movement, openAccount, type Posting, post, spentAfter } from './rules.ts'
import * as store from './store.ts'

export type Ledger = ReturnType<typeof createLedger>

/**
 * Who pays: a customer, through a token or (from the console) without one. The cap is the token's, if it has one; and
 * where it was looked at on the way in, what it was then is known.
 */
export type Payer = {
  readonly customer: CustomerId
  readonly token: {
    readonly id: TokenId
    readonly cap: Kopecks | null
    /** What it was when it was found open: until when it is, and its account's count then. */
    readonly seen?: { readonly expiresAt: number | null; readonly revocationEpoch: number }
  } | null
}

/** What an operator adds to a balance or takes off it. `amount` is more than nothing either way. */
export type Adjustment = {
  readonly kind: 'credit' | 'debit'
  readonly amount: Kopecks
  readonly note: string
  readonly key: string | null
  readonly reference: string | null
}

const unmarked = { key: null, reference: null }

/** All movements of money. Each takes part in the caller's transaction, so that paying and getting are one commit. */
export function createLedger(deps: { db: Database; clock: Clock; sha256: Sha256 }) {
  /** Takes the customer's turn: until the transaction ends, nobody else moves this money. */
  async function lock(tx: Tx, customer: CustomerId): Promise<Account> {
    const account = await store.lockAccount(tx, customer)
    if (!account) throw noAccount()
    return account
  }

  function move(tx: Tx, account: Account, movement: Movement): Posting {
    const moved = post(account, movement, deps.clock(), deps.sha256)
    store.writePosting(tx, moved.account, moved.posting)
    return moved.posting
  }

  /**
   * An operator's word on a balance: money that came in, or that was credited wrongly and goes out again. Under a key
   * it happens once; the same once more changes nothing and gets the first posting, something else is refused.
   */
  async function adjust(
    tx: Tx,
    customer: CustomerId,
    wish: Adjustment,
  ): Promise<{ readonly posting: Posting; readonly isRepeat: boolean }> {
    if (wish.amount <= 0n) throw new RangeError('an adjustment is more than nothing')
    const account = await lock(tx, customer)
    const amount = wish.kind === 'debit' ? negate(wish.amount) : wish.amount
    const earlier = wish.key === null ? undefined : await store.findByKey(tx, wish.key)
    if (earlier) {
      const isSame = earlier.customer === customer && earlier.amount === amount && earlier.reference === wish.reference
      if (!isSame) throw keyMovedOther(earlier.customer, earlier.seq)
      return { posting: earlier, isRepeat: true }
    }
    if (await store.isErased(tx, customer)) throw erasedCustomer()
    const { kind, note, key, reference } = wish
    const movement = { kind, house: 'funds:operator', amount, order: null, token: null, refundOf: null, note } as const
    return { posting: move(tx, account, { ...movement, key, reference }), isRepeat: false }
  }

  /** Money that came from a source outside, or went back there. */
  async function fund(
    tx: Tx,
    customer: CustomerId,
    of: { kind: 'credit' | 'debit'; amount: Kopecks; source: string; note: string; reference: string | null },
  ): Promise<Posting> {
    const { kind, note, reference } = of
    if (of.amount <= 0n) throw new RangeError(`a ${kind} is more than nothing`)
    const account = await lock(tx, customer)
    const amount = kind === 'debit' ? negate(of.amount) : of.amount
    const movement = { kind, house: `funds:${of.source}`, amount, order: null, token: null, refundOf: null } as const
    return move(tx, account, { ...movement, note, key: null, reference })
  }

  return {
    open: (tx: Tx, customer: CustomerId): void => store.insertAccount(tx, openAccount(customer)),

    lock,

    /** Whether the customer was erased. While the account is locked, no erasure begins. */
    isErased: store.isErased,

    async assertNotErased(tx: Tx, customer: CustomerId): Promise<void> {
      await lock(tx, customer)
      if (await store.isErased(tx, customer)) throw erasedCustomer()
    },

    /** Charges an account that this transaction has locked. A price of nothing moves nothing. */
    async charge(
      tx: Tx,
      account: Account,
      by: Payer,
      sale: { price: Kopecks; product: string; order: OrderId; note: string },
    ): Promise<Posting | undefined> {
      if (sale.price === 0n) return undefined
      const posting = move(tx, account, {
        kind: 'charge',
        house: `revenue:${sale.product}`,
        amount: negate(sale.price),
        order: sale.order,
        token: by.token?.id ?? null,
        refundOf: null,
        note: sale.note,
        ...unmarked,
      })
      if (by.token && by.token.cap !== null) {
        const spent = await store.findSpent(tx, by.token.id)
        store.writeSpent(tx, by.token.id, spentAfter(spent, sale.price, by.token.cap))
      }
      return posting
    },

    /**
     * A top-up. `source` names where the money came from: `operator`, `sandbox`, a payment provider; `reference` the
     * payment that it stands for, if there is one.
     */
    credit: (
      tx: Tx,
      customer: CustomerId,
      amount: Kopecks,
      source: string,
      note: string,
      reference: string | null = null,
    ): Promise<Posting> => fund(tx, customer, { kind: 'credit', amount, source, note, reference }),

    /**
     * Money of a payment that its provider has taken back, whether it is still there or not: what is missing is a debt,
     * on which nothing is bought.
     */
    chargeback: (
      tx: Tx,
      customer: CustomerId,
      amount: Kopecks,
      source: string,
      note: string,
      reference: string,
    ): Promise<Posting> => fund(tx, customer, { kind: 'debit', amount, source, note, reference }),

    adjust,

    /**
     * Gives back a charge, whole or in part. It returns to where the charge was counted, token and revenue alike. Once,
     * unless it is said that this is one part of several; together they are never more than the charge.
     */
    async refund(
      tx: Tx,
      customer: CustomerId,
      seq: number,
      amount: Kopecks | 'all',
      note: string,
      how: 'once' | 'in parts' = 'once',
    ): Promise<Posting> {
      const account = await lock(tx, customer)
      const charge = await store.findPosting(tx, customer, seq)
      if (charge?.kind !== 'charge') throw nothingToRefund()
      const before = await store.sumRefunds(tx, customer, seq)
      if (before > 0n && how === 'once') throw alreadyRefunded(before)
      const left = subtract(negate(charge.amount), before)
      const given = amount === 'all' ? left : amount
      if (given <= 0n || given > left) throw refundTooLarge(left)
      if (charge.token) store.reduceSpent(tx, charge.token, given)
      return move(tx, account, {
        kind: 'refund',
        house: charge.house,
        amount: given,
        order: charge.order,
        token: charge.token,
        refundOf: seq,
        note,
        ...unmarked,
      })
    },

    /** What was given back of a charge already. */
    refundedOf: (reader: Reader, customer: CustomerId, seq: number): Promise<Kopecks> =>
      store.sumRefunds(reader, customer, seq),

    async balance(customer: CustomerId): Promise<{ balance: Kopecks; apiSpent: Kopecks }> {
      const account = await store.findAccount(deps.db, customer)
      if (!account) throw noAccount()
      return account
    },

    /** Orders that were charged for, newest charge first, below a charge or from the newest. */
    chargedOrders: (
      customer: CustomerId,
      before: number,
      limit: number,
      reader: Reader = deps.db,
    ): Promise<OrderId[]> => store.listCharges(reader, customer, before, limit),

    /** Where in the charges an order that was not charged for stands: below this number. */
    async placeAmongCharges(customer: CustomerId, order: string): Promise<number> {
      return ((await store.findChargeBelow(deps.db, customer, order)) ?? 0) + 1
    },

    /** What moved with an order, the oldest first. */
    ofOrder: (customer: CustomerId, order: OrderId): Promise<Posting[]> => store.listOfOrder(deps.db, customer, order),

    /** What was given back on each day from a moment on. */
    refundsByDay: (from: number) => store.refundsByDay(deps.db, from),

    /** A page of postings, newest first. */
    history: (customer: CustomerId, before: number | undefined, limit: number): Promise<Posting[]> =>
      store.listPostings(deps.db, customer, before ?? Number.MAX_SAFE_INTEGER, limit),
  }
}
