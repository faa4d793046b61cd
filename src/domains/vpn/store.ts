import { type Bytes, bytes as toBytes } from '../../core/bytes.ts'
import type { CustomerId, TokenId } from '../../core/ids.ts'
import type { Kopecks } from '../../core/money.ts'
import {
  big,
  bytes,
  type Column,
  columnsOf,
  idColumn,
  int,
  money,
  oneOf,
  orNull,
  textColumn,
  valuesOf,
} from '../../db/columns.ts'
import { list } from '../../db/rows.ts'
import type { Reader, Tx, Value } from '../../db/transaction.ts'
import type { SlotPurchase, Subscription, SubscriptionId, Term } from './rules.ts'

export const size = (name: string): Column<Bytes> => ({
  name,
  read: (value) => toBytes(big(name).read(value)),
  write: (value) => value,
})

const subscriptions = columnsOf<Subscription>({
  uuid: idColumn('uuid'),
  customer: idColumn('customer_id'),
  anchorDay: int('anchor_day'),
  expiresAt: int('expires_at'),
  deviceLimit: int('device_limit'),
  slots: int('slots'),
  slotsEndAt: orNull(int('slots_end_at')),
  usedUpGroups: orNull(textColumn('used_up_groups')),
  trafficLimit: orNull(size('traffic_limit')),
  speedMegabits: orNull(int('speed_mbit')),
  received: size('received'),
  sent: size('sent'),
  autoRenewMonths: orNull(int('auto_renew_months')),
  renewToken: orNull(idColumn('renew_token_id')),
  renewAfter: int('renew_after'),
  renewProblem: orNull(textColumn('renew_problem')),
  linkDigest: bytes('link_digest'),
  sealedLink: orNull(bytes('link_secret')),
  createdAt: int('created_at'),
  disabledAt: orNull(int('disabled_at')),
  sweptAt: orNull(int('swept_at')),
  deletedAt: orNull(int('deleted_at')),
  name: orNull(textColumn('name')),
})

const terms = columnsOf<Term>({
  subscription: idColumn('subscription_uuid'),
  seq: int('seq'),
  order: idColumn('order_id'),
  months: int('months'),
  price: money('price'),
  startsAt: int('starts_at'),
  endsAt: int('ends_at'),
  trafficGrant: orNull(size('traffic_grant')),
  usedBefore: size('used_before'),
  refund: oneOf('refund', ['pro_rata', 'none']),
  refunded: money('refunded'),
  slots: int('slots'),
  deviceLimit: int('device_limit'),
})

const purchases = columnsOf<SlotPurchase>({
  order: idColumn('order_id'),
  subscription: idColumn('subscription_uuid'),
  afterTerm: int('after_term'),
  slots: int('slots'),
  price: money('price'),
  startsAt: int('starts_at'),
  endsAt: int('ends_at'),
  refund: oneOf('refund', ['pro_rata', 'none']),
  refunded: money('refunded'),
})

export const insertSubscription = (tx: Tx, of: Subscription): void =>
  tx.send(`INSERT INTO vpn_subscriptions (${subscriptions.names}) VALUES (${list(23)})`, subscriptions.values(of))

/** Writes what a renewal changes. The caller has locked the row. */
export const writeRenewal = (tx: Tx, of: Subscription): void =>
  tx.send(
    `UPDATE vpn_subscriptions SET anchor_day = $2, expires_at = $3, device_limit = $4, traffic_limit = $5,
       speed_mbit = $6, slots = $7, slots_end_at = $8, renew_after = 0, renew_problem = NULL,
       swept_at = NULL WHERE uuid = $1`,
    [of.uuid, of.anchorDay, of.expiresAt, of.deviceLimit, of.trafficLimit, of.speedMegabits, of.slots, of.slotsEndAt],
  )

/** An order pays for one term at most: a second one with its id fails here. */
export const insertTerm = (tx: Tx, term: Term): void =>
  tx.send(`INSERT INTO vpn_terms (${terms.names}) VALUES (${list(13)})`, terms.values(term))

