import { type Chain, emptyChain, type LinkFields, nextPlace, type Sha256, sealEntry } from '../../core/chain.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { add, type Kopecks, kopecks, maxKopecks, negate, subtract } from '../../core/money.ts'
import { balanceTooLarge, balanceTooSmall, capReached, insufficientFunds } from './errors.ts'

export type PostingKind = 'credit' | 'charge' | 'refund' | 'debit'

/** Money that comes in from outside or goes back there; nothing was sold or given back. */
export const isFunding = (kind: PostingKind): boolean => kind === 'credit' || kind === 'debit'

/** The accounts of the house: where money came from, and what it was earned with. */
export type HouseAccount = `funds:${string}` | `revenue:${string}`

/** A customer's account as it stands. Its postings are chained. */
export type Account = Chain & {
  readonly customer: CustomerId
  readonly balance: Kopecks
  readonly apiSpent: Kopecks
  /** How often its customer or one of his tokens was shut out: whoever was let in before may be one of them. */
  readonly revocationEpoch: number
}

/** A movement that is asked for. `amount` is signed as the customer sees it. */
export type Movement = {
  readonly kind: PostingKind
  readonly house: HouseAccount
  readonly amount: Kopecks
  readonly order: OrderId | null
  readonly token: TokenId | null
  readonly refundOf: number | null
  readonly note: string
  /** Under which an operator's movement happens once, whoever repeats it. */
  readonly key: string | null
  /** Of the payment that it stands for, as the payment's own books have it. */
  readonly reference: string | null
}

/** A movement that has been made. */
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
  ...emptyChain,
})

/**
 * Whether a movement may leave an account below zero: one that a payment provider has made by taking its money back, or
 * one that adds to what is below zero already. Nobody buys on a debt, and no operator's own debit makes one.
 */
export const mayLeaveDebt = ({ kind, house, amount }: Pick<Movement, 'kind' | 'house' | 'amount'>): boolean =>
  amount > 0n || (kind === 'debit' && house !== 'funds:operator')

/** Refuses early what the balance does not cover, before anything is taken that others could have had. */
export function assertCovers(account: Account, price: Kopecks): void {
  if (price > account.balance) throw insufficientFunds(price, account.balance)
}

/**
 * The account after a movement, and the posting that records it. Refuses what would take the balance below zero without
 * right, or past what a JSON number holds.
 */
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
  if (account.balance + movement.amount > maxKopecks) throw balanceTooLarge()
  const balance = add(account.balance, movement.amount)
  const unsealed = { ...movement, customer: account.customer, ...nextPlace(account, nowMs), balanceAfter: balance }
  const hash = sealEntry(account.head, fieldsOf(unsealed), sha256)
  return {
    account: {
      customer: account.customer,
      balance,
      apiSpent: apiSpentAfter(account.apiSpent, movement),
      seq: unsealed.seq,
      head: hash,
      lastAt: unsealed.at,
      revocationEpoch: account.revocationEpoch,
    },
    posting: { ...unsealed, hash },
  }
}

/** What of a posting goes through its hash: every field, in an order that never changes. */
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

/** Only what went through a token counts as spent through the API; a refund of it is taken off again. */
export function apiSpentAfter(spent: Kopecks, movement: Pick<Movement, 'kind' | 'amount' | 'token'>): Kopecks {
  return movement.token === null || isFunding(movement.kind) ? spent : subtract(spent, movement.amount)
}

/** What a token has spent after one more charge; refuses what would pass its cap. */
export function spentAfter(spent: Kopecks, amount: Kopecks, cap: Kopecks): Kopecks {
  if (spent + amount > cap) throw capReached(cap, spent)
  return add(spent, amount)
}

export const toHex = (bytes: Uint8Array): string => bytes.toHex()

/** What a checkpoint says of one account: the number of its last posting and that posting's hash. */
export const checkpointLine = (customer: string, seq: number, hash: Uint8Array): string =>
  `${customer} ${seq} ${toHex(hash)}\n`

/** A checkpoint but for its own hash. */
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

/** What goes through a checkpoint's own hash. */
export const checkpointText = (previous: Uint8Array, of: CheckpointContent): string =>
  JSON.stringify([
    toHex(previous),
    of.number,
    of.upto,
    of.accounts,
    of.postings,
    String(of.balances),
    toHex(of.digest),
    of.history.versions,
    toHex(of.history.digest),
    of.madeAt,
  ])
