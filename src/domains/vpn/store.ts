import { type Bytes, bytes } from '../../core/bytes.ts'
import type { CustomerId, OrderId, TokenId } from '../../core/ids.ts'
import { type Kopecks, kopecks } from '../../core/money.ts'
import { list, numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { RefundRule, Subscription, SubscriptionId, Term } from './rules.ts'

type SubscriptionRow = {
  uuid: string
  customer_id: string
  anchor_day: bigint
  expires_at: bigint
  device_limit: bigint
  traffic_limit: bigint | null
  speed_mbit: bigint | null
  received: bigint
  sent: bigint
  auto_renew_months: bigint | null
  renew_token_id: string | null
  renew_after: bigint
  renew_problem: string | null
  link_digest: Uint8Array
  link_secret: Uint8Array | null
  created_at: bigint
  disabled_at: bigint | null
  swept_at: bigint | null
  deleted_at: bigint | null
}

type TermRow = {
  subscription_uuid: string
  seq: bigint
  order_id: string
  months: bigint
  price: bigint
  starts_at: bigint
  ends_at: bigint
  traffic_grant: bigint | null
  used_before: bigint
  refund: string
  refunded: bigint
}

/** A subscription with its secret link: the digest that finds it, and the sealed text that shows it again. */
export type Kept = {
  readonly subscription: Subscription
  readonly link: { readonly digest: Uint8Array; readonly sealed: Uint8Array | null }
}

const maybeBytes = (value: bigint | null): Bytes | null => (value === null ? null : bytes(value))

const toKept = (row: SubscriptionRow): Kept => ({
  subscription: {
    uuid: row.uuid as SubscriptionId,
    customer: row.customer_id as CustomerId,
    anchorDay: Number(row.anchor_day),
    expiresAt: Number(row.expires_at),
    deviceLimit: Number(row.device_limit),
    trafficLimit: maybeBytes(row.traffic_limit),
    speedMegabits: numberOrNull(row.speed_mbit),
    received: bytes(row.received),
    sent: bytes(row.sent),
    autoRenewMonths: numberOrNull(row.auto_renew_months),
    renewToken: row.renew_token_id as TokenId | null,
    renewAfter: Number(row.renew_after),
    renewProblem: row.renew_problem,
    createdAt: Number(row.created_at),
    disabledAt: numberOrNull(row.disabled_at),
    sweptAt: numberOrNull(row.swept_at),
    deletedAt: numberOrNull(row.deleted_at),
  },
  link: { digest: row.link_digest, sealed: row.link_secret },
})

const toTerm = (row: TermRow): Term => ({
  subscription: row.subscription_uuid as SubscriptionId,
  seq: Number(row.seq),
  order: row.order_id as OrderId,
  months: Number(row.months),
  price: kopecks(row.price),
  startsAt: Number(row.starts_at),
  endsAt: Number(row.ends_at),
  trafficGrant: maybeBytes(row.traffic_grant),
  usedBefore: bytes(row.used_before),
  refund: row.refund as RefundRule,
  refunded: kopecks(row.refunded),
})

export function insertSubscription(tx: Tx, of: Subscription, link: { digest: Uint8Array; sealed: Uint8Array }): void {
  tx.send(
    `INSERT INTO vpn_subscriptions (uuid, customer_id, anchor_day, expires_at, device_limit, traffic_limit, speed_mbit,
       received, sent, auto_renew_months, renew_token_id, renew_after, link_digest, link_secret, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      of.uuid,
      of.customer,
      of.anchorDay,
      of.expiresAt,
      of.deviceLimit,
      of.trafficLimit,
      of.speedMegabits,
      of.received,
      of.sent,
      of.autoRenewMonths,
      of.renewToken,
      of.renewAfter,
      link.digest,
      link.sealed,
      of.createdAt,
    ],
  )
}

/** What renewing changes. The row is locked, so this is what was decided on. */
export function writeRenewal(tx: Tx, of: Subscription): void {
  tx.send(
    `UPDATE vpn_subscriptions SET anchor_day = $2, expires_at = $3, device_limit = $4, traffic_limit = $5,
       speed_mbit = $6, renew_after = 0, renew_problem = NULL, swept_at = NULL WHERE uuid = $1`,
    [of.uuid, of.anchorDay, of.expiresAt, of.deviceLimit, of.trafficLimit, of.speedMegabits],
  )
}

/** An order pays for one term at most: a second one with its id fails here. */
export function insertTerm(tx: Tx, term: Term): void {
  tx.send(
    `INSERT INTO vpn_terms (subscription_uuid, seq, order_id, months, price, starts_at, ends_at,
       traffic_grant, used_before, refund, refunded)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      term.subscription,
      term.seq,
      term.order,
      term.months,
      term.price,
      term.startsAt,
      term.endsAt,
      term.trafficGrant,
      term.usedBefore,
      term.refund,
      term.refunded,
    ],
  )
}