export async function listTerms(reader: Reader, uuids: readonly SubscriptionId[]): Promise<Term[]> {
  if (uuids.length === 0) return []
  return terms.all(
    reader,
    `SELECT * FROM vpn_terms WHERE subscription_uuid IN (${list(uuids.length)}) ORDER BY subscription_uuid, seq`,
    uuids,
  )
}

export const countTerms = (reader: Reader): Promise<number> => count(reader, 'SELECT COUNT(*) AS n FROM vpn_terms')

/** The caller has locked the subscription. */
export function insertSlots(tx: Tx, of: SlotPurchase, limits: Pick<Subscription, 'slots' | 'deviceLimit'>): void {
  tx.send(`INSERT INTO vpn_slots (${purchases.names}) VALUES (${list(9)})`, purchases.values(of))
  const sql = 'UPDATE vpn_subscriptions SET slots = $2, device_limit = $3 WHERE uuid = $1'
  tx.send(sql, [of.subscription, limits.slots, limits.deviceLimit])
}

export async function listSlots(reader: Reader, uuids: readonly SubscriptionId[]): Promise<SlotPurchase[]> {
  if (uuids.length === 0) return []
  return purchases.all(
    reader,
    `SELECT * FROM vpn_slots WHERE subscription_uuid IN (${list(uuids.length)}) ORDER BY subscription_uuid, order_id`,
    uuids,
  )
}

/** Subscriptions whose slots have ended, the earliest first. */
export const listEndedSlots = (reader: Reader, nowMs: number, limit: number): Promise<SubscriptionId[]> =>
  valuesOf(idColumn<SubscriptionId>('uuid')).all(
    reader,
    'SELECT uuid FROM vpn_subscriptions WHERE slots_end_at <= $1 ORDER BY slots_end_at, uuid LIMIT $2',
    [nowMs, limit],
  )

export const writeLimit = (tx: Tx, { uuid, deviceLimit, slotsEndAt }: Subscription): void =>
  tx.send('UPDATE vpn_subscriptions SET device_limit = $2, slots_end_at = $3 WHERE uuid = $1', [
    uuid,
    deviceLimit,
    slotsEndAt,
  ])

export const writeUsedUpGroups = (tx: Tx, uuid: SubscriptionId, groups: string | null): void =>
  tx.send('UPDATE vpn_subscriptions SET used_up_groups = $2 WHERE uuid = $1', [uuid, groups])

/** Subscriptions that have used up a group of nodes, a page at a time. */
export const listUsedUp = (reader: Reader, after: string, limit: number): Promise<SubscriptionId[]> =>
  valuesOf(idColumn<SubscriptionId>('uuid')).all(
    reader,
    'SELECT uuid FROM vpn_subscriptions WHERE used_up_groups IS NOT NULL AND uuid > $1 ORDER BY uuid LIMIT $2',
    [after, limit],
  )

export const countSlots = (reader: Reader): Promise<number> => count(reader, 'SELECT COUNT(*) AS n FROM vpn_slots')

export const writeSlotsRefund = (tx: Tx, { order }: SlotPurchase, amount: Kopecks): void =>
  tx.send('UPDATE vpn_slots SET refunded = $2 WHERE order_id = $1', [order, amount])

const counts = valuesOf(int('n'))

/** The number that a `SELECT … AS n` answers. */
export const count = async (reader: Reader, sql: string, values: readonly Value[] = []): Promise<number> =>
  (await counts.first(reader, sql, values)) ?? 0

export function writeRefund(tx: Tx, { subscription, seq }: Term, amount: Kopecks): void {
  const sql = 'UPDATE vpn_terms SET refunded = $3 WHERE subscription_uuid = $1 AND seq = $2'
  tx.send(sql, [subscription, seq, amount])
}

/** A customer's subscriptions that are not deleted, oldest first. */
export const listOf = (reader: Reader, customer: CustomerId): Promise<Subscription[]> =>
  subscriptions.all(
    reader,
    'SELECT * FROM vpn_subscriptions WHERE customer_id = $1 AND deleted_at IS NULL ORDER BY uuid',
    [customer],
  )

