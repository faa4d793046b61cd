import type { Sha256 } from '../../core/chain.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, negate, subtract } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { alreadyRefunded, erasedCustomer, keyMovedOther, noAccount, refundTooLarge } from './errors.ts'
import { type Account, type Movement, openAccount, type Posting, post, spentAfter } from './rules.ts'
import * as store from './store.ts'

/** All movements of money. Each runs in the caller's transaction, so that charge and delivery are one commit. */
export type LedgerDeps = { db: Database; clock: Clock; sha256: Sha256 }

/** The payer: a customer, through a token or (from the console) without one. */
export type Payer = {
  readonly customer: CustomerId
  readonly token: {
    readonly id: TokenId
    readonly cap: Kopecks | null
    /** The token's state when the caller was authenticated. */
    readonly seen?: { readonly expiresAt: number | null; readonly revocationEpoch: number }
    /** The token set something up that happens by itself: it may have expired since. */
    readonly isSetUp?: true
  } | null
}

/** An operator's credit or debit. `amount` is above zero for both. */
export type Adjustment = {
  readonly kind: 'credit' | 'debit'
  readonly amount: Kopecks
  readonly note: string
  readonly key: string | null
  readonly reference: string | null
}

export const open = (tx: Tx, customer: CustomerId): void => store.insertAccount(tx, openAccount(customer))

/** Locks the account until the transaction ends. */
export async function lock(tx: Tx, customer: CustomerId): Promise<Account> {
  const account = await store.lockAccount(tx, customer)
  if (!account) throw noAccount()
  return account
}

export async function assertNotErased(tx: Tx, customer: CustomerId): Promise<void> {
  await lock(tx, customer)
  if (await store.isErased(tx, customer)) throw erasedCustomer()
}

/** The fields of a movement that is not a sale, an operator's adjustment or a payment. */
const plain = { order: null, token: null, refundOf: null, key: null, reference: null }

function move(deps: LedgerDeps, tx: Tx, account: Account, movement: Movement): Posting {
  const moved = post(account, movement, deps.clock(), deps.sha256)
  store.writePosting(tx, moved.account, moved.posting)
  return moved.posting
}

/** Moves money into the shop from `source`, or back to it. */
async function fund(
  deps: LedgerDeps,
  tx: Tx,
  customer: CustomerId,
  of: {
    kind: 'credit' | 'debit'
    amount: Kopecks
    source: string
    note: string
    reference: string | null
    key?: string
  },
): Promise<Posting> {
  const { kind, note, reference, key = null } = of
  if (of.amount <= 0n) throw new RangeError(`a ${kind} is more than nothing`)
  const account = await lock(tx, customer)
  const amount = kind === 'debit' ? negate(of.amount) : of.amount
  return move(deps, tx, account, { ...plain, kind, house: `funds:${of.source}`, amount, note, reference, key })
}

/** Charges an account that this transaction has locked. A price of zero moves nothing. */
export async function charge(
  deps: LedgerDeps,
  tx: Tx,
  account: Account,
  by: Payer,
  sale: { price: Kopecks; product: string; order: OrderId; note: string },
): Promise<Posting | undefined> {
  if (sale.price === 0n) return undefined
  const posting = move(deps, tx, account, {
    ...plain,
    kind: 'charge',
    house: `revenue:${sale.product}`,
    amount: negate(sale.price),
    order: sale.order,
    token: by.token?.id ?? null,
    note: sale.note,
  })
  if (by.token && by.token.cap !== null) {
    const spent = await store.findSpent(tx, by.token.id)
    store.writeSpent(tx, by.token.id, spentAfter(spent, sale.price, by.token.cap))
  }
  return posting
}

/** Refuses an amount that the payer's token may not spend now. */
export async function assertWithinCap(_: LedgerDeps, tx: Tx, { token }: Payer, amount: Kopecks): Promise<void> {
  if (token && token.cap !== null) spentAfter(await store.findSpent(tx, token.id), amount, token.cap)
}

/** A top-up that is no payment: an operator's, a bonus or a share. `reference` is the payment that it belongs to. */
export const credit = (
  deps: LedgerDeps,
  tx: Tx,
  customer: CustomerId,
  amount: Kopecks,
  source: string,
  note: string,
  reference: string | null = null,
): Promise<Posting> => fund(deps, tx, customer, { kind: 'credit', amount, source, note, reference })

/**
 * The money of a payment. Its id is the posting's key too: the unique index of keys refuses a second credit, also one
 * by hand under that key.
 */
export const creditPayment = (
  deps: LedgerDeps,
  tx: Tx,
  customer: CustomerId,
  amount: Kopecks,
  provider: string,
  note: string,
  payment: string,
): Promise<Posting> =>
  fund(deps, tx, customer, { kind: 'credit', amount, source: provider, note, reference: payment, key: payment })

