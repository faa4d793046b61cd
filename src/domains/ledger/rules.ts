import {
  type Chain,
  emptyChain,
  endingWith,
  type LinkFields,
  nextPosition,
  type Sha256,
  sealEntry,
} from '../../core/chain.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { add, type Kopecks, kopecks, maxKopecks, negate, subtract } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { balanceTooSmall, capReached, insufficientFunds } from './errors.ts'

export type PostingKind = 'credit' | 'charge' | 'refund' | 'debit'

/** Whether a posting moves money into or out of the shop, not for a sale or its refund. */
export const isFunding = (kind: PostingKind): boolean => kind === 'credit' || kind === 'debit'

/** A house account: the source of funds, or the product that earned revenue. */
type HouseAccount = `funds:${string}` | `revenue:${string}`

/** A customer's account. Its postings form a hash chain. */
export type Account = Chain & {
  readonly customer: CustomerId
  readonly balance: Kopecks
  readonly apiSpent: Kopecks
  /** How often the customer was blocked or one of the customer's tokens revoked. */
  readonly revocationEpoch: number
  /** The customer gets an event when the balance falls below this; null is never. */
  readonly alertBelow: Kopecks | null
}

/** A movement before it is posted. `amount` is signed as the customer sees it. */
export type Movement = {
  readonly kind: PostingKind
  readonly house: HouseAccount
  readonly amount: Kopecks
  readonly order: OrderId | null
  readonly token: TokenId | null
  readonly refundOf: number | null
  readonly note: string
  /** Idempotency key of an operator's movement. */
  readonly key: string | null
  /** The payment's id. */
  readonly reference: string | null
}

export type Posting = Movement & {
  readonly customer: CustomerId
  readonly seq: number
  readonly balanceAfter: Kopecks
  readonly at: number
  readonly hash: Uint8Array
}

export const openAccount = (customer: CustomerId): Account => ({
  customer,
  balance: kopecks(0n),
  apiSpent: kopecks(0n),
  revocationEpoch: 0,
  alertBelow: null,
  ...emptyChain,
})

/** Only a provider's chargeback may take a balance below zero, and a credit may leave it there. */
export const mayLeaveDebt = ({ kind, house, amount }: Pick<Movement, 'kind' | 'house' | 'amount'>): boolean =>
  amount > 0n || (kind === 'debit' && house !== 'funds:operator')

/** Refuses a price above the balance, before stock is taken. */
export function assertCovers(account: Account, price: Kopecks): void {
  if (price > account.balance) throw insufficientFunds(price, account.balance)
}

/** The account after a movement, and its posting. Refuses an overdraft and a balance above the exact JSON range. */
export function post(
  account: Account,
  movement: Movement,
  nowMs: number,
  sha256: Sha256,
): { account: Account; posting: Posting } {
  if (account.balance + movement.amount < 0n && !mayLeaveDebt(movement)) {
    const refused = movement.kind === 'debit' ? balanceTooSmall : insufficientFunds
    throw refused(negate(movement.amount), account.balance)
  }
  if (account.balance + movement.amount > maxKopecks) throw new Refusal('balance_too_large', {}, { charged: false })
  const balance = add(account.balance, movement.amount)
  const unsealed = { ...movement, customer: account.customer, ...nextPosition(account, nowMs), balanceAfter: balance }
  const hash = sealEntry(account.head, fieldsOf(unsealed), sha256)
  const posting = { ...unsealed, hash }
  const apiSpent = apiSpentAfter(account.apiSpent, movement)
  return { account: { ...account, balance, apiSpent, ...endingWith(posting) }, posting }
}

/** The hashed fields of a posting. Their order never changes. */
export const fieldsOf = (posting: Omit<Posting, 'hash'>): LinkFields => [
  posting.customer,
  posting.seq,
  posting.kind,
  posting.house,
  String(posting.amount),
  String(posting.balanceAfter),
  posting.order,
  posting.token,
  posting.refundOf,
  posting.note,
  posting.at,
  posting.key,
  posting.reference,
]

/** Money spent through tokens, less refunds of it. */
export function apiSpentAfter(spent: Kopecks, movement: Pick<Movement, 'kind' | 'amount' | 'token'>): Kopecks {
  return movement.token === null || isFunding(movement.kind) ? spent : subtract(spent, movement.amount)
}

/** A token's spending after a charge; refuses to exceed its cap. */
export function spentAfter(spent: Kopecks, amount: Kopecks, cap: Kopecks): Kopecks {
  if (spent + amount > cap) throw capReached(cap, spent)
  return add(spent, amount)
}

/** A checkpoint without its own hash. */
export type CheckpointContent = {
  readonly number: number
  readonly upto: number
  readonly accounts: number
  readonly postings: number
  readonly balances: bigint
  readonly digest: Uint8Array
  readonly madeAt: number
  readonly history: { readonly versions: number; readonly digest: Uint8Array }
}

/** The hashed text of a checkpoint. */
export const checkpointText = (previous: Uint8Array, of: CheckpointContent): string =>
  JSON.stringify([
    previous.toHex(),
    of.number,
    of.upto,
    of.accounts,
    of.postings,
    String(of.balances),
    of.digest.toHex(),
    of.history.versions,
    of.history.digest.toHex(),
    of.madeAt,
  ])

/** A checkpoint as it is stored. */
export type Checkpoint = CheckpointContent & { readonly hash: Uint8Array }