/** Locks the row, so that renewals, new devices and deletion are serialised. */
export const lockSubscription = (tx: Tx, uuid: SubscriptionId): Promise<Subscription | undefined> =>
  subscriptions.first(tx, 'SELECT * FROM vpn_subscriptions WHERE uuid = $1 AND deleted_at IS NULL FOR UPDATE', [uuid])

/** Locks several, deleted ones too, in the order of their ids, so that transactions cannot deadlock. */
export const lockMany = (tx: Tx, uuids: readonly string[]): Promise<Subscription[]> =>
  subscriptions.all(
    tx,
    `SELECT * FROM vpn_subscriptions WHERE uuid IN (${list(uuids.length)}) ORDER BY uuid FOR UPDATE`,
    uuids,
  )

export const findSubscription = (reader: Reader, uuid: SubscriptionId): Promise<Subscription | undefined> =>
  subscriptions.first(reader, 'SELECT * FROM vpn_subscriptions WHERE uuid = $1 AND deleted_at IS NULL', [uuid])

export const findByLink = (reader: Reader, digest: Uint8Array): Promise<Subscription | undefined> =>
  subscriptions.first(reader, 'SELECT * FROM vpn_subscriptions WHERE link_digest = $1 AND deleted_at IS NULL', [digest])

/** Replaces the secret link; the old digest is gone with this commit. */
export function writeLink(tx: Tx, of: Pick<Subscription, 'uuid' | 'linkDigest' | 'sealedLink'>): void {
  const sql = 'UPDATE vpn_subscriptions SET link_digest = $2, link_secret = $3 WHERE uuid = $1'
  tx.send(sql, [of.uuid, of.linkDigest, of.sealedLink])
}

/** A deleted subscription keeps its row for the audit, and no secret. */
export const markDeleted = (tx: Tx, uuid: SubscriptionId, nowMs: number): void =>
  tx.send(
    'UPDATE vpn_subscriptions SET deleted_at = $2, link_secret = NULL, auto_renew_months = NULL WHERE uuid = $1',
    [uuid, nowMs],
  )

export const writeName = (tx: Tx, uuid: SubscriptionId, name: string | null): void =>
  tx.send('UPDATE vpn_subscriptions SET name = $2 WHERE uuid = $1', [uuid, name])

export const writeDisabled = (tx: Tx, uuid: SubscriptionId, at: number | null): void =>
  tx.send('UPDATE vpn_subscriptions SET disabled_at = $2 WHERE uuid = $1', [uuid, at])

/** The token that sets renewal last pays for it. */
export const writeAutoRenew = (tx: Tx, uuid: SubscriptionId, months: number | null, token: TokenId | null): void =>
  tx.send(
    `UPDATE vpn_subscriptions SET auto_renew_months = $2, renew_token_id = $3, renew_after = 0, renew_problem = NULL
     WHERE uuid = $1`,
    [uuid, months, token],
  )

/** Why a renewal was refused, and when to retry; only while automatic renewal is on. */
export const writeRenewProblem = (tx: Tx, uuid: SubscriptionId, problem: string, after: number): void =>
  tx.send(
    `UPDATE vpn_subscriptions SET renew_problem = $2, renew_after = $3
     WHERE uuid = $1 AND auto_renew_months IS NOT NULL`,
    [uuid, problem, after],
  )

/** Subscriptions to renew: they end before `endsBefore`, and their retry time has come; earliest end first. */
export const listDue = (reader: Reader, endsBefore: number, nowMs: number, limit: number): Promise<Subscription[]> =>
  subscriptions.all(
    reader,
    `SELECT * FROM vpn_subscriptions WHERE auto_renew_months IS NOT NULL AND deleted_at IS NULL AND disabled_at IS NULL
       AND expires_at <= $1 AND renew_after <= $2
     ORDER BY expires_at, uuid LIMIT $3`,
    [endsBefore, nowMs, limit],
  )

const endings = columnsOf({ uuid: idColumn<SubscriptionId>('uuid'), expiresAt: int('expires_at') })