export async function listTerms(reader: Reader, uuids: readonly SubscriptionId[]): Promise<Term[]> {
  if (uuids.length === 0) return []
  const rows = await reader.all<TermRow>(
    `SELECT * FROM vpn_terms WHERE subscription_uuid IN (${list(uuids.length)}) ORDER BY subscription_uuid, seq`,
    uuids,
  )
  return rows.map(toTerm)
}

export async function countTerms(reader: Reader): Promise<number> {
  return Number((await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM vpn_terms'))?.n ?? 0n)
}

export function writeRefund(tx: Tx, term: Term, amount: Kopecks): void {
  tx.send('UPDATE vpn_terms SET refunded = $3 WHERE subscription_uuid = $1 AND seq = $2', [
    term.subscription,
    term.seq,
    amount,
  ])
}

/** A customer's subscriptions that are not deleted, oldest first. Another customer's is as good as none. */
export async function listOf(reader: Reader, customer: CustomerId): Promise<Kept[]> {
  const rows = await reader.all<SubscriptionRow>(
    'SELECT * FROM vpn_subscriptions WHERE customer_id = $1 AND deleted_at IS NULL ORDER BY uuid',
    [customer],
  )
  return rows.map(toKept)
}

/** Until the transaction ends nobody else renews it, adds a device to it or deletes it. */
export async function lockSubscription(tx: Tx, uuid: SubscriptionId): Promise<Kept | undefined> {
  const row = await tx.first<SubscriptionRow>(
    'SELECT * FROM vpn_subscriptions WHERE uuid = $1 AND deleted_at IS NULL FOR UPDATE',
    [uuid],
  )
  return row && toKept(row)
}

/** Locks several, deleted ones too, in the order of their ids, so that two transactions never wait for one another. */
export async function lockMany(tx: Tx, uuids: readonly string[]): Promise<Subscription[]> {
  const rows = await tx.all<SubscriptionRow>(
    `SELECT * FROM vpn_subscriptions WHERE uuid IN (${list(uuids.length)}) ORDER BY uuid FOR UPDATE`,
    uuids,
  )
  return rows.map((row) => toKept(row).subscription)
}

export async function findSubscription(reader: Reader, uuid: SubscriptionId): Promise<Kept | undefined> {
  const row = await reader.first<SubscriptionRow>(
    'SELECT * FROM vpn_subscriptions WHERE uuid = $1 AND deleted_at IS NULL',
    [uuid],
  )
  return row && toKept(row)
}

export async function findByLink(reader: Reader, digest: Uint8Array): Promise<Kept | undefined> {
  const row = await reader.first<SubscriptionRow>(
    'SELECT * FROM vpn_subscriptions WHERE link_digest = $1 AND deleted_at IS NULL',
    [digest],
  )
  return row && toKept(row)
}

/** The old link finds nothing from this commit on. */
export function writeLink(tx: Tx, uuid: SubscriptionId, link: { digest: Uint8Array; sealed: Uint8Array }): void {
  tx.send('UPDATE vpn_subscriptions SET link_digest = $2, link_secret = $3 WHERE uuid = $1', [
    uuid,
    link.digest,
    link.sealed,
  ])
}

/** A deleted subscription keeps its row for the books, and no secret. */
export function markDeleted(tx: Tx, uuid: SubscriptionId, nowMs: number): void {
  tx.send(
    'UPDATE vpn_subscriptions SET deleted_at = $2, link_secret = NULL, auto_renew_months = NULL WHERE uuid = $1',
    [uuid, nowMs],
  )
}

export function writeDisabled(tx: Tx, uuid: SubscriptionId, at: number | null): void {
  tx.send('UPDATE vpn_subscriptions SET disabled_at = $2 WHERE uuid = $1', [uuid, at])
}

/** Who sets it last is whose spending it is. */
export function writeAutoRenew(tx: Tx, uuid: SubscriptionId, months: number | null, token: TokenId | null): void {
  tx.send(
    `UPDATE vpn_subscriptions SET auto_renew_months = $2, renew_token_id = $3, renew_after = 0, renew_problem = NULL
     WHERE uuid = $1`,
    [uuid, months, token],
  )
}

/** Why a renewal was refused, and when to try again; only while it is still asked for. */
export function writeRenewProblem(tx: Tx, uuid: SubscriptionId, problem: string, after: number): void {
  tx.send(
    `UPDATE vpn_subscriptions SET renew_problem = $2, renew_after = $3
     WHERE uuid = $1 AND auto_renew_months IS NOT NULL`,
    [uuid, problem, after],
  )
}

/**
 * Those that renew by themselves, end before `endsBefore`, and were not refused a moment ago; the most urgent first.
 */
export async function listDue(
  reader: Reader,
  endsBefore: number,
  nowMs: number,
  most: number,
): Promise<Subscription[]> {
  const rows = await reader.all<SubscriptionRow>(
    `SELECT * FROM vpn_subscriptions
     WHERE auto_renew_months IS NOT NULL AND deleted_at IS NULL AND disabled_at IS NULL
       AND expires_at <= $1 AND renew_after <= $2
     ORDER BY expires_at, uuid LIMIT $3`,
    [endsBefore, nowMs, most],
  )
  return rows.map((row) => toKept(row).subscription)
}

/** Those that ended before `endedBefore` and still hold what is to be swept away. */
export async function listLapsed(reader: Reader, endedBefore: number, most: number): Promise<SubscriptionId[]> {
  const rows = await reader.all<{ uuid: string }>(
    `SELECT uuid FROM vpn_subscriptions WHERE swept_at IS NULL AND deleted_at IS NULL AND expires_at <= $1
     ORDER BY expires_at, uuid LIMIT $2`,
    [endedBefore, most],
  )
  return rows.map((row) => row.uuid as SubscriptionId)
}

export function markSwept(tx: Tx, uuid: SubscriptionId, nowMs: number): void {
  tx.send('UPDATE vpn_subscriptions SET swept_at = $2, auto_renew_months = NULL WHERE uuid = $1', [uuid, nowMs])
}

export function takeTraffic(tx: Tx, uuid: SubscriptionId, received: Bytes, sent: Bytes): void {
  tx.send('UPDATE vpn_subscriptions SET received = received - $2, sent = sent - $3 WHERE uuid = $1', [
    uuid,
    received,
    sent,
  ])
}

/** No term says that more had been used before it than was used in all; the limit is what the terms then grant. */
export function writeUsedBefore(tx: Tx, uuid: SubscriptionId, used: Bytes, limit: Bytes | null): void {
  tx.send('UPDATE vpn_terms SET used_before = $2 WHERE subscription_uuid = $1 AND used_before > $2', [uuid, used])
  tx.send('UPDATE vpn_subscriptions SET traffic_limit = $2 WHERE uuid = $1', [uuid, limit])
}

export function addTraffic(tx: Tx, uuid: SubscriptionId, received: Bytes, sent: Bytes): void {
  tx.send('UPDATE vpn_subscriptions SET received = received + $2, sent = sent + $3 WHERE uuid = $1', [
    uuid,
    received,
    sent,
  ])
}

/** Every subscription, deleted ones too, a page at a time, for `verify`. */
export async function pageAll(reader: Reader, after: string, limit: number): Promise<Kept[]> {
  const rows = await reader.all<SubscriptionRow>(
    'SELECT * FROM vpn_subscriptions WHERE uuid > $1 ORDER BY uuid LIMIT $2',
    [after, limit],
  )
  return rows.map(toKept)
}

/** How many devices a customer's subscriptions that run have room for. */
export async function sumPlaces(reader: Reader, customer: CustomerId, nowMs: number): Promise<number> {
  const row = await reader.first<{ places: bigint }>(
    `SELECT CAST(COALESCE(SUM(device_limit), 0) AS BIGINT) AS places FROM vpn_subscriptions
     WHERE customer_id = $1 AND deleted_at IS NULL AND expires_at > $2`,
    [customer, nowMs],
  )
  return Number(row?.places ?? 0n)
}

export async function countOf(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    'SELECT COUNT(*) AS n FROM vpn_subscriptions WHERE customer_id = $1 AND deleted_at IS NULL',
    [customer],
  )
  return Number(row?.n ?? 0n)
}

export async function countActive(reader: Reader, nowMs: number): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    'SELECT COUNT(*) AS n FROM vpn_subscriptions WHERE deleted_at IS NULL AND expires_at > $1',
    [nowMs],
  )
  return Number(row?.n ?? 0n)
}

