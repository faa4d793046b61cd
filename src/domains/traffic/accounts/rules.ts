import type { Bytes } from '../../../core/bytes.ts'
import {
  type Chain,
  endingWith,
  type Link,
  type LinkFields,
  nextPlace,
  type Sha256,
  sealEntry,
} from '../../../core/chain.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import { tooLittleTraffic, trafficFull } from '../errors.ts'

/** Whose bytes, and of which pool: each pair has one account. */
export type AccountKey = { readonly subuser: SubuserId; readonly pool: string }

/** What nodes' counts for an account are kept under. */
export const subjectOf = ({ subuser, pool }: AccountKey): string => `${subjects}${subuser}:${pool}`
export const subjects = 'premium:'

export function readSubject(subject: string): AccountKey | undefined {
  const match = /^premium:(sub_[0-9a-z]{26}):([a-z][a-z0-9_]{0,30})$/.exec(subject)
  return match?.[1] && match[2] ? { subuser: match[1] as SubuserId, pool: match[2] } : undefined
}

export type MovementKind =
  | 'bought'
  | 'moved_in'
  | 'moved_out'
  | 'leased'
  | 'returned'
  | 'lapsed'
  | 'used'
  | 'forgiven'
  | 'expired'
  | 'refunded'
  | 'restored'

/**
 * The bytes of one sub-user in one pool as they stand: free, set aside for nodes, owed, and used so far. Movements are
 * chained.
 */
export type ByteAccount = AccountKey &
  Chain & {
    readonly balance: bigint
    readonly aside: bigint
    readonly owed: bigint
    readonly used: bigint
  }

/** How an account stands, as a customer counts: what nodes have carried is used, settled or not. */
export type Standing = {
  readonly pool: string
  readonly left: Bytes
  readonly used: Bytes
  readonly updatedAt: number | null
}

/** Where a movement comes from: an order, or a node's count. */
export type Cause = { readonly order: OrderId } | { readonly node: string; readonly boot: string }

/** What a movement changes; each signed. */
export type Change = {
  readonly kind: MovementKind
  readonly amount: bigint
  readonly aside: bigint
  readonly owed: bigint
}

export type ByteMovement = AccountKey &
  Change &
  Link & {
    readonly balanceAfter: bigint
    readonly asideAfter: bigint
    readonly owedAfter: bigint
    readonly order: OrderId | null
    readonly node: string | null
    readonly boot: string | null
  }

/** A whole account is below eight petabytes, so that its gigabytes are an exact JSON number. */
const mostBytes = 8_000_000_000_000_000n

/** The account after a change, and the movement that records it. Refuses what would take the balance below zero. */
export function move(
  account: ByteAccount,
  change: Change,
  cause: Cause,
  nowMs: number,
  sha256: Sha256,
): { account: ByteAccount; movement: ByteMovement } {
  const balance = account.balance + change.amount
  const aside = account.aside + change.aside
  const owed = account.owed + change.owed
  if (balance < 0n) throw tooLittleTraffic(-change.amount, account.balance)
  if (aside < 0n || owed < 0n) throw new RangeError('more bytes would be taken than were set aside')
  if (balance + aside > mostBytes) throw trafficFull()
  const unsealed = {
    ...change,
    ...nextPlace(account, nowMs),
    subuser: account.subuser,
    pool: account.pool,
    balanceAfter: balance,
    asideAfter: aside,
    owedAfter: owed,
    order: 'order' in cause ? cause.order : null,
    node: 'node' in cause ? cause.node : null,
    boot: 'node' in cause ? cause.boot : null,
  }
  const movement = { ...unsealed, hash: sealEntry(account.head, fieldsOf(unsealed), sha256) }
  const used = account.used + usedBy(change)
  return { account: { ...account, balance, aside, owed, used, ...endingWith(movement) }, movement }
}

/** What a movement adds to the bytes that were billed. */
export function usedBy(change: Change): bigint {
  if (change.kind === 'restored') return -change.amount
  return change.kind === 'used' ? -(change.amount + change.aside) : 0n
}

/** What of a movement goes through its hash: every field, in an order that never changes. */
export const fieldsOf = (of: Omit<ByteMovement, 'hash'>): LinkFields => [
  of.subuser,
  of.pool,
  of.seq,
  of.kind,
  String(of.amount),
  String(of.aside),
  String(of.owed),
  String(of.balanceAfter),
  String(of.asideAfter),
  String(of.owedAfter),
  of.order,
  of.node,
  of.boot,
  of.at,
]

const change = (kind: MovementKind, amount: bigint, aside = 0n, owed = 0n): Change => ({ kind, amount, aside, owed })

/** Bytes that come in afresh. What was carried unpaid before is let go: the shop's fault is not the next purchase's. */
export function comeIn(account: ByteAccount, kind: 'bought' | 'moved_in', bytes: bigint): Change[] {
  const forgiven = account.owed > 0n ? [change('forgiven', 0n, 0n, -account.owed)] : []
  return [...forgiven, change(kind, bytes)]
}

export const goOut = (kind: 'moved_out' | 'expired' | 'refunded', bytes: bigint): Change => change(kind, -bytes)

export const setAside = (bytes: bigint): Change => change('leased', -bytes, bytes)

/** What was carried within a lease. */
export const spendAside = (bytes: bigint): Change => change('used', 0n, -bytes)

/** What was carried on a lapsed lease: paid as far as the balance goes, owed beyond. */
export function spendLate(account: ByteAccount, bytes: bigint): Change {
  const paid = bytes < account.balance ? bytes : account.balance
  return change('used', -paid, 0n, bytes - paid)
}

/** What a node has billed and did not carry. As with a lease, what is owed is paid of it first. */
export function restore(account: ByteAccount, bytes: bigint): Change {
  const paid = bytes < account.owed ? bytes : account.owed
  return change('restored', bytes - paid, 0n, -paid)
}

/** What comes back from a lease pays first what is owed: so never more than one lease a node goes unpaid. */
export function comeBack(account: ByteAccount, kind: 'returned' | 'lapsed', bytes: bigint): Change[] {
  const paid = bytes < account.owed ? bytes : account.owed
  return [change('used', 0n, -paid, -paid), change(kind, bytes - paid, paid - bytes)]
}

/** The bytes of an account that came with one order. `rest` is what is left of them, set aside or not. */
export type Lot = AccountKey & {
  readonly order: OrderId
  readonly expiresAt: number
  readonly size: bigint
  readonly rest: bigint
}

/** For bytes that never expire: later than any other end, so they are used last. */
export const never = Number.MAX_SAFE_INTEGER

/** Takes bytes from lots in the order given, as far as they go: those that end first come first. */
export function takeFromLots(lots: readonly Lot[], bytes: bigint): { lot: Lot; taken: bigint }[] {
  const takings: { lot: Lot; taken: bigint }[] = []
  let missing = bytes
  for (const lot of lots) {
    if (missing === 0n) break
    const taken = lot.rest < missing ? lot.rest : missing
    if (taken === 0n) continue
    takings.push({ lot, taken })
    missing -= taken
  }
  return takings
}

/** Puts bytes back into lots they may have come from, in the order given, none above what it came with. */
export function returnToLots(lots: readonly Lot[], bytes: bigint): { lot: Lot; returned: bigint }[] {
  const returns: { lot: Lot; returned: bigint }[] = []
  let missing = bytes
  for (const lot of lots) {
    const room = lot.size - lot.rest
    const returned = room < missing ? room : missing
    if (returned === 0n) continue
    returns.push({ lot, returned })
    missing -= returned
  }
  if (missing > 0n) throw new RangeError('more bytes would be restored than were used')
  return returns
}