/** Subscriptions that end after a position and up to a moment, in that order. Swept ones ended long ago. */
export const findEnding = (reader: Reader, after: { at: number; id: string }, untilAt: number, limit: number) =>
  endings.all(
    reader,
    `SELECT uuid, expires_at FROM vpn_subscriptions
     WHERE swept_at IS NULL AND deleted_at IS NULL AND (expires_at, uuid) > ($1, $2) AND expires_at <= $3
     ORDER BY expires_at, uuid LIMIT $4`,
    [after.at, after.id, untilAt, limit],
  )

/** Subscriptions with so little traffic left that an event is due. */
export const findLow = (reader: Reader, limit: number): Promise<SubscriptionId[]> =>
  valuesOf(idColumn<SubscriptionId>('uuid')).all(
    reader,
    `SELECT vpn_subscriptions.uuid FROM vpn_subscriptions
     JOIN traffic_alerts ON traffic_alerts.subject = 'vpn:' || vpn_subscriptions.uuid
     WHERE deleted_at IS NULL AND traffic_limit IS NOT NULL
       AND traffic_limit - received - sent <= traffic_alerts.due_left
     ORDER BY vpn_subscriptions.uuid LIMIT $1`,
    [limit],
  )

/** Subscriptions that ended before `endedBefore` and still hold devices and keys. */
export const listLapsed = (reader: Reader, endedBefore: number, limit: number): Promise<SubscriptionId[]> =>
  valuesOf(idColumn<SubscriptionId>('uuid')).all(
    reader,
    `SELECT uuid FROM vpn_subscriptions WHERE swept_at IS NULL AND deleted_at IS NULL AND expires_at <= $1
     ORDER BY expires_at, uuid LIMIT $2`,
    [endedBefore, limit],
  )

export const markSwept = (tx: Tx, uuid: SubscriptionId, nowMs: number): void =>
  tx.send('UPDATE vpn_subscriptions SET swept_at = $2, auto_renew_months = NULL WHERE uuid = $1', [uuid, nowMs])

/** Lowers `used_before` of terms to the traffic used in all, and writes the limit that the terms then grant. */
export function writeUsedBefore(tx: Tx, uuid: SubscriptionId, used: Bytes, limit: Bytes | null): void {
  tx.send('UPDATE vpn_terms SET used_before = $2 WHERE subscription_uuid = $1 AND used_before > $2', [uuid, used])
  tx.send('UPDATE vpn_subscriptions SET traffic_limit = $2 WHERE uuid = $1', [uuid, limit])
}

/** Adds to the byte totals; a negative number takes off what a node should not have counted. */
export function addTraffic(tx: Tx, uuid: SubscriptionId, received: bigint, sent: bigint): void {
  const sql = 'UPDATE vpn_subscriptions SET received = received + $2, sent = sent + $3 WHERE uuid = $1'
  tx.send(sql, [uuid, received, sent])
}

/** Every subscription, deleted ones too, a page at a time, for `verify`. */
export const pageAll = (reader: Reader, after: string, limit: number): Promise<Subscription[]> =>
  subscriptions.all(reader, 'SELECT * FROM vpn_subscriptions WHERE uuid > $1 ORDER BY uuid LIMIT $2', [after, limit])

/** How many devices a customer's unexpired subscriptions have room for. */
export const sumDeviceLimits = (reader: Reader, customer: CustomerId, nowMs: number): Promise<number> =>
  count(
    reader,
    `SELECT CAST(COALESCE(SUM(device_limit), 0) AS BIGINT) AS n FROM vpn_subscriptions
     WHERE customer_id = $1 AND deleted_at IS NULL AND expires_at > $2`,
    [customer, nowMs],
  )

export const countOf = (reader: Reader, customer: CustomerId): Promise<number> =>
  count(reader, 'SELECT COUNT(*) AS n FROM vpn_subscriptions WHERE customer_id = $1 AND deleted_at IS NULL', [customer])

export const countActive = (reader: Reader, nowMs: number): Promise<number> =>
  count(reader, 'SELECT COUNT(*) AS n FROM vpn_subscriptions WHERE deleted_at IS NULL AND expires_at > $1', [nowMs])