/** Money of a payment that its provider took back. The balance may become a debt, on which nothing is sold. */
export const chargeback = (
  deps: LedgerDeps,
  tx: Tx,
  customer: CustomerId,
  amount: Kopecks,
  source: string,
  note: string,
  reference: string,
): Promise<Posting> => fund(deps, tx, customer, { kind: 'debit', amount, source, note, reference })

/** Whether a movement brings a balance or a debt nearer to zero: of an erased customer, the shop may write it off. */
const isWriteOff = (before: Kopecks, amount: Kopecks): boolean =>
  amount < 0n ? before + amount >= 0n : before + amount <= 0n

/** An operator's credit or debit. The same one again under its key returns the first posting; another is refused. */
export async function adjust(
  deps: LedgerDeps,
  tx: Tx,
  customer: CustomerId,
  { kind, note, key, reference, ...given }: Adjustment,
): Promise<{ readonly posting: Posting; readonly isRepeat: boolean }> {
  if (given.amount <= 0n) throw new RangeError('an adjustment is more than nothing')
  const account = await lock(tx, customer)
  const amount = kind === 'debit' ? negate(given.amount) : given.amount
  const earlier = key === null ? undefined : await store.findByKey(tx, key)
  if (earlier) {
    const isSame = earlier.customer === customer && earlier.amount === amount && earlier.reference === reference
    if (!isSame) throw keyMovedOther(earlier.customer, earlier.seq)
    return { posting: earlier, isRepeat: true }
  }
  if (!isWriteOff(account.balance, amount) && (await store.isErased(tx, customer))) throw erasedCustomer()
  const movement = { ...plain, kind, house: 'funds:operator', amount, note, key, reference } as const
  return { posting: move(deps, tx, account, movement), isRepeat: false }
}

/**
 * Refunds a charge, whole or in part, to the token and the revenue account that it was counted for. A charge is
 * refunded once, unless `how` is 'in parts'. Refunds never sum to more than the charge.
 */
export async function refund(
  deps: LedgerDeps,
  tx: Tx,
  customer: CustomerId,
  seq: number,
  amount: Kopecks | 'all',
  note: string,
  how: 'once' | 'in parts' = 'once',
): Promise<Posting> {
  const account = await lock(tx, customer)
  const charged = await store.findPosting(tx, customer, seq)
  if (charged?.kind !== 'charge') throw new Refusal('charge_not_found', {}, { charged: false })
  const before = await store.sumRefunds(tx, customer, seq)
  if (before > 0n && how === 'once') throw alreadyRefunded(before)
  const left = subtract(negate(charged.amount), before)
  const given = amount === 'all' ? left : amount
  if (given <= 0n || given > left) throw refundTooLarge(left)
  const { house, order, token } = charged
  if (token) store.reduceSpent(tx, token, given)
  return move(deps, tx, account, { ...plain, kind: 'refund', house, amount: given, order, token, refundOf: seq, note })
}

/** Sets the balance below which the customer gets an event. */
export async function setAlert(deps: LedgerDeps, customer: CustomerId, below: Kopecks | null): Promise<void> {
  const changed = await deps.db.transact((tx) => store.setAlert(tx, customer, below))
  if (changed === 0) throw noAccount()
}

export async function balance(
  deps: LedgerDeps,
  customer: CustomerId,
): Promise<Pick<Account, 'balance' | 'apiSpent' | 'alertBelow'>> {
  const account = await store.findAccount(deps.db, customer)
  if (!account) throw noAccount()
  return account
}

/** Whether money was ever posted to the customer's account. */
export const isFunded = async ({ db }: LedgerDeps, customer: CustomerId): Promise<boolean> =>
  ((await store.findAccount(db, customer))?.seq ?? 0) > 0

/** The orders of charges below `before`, newest charge first. */
export const chargedOrders = (
  deps: LedgerDeps,
  customer: CustomerId,
  before: number,
  limit: number,
  reader: Reader = deps.db,
): Promise<OrderId[]> => store.listCharges(reader, customer, before, limit)

/** The posting number below which an order without a charge sorts. */
export async function positionAmongCharges(deps: LedgerDeps, customer: CustomerId, order: string): Promise<number> {
  return ((await store.findChargeBelow(deps.db, customer, order)) ?? 0) + 1
}

/** A page of postings, newest first. */
export const history = (
  deps: LedgerDeps,
  customer: CustomerId,
  before: number | undefined,
  limit: number,
): Promise<Posting[]> => store.listPostings(deps.db, customer, before ?? Number.MAX_SAFE_INTEGER, limit)
