import { type Bytes, bytes as toBytes, toGigabytes } from '../../../core/bytes.ts'
import type { Chain, Link, LinkFields, Sha256 } from '../../../core/chain.ts'
import { endingWith, nextPosition, sealEntry } from '../../../core/chain.ts'
import type { OrderId, SubuserId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusal.ts'
import { least, maxBytes } from '../counts/rules.ts'

/** A sub-user has one byte account for each pool. */
export type ByteAccountKey = { readonly subuser: SubuserId; readonly pool: string }

export const accountSubjects = 'premium:'

/** The subject under which nodes count for an account. */
export const subjectOf = ({ subuser, pool }: ByteAccountKey): string => `${accountSubjects}${subuser}:${pool}`

export function readSubject(subject: string): ByteAccountKey | undefined {
  const match = /^premium:(sub_[0-9a-z]{26}):([a-z][a-z0-9_]{0,30})$/.exec(subject)
  return match?.[1] && match[2] ? { subuser: match[1] as SubuserId, pool: match[2] } : undefined
}

type ArrivalKind = 'bought' | 'moved_in'
type DepartureKind = 'moved_out' | 'expired' | 'refunded'
type ReturnKind = 'returned' | 'lapsed'
type MovementKind = ArrivalKind | DepartureKind | ReturnKind | 'leased' | 'used' | 'forgiven' | 'restored'

/** Bytes that are free, set aside for nodes, owed, and used so far. Movements are chained by hash. */
export type ByteAccount = ByteAccountKey & Chain & Readonly<Record<'balance' | 'aside' | 'owed' | 'used', bigint>>

/** What a customer sees of an account: bytes that nodes have relayed are used, settled or not. */
export type PoolBalance = {
  readonly pool: string
  readonly left: Bytes
  readonly used: Bytes
  readonly updatedAt: number | null
}

/** A movement is caused by an order, or by a node's boot. */
export type MovementCause = { readonly order: OrderId } | { readonly node: string; readonly boot: string }

/** The signed changes of one movement. */
export type MovementChange = { readonly kind: MovementKind } & Readonly<Record<'amount' | 'aside' | 'owed', bigint>>

export type ByteMovement = ByteAccountKey &
  MovementChange &
  Link &
  Readonly<Record<'balanceAfter' | 'asideAfter' | 'owedAfter', bigint>> &
  Readonly<Record<'node' | 'boot', string | null>> & { readonly order: OrderId | null }

/** The account after a change, and the movement that records it. Refuses to take the balance below zero. */
export function move(
  account: ByteAccount,
  change: MovementChange,
  cause: MovementCause,
  nowMs: number,
  sha256: Sha256,
): { account: ByteAccount; movement: ByteMovement } {
  const balance = account.balance + change.amount
  const aside = account.aside + change.aside
  const owed = account.owed + change.owed
  if (balance < 0n) {
    const [wanted, available] = [toBytes(-change.amount), toBytes(account.balance)]
    const facts = { required_gb: toGigabytes(wanted), available_gb: toGigabytes(available) }
    throw new Refusal('insufficient_traffic', facts, { ...facts, charged: false })
  }
  if (aside < 0n || owed < 0n) throw new RangeError('more bytes would be taken than were set aside')
  if (balance + aside > maxBytes) throw new Refusal('traffic_limit', {}, { charged: false })
  const { subuser, pool } = account
  const after = { balanceAfter: balance, asideAfter: aside, owedAfter: owed }
  const by = { order: null, node: null, boot: null, ...cause }
  const unsealed = { ...change, ...nextPosition(account, nowMs), subuser, pool, ...after, ...by }
  const movement = { ...unsealed, hash: sealEntry(account.head, fieldsOf(unsealed), sha256) }
  const used = account.used + usedBy(change)
  return { account: { ...account, balance, aside, owed, used, ...endingWith(movement) }, movement }
}

/** The bytes that a movement adds to those billed. */
export function usedBy(change: MovementChange): bigint {
  if (change.kind === 'restored') return -change.amount
  return change.kind === 'used' ? -(change.amount + change.aside) : 0n
}

/** Every field of a movement, in the fixed order in which they are hashed. */
export const fieldsOf = (of: Omit<ByteMovement, 'hash'>): LinkFields => [
  of.subuser,
  of.pool,
  of.seq,
  of.kind,
  ...[of.amount, of.aside, of.owed, of.balanceAfter, of.asideAfter, of.owedAfter].map(String),
  of.order,
  of.node,
  of.boot,
  of.at,
]

function toChange(kind: MovementKind, amount: bigint, aside = 0n, owed = 0n): MovementChange {
  return { kind, amount, aside, owed }
}

/** Bytes that arrive. A debt is forgiven: it was the shop's fault, and the next purchase does not pay for it. */
export function comeIn(account: ByteAccount, kind: ArrivalKind, bytes: bigint): MovementChange[] {
  const forgiven = account.owed > 0n ? [toChange('forgiven', 0n, 0n, -account.owed)] : []
  return [...forgiven, toChange(kind, bytes)]
}

export const goOut = (kind: DepartureKind, bytes: bigint): MovementChange => toChange(kind, -bytes)

export const setAside = (bytes: bigint): MovementChange => toChange('leased', -bytes, bytes)

/** Bytes relayed within a lease. */
export const spendAside = (bytes: bigint): MovementChange => toChange('used', 0n, -bytes)

/** Bytes relayed on a lapsed lease: paid as far as the balance goes, owed beyond. */
export function spendLate(account: ByteAccount, bytes: bigint): MovementChange {
  const paid = least(bytes, account.balance)
  return toChange('used', -paid, 0n, bytes - paid)
}

/** Bytes that a node billed and did not relay. They pay a debt first. */
export function restoration(account: ByteAccount, bytes: bigint): MovementChange {
  const paid = least(bytes, account.owed)
  return toChange('restored', bytes - paid, 0n, -paid)
}

/** Bytes that come back from a lease. They pay a debt first, so at most one lease per node goes unpaid. */
export function comeBack(account: ByteAccount, kind: ReturnKind, bytes: bigint): MovementChange[] {
  const paid = least(bytes, account.owed)
  return [toChange('used', 0n, -paid, -paid), toChange(kind, bytes - paid, paid - bytes)]
}

/** The bytes of an account that came with one order. `rest` is what is left of them, set aside or not. */
export type Lot = ByteAccountKey & {
  readonly order: OrderId
  readonly expiresAt: number
  readonly size: bigint
  readonly rest: bigint
}

/** Expiry of bytes that never expire: later than any other, so they are used last. */
export const never = Number.MAX_SAFE_INTEGER

/** Distributes bytes over lots in the order given, each up to its capacity. Returns the part that did not fit too. */
export function distribute(lots: readonly Lot[], amount: bigint, capacityOf: (lot: Lot) => bigint) {
  const shares: { lot: Lot; share: bigint }[] = []
  let missing = amount
  for (const lot of lots) {
    const share = least(capacityOf(lot), missing)
    if (share > 0n) shares.push({ lot, share })
    missing -= share
  }
  return { shares, missing }
}