/** How many subscriptions end on each UTC day of a time, and how many of these renew automatically. */
export async function countEnding(reader: Reader, fromAt: number, toAt: number) {
  const rows = await reader.all<{ day: bigint; n: bigint; renewing: bigint }>(
    `SELECT expires_at / 86400000 AS day, COUNT(*) AS n,
       COUNT(CASE WHEN disabled_at IS NULL THEN auto_renew_months END) AS renewing FROM vpn_subscriptions
     WHERE swept_at IS NULL AND deleted_at IS NULL AND expires_at >= $1 AND expires_at < $2
     GROUP BY expires_at / 86400000`,
    [fromAt, toAt],
  )
  return rows.map((row) => ({ day: Number(row.day), all: Number(row.n), renewing: Number(row.renewing) }))
}

/** How many subscriptions run now, of how many customers, and how many renew automatically, by months. */
export async function findHeld(reader: Reader, nowMs: number) {
  const row = await reader.first<{ subscriptions: bigint; customers: bigint }>(
    `SELECT COUNT(*) AS subscriptions, COUNT(DISTINCT customer_id) AS customers FROM vpn_subscriptions
     WHERE deleted_at IS NULL AND expires_at > $1`,
    [nowMs],
  )
  const [services, customers] = [Number(row?.subscriptions ?? 0n), Number(row?.customers ?? 0n)]
  if (services === 0) return []
  const renewing = await reader.all<{ auto_renew_months: bigint; n: bigint }>(
    `SELECT auto_renew_months, COUNT(*) AS n FROM vpn_subscriptions
     WHERE deleted_at IS NULL AND expires_at > $1 AND auto_renew_months IS NOT NULL GROUP BY auto_renew_months`,
    [nowMs],
  )
  const renewals = new Map(renewing.map((each) => [Number(each.auto_renew_months), Number(each.n)]))
  return [{ goods: { product: 'vpn' as const }, customers, services, renewals }]
}

const duplicates = columnsOf({ what: textColumn('what'), value: textColumn('value'), held: int('held') })

/** Keys and addresses that more than one device holds, for `verify`; constraints forbid them. */
export const listDuplicates = (reader: Reader) =>
  duplicates.all(
    reader,
    `SELECT 'public key' AS what, public_key AS value, COUNT(*) AS held FROM vpn_peers
       WHERE removed_at IS NULL GROUP BY public_key HAVING COUNT(*) > 1
     UNION ALL
     SELECT 'IPv4 address', CAST(ipv4 AS TEXT), COUNT(*) FROM vpn_peers
       WHERE removed_at IS NULL GROUP BY ipv4 HAVING COUNT(*) > 1
     UNION ALL
     SELECT 'IPv6 address', ipv6, COUNT(*) FROM vpn_peers
       WHERE removed_at IS NULL GROUP BY ipv6 HAVING COUNT(*) > 1`,
  )

/** Devices whose address is not assigned to them in `vpn_addresses`. */
export const listWithoutAddress = (reader: Reader): Promise<string[]> =>
  valuesOf(textColumn('id')).all(
    reader,
    `SELECT p.id FROM vpn_peers p LEFT JOIN vpn_addresses a ON a.ipv4 = p.ipv4 AND a.peer_id = p.id
     WHERE p.removed_at IS NULL AND a.ipv4 IS NULL ORDER BY p.id`,
  )

/** Addresses in `vpn_addresses` that are assigned to a device which does not hold them. */
export const listStrayAddresses = (reader: Reader): Promise<bigint[]> =>
  valuesOf(big('ipv4')).all(
    reader,
    `SELECT a.ipv4 FROM vpn_addresses a
     LEFT JOIN vpn_peers p ON p.id = a.peer_id AND p.removed_at IS NULL AND p.ipv4 = a.ipv4
     WHERE a.peer_id IS NOT NULL AND p.id IS NULL ORDER BY a.ipv4`,
  )

/** Devices whose subscription does not exist. */
export const countOrphans = (reader: Reader): Promise<number> =>
  count(
    reader,
    `SELECT COUNT(*) AS n FROM vpn_peers p LEFT JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE s.uuid IS NULL`,
  )