/** Who has subscriptions that run now, and which of them renew themselves. */
export async function findHeld(reader: Reader, nowMs: number) {
  const row = await reader.first<{ subscriptions: bigint; customers: bigint }>(
    `SELECT COUNT(*) AS subscriptions, COUNT(DISTINCT customer_id) AS customers FROM vpn_subscriptions
     WHERE deleted_at IS NULL AND expires_at > $1`,
    [nowMs],
  )
  const [services, customers] = [Number(row?.subscriptions ?? 0n), Number(row?.customers ?? 0n)]
  if (services === 0) return []
  return [{ goods: { product: 'vpn' as const }, customers, services, renewals: await countRenewals(reader, nowMs) }]
}

/** How many of them renew themselves, by the months that they will be renewed for. */
async function countRenewals(reader: Reader, nowMs: number): Promise<Map<number, number>> {
  const rows = await reader.all<{ auto_renew_months: bigint; n: bigint }>(
    `SELECT auto_renew_months, COUNT(*) AS n FROM vpn_subscriptions
     WHERE deleted_at IS NULL AND expires_at > $1 AND auto_renew_months IS NOT NULL GROUP BY auto_renew_months`,
    [nowMs],
  )
  return new Map(rows.map((row) => [Number(row.auto_renew_months), Number(row.n)]))
}
