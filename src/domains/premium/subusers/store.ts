import type { CustomerId, OrderId, SubuserId } from '../../../core/ids.ts'
import { numberOrNull } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { Limits, Subuser } from './rules.ts'

type Row = {
  id: string
  customer_id: string
  login: string
  name: string
  is_default: bigint
  blocked_at: bigint | null
  deleted_at: bigint | null
  day_bytes: bigint | null
  month_bytes: bigint | null
  total_bytes: bigint | null
  tunnels: bigint | null
  keep_hosts: bigint
  created_at: bigint
  changed_at: bigint
}

const toSubuser = (row: Row): Subuser => ({
  id: row.id as SubuserId,
  customer: row.customer_id as CustomerId,
  login: row.login,
  name: row.name,
  isDefault: row.is_default === 1n,
  blockedAt: numberOrNull(row.blocked_at),
  deletedAt: numberOrNull(row.deleted_at),
  limits: {
    dayBytes: row.day_bytes,
    monthBytes: row.month_bytes,
    totalBytes: row.total_bytes,
    tunnels: numberOrNull(row.tunnels),
  },
  keepHosts: row.keep_hosts === 1n,
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
})

const columns = `id, customer_id, login, name, is_default, blocked_at, deleted_at, day_bytes, month_bytes, total_bytes,
  tunnels, keep_hosts, created_at, changed_at`

export type Secret = { readonly sealed: Uint8Array; readonly digest: Uint8Array }

/**
 * False when the login is taken or the customer has a default sub-user already: the constraint decides, not the look
 * before.
 */
export async function insertSubuser(tx: Tx, of: Subuser, secret: Secret): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO subusers (${columns}, password, digest)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING`,
    [
      of.id,
      of.customer,
      of.login,
      of.name,
      of.isDefault ? 1 : 0,
      of.blockedAt,
      of.deletedAt,
      of.limits.dayBytes,
      of.limits.monthBytes,
      of.limits.totalBytes,
      of.limits.tunnels,
      of.keepHosts ? 1 : 0,
      of.createdAt,
      of.changedAt,
      secret.sealed,
      secret.digest,
    ],
  )
  return added === 1
}

export async function findDefault(reader: Reader, customer: CustomerId): Promise<Subuser | undefined> {
  const row = await reader.first<Row>(`SELECT ${columns} FROM subusers WHERE customer_id = $1 AND is_default = 1`, [
    customer,
  ])
  return row && toSubuser(row)
}

/** Somebody else's sub-user, and one that was deleted, is as good as none. */
export async function findSubuser(reader: Reader, customer: CustomerId, id: SubuserId): Promise<Subuser | undefined> {
  const row = await reader.first<Row>(
    `SELECT ${columns} FROM subusers WHERE id = $1 AND customer_id = $2 AND deleted_at IS NULL`,
    [id, customer],
  )
  return row && toSubuser(row)
}

/**
 * Whoever changes a sub-user, or what hangs on its limits and ports, takes turns on its row. Sorted, so that nobody
 * deadlocks.
 */
export async function lockSubuser(tx: Tx, id: SubuserId): Promise<Subuser | undefined> {
  const row = await tx.first<Row>(`SELECT ${columns} FROM subusers WHERE id = $1 FOR NO KEY UPDATE`, [id])
  return row && toSubuser(row)
}

/** Any sub-user, for what nodes report. */
export async function findAnySubuser(reader: Reader, id: SubuserId): Promise<Subuser | undefined> {
  const row = await reader.first<Row>(`SELECT ${columns} FROM subusers WHERE id = $1`, [id])
  return row && toSubuser(row)
}

export async function listSubusers(
  reader: Reader,
  customer: CustomerId,
  after: string,
  limit: number,
): Promise<Subuser[]> {
  const rows = await reader.all<Row>(
    `SELECT ${columns} FROM subusers WHERE customer_id = $1 AND deleted_at IS NULL AND id > $2 ORDER BY id LIMIT $3`,
    [customer, after, limit],
  )
  return rows.map(toSubuser)
}

export async function countSubusers(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    'SELECT COUNT(*) AS n FROM subusers WHERE customer_id = $1 AND deleted_at IS NULL',
    [customer],
  )
  return Number(row?.n ?? 0n)
}

export function updateSubuser(
  tx: Tx,
  id: SubuserId,
  to: { name: string; blockedAt: number | null; limits: Limits; keepHosts: boolean },
  nowMs: number,
): void {
  tx.send(
    `UPDATE subusers SET name = $2, blocked_at = $3, day_bytes = $4, month_bytes = $5, total_bytes = $6, tunnels = $7,
       keep_hosts = $8, changed_at = $9 WHERE id = $1`,
    [
      id,
      to.name,
      to.blockedAt,
      to.limits.dayBytes,
      to.limits.monthBytes,
      to.limits.totalBytes,
      to.limits.tunnels,
      to.keepHosts ? 1 : 0,
      nowMs,
    ],
  )
}

/** Nodes look for what has changed since they last looked. */
export function touchSubuser(tx: Tx, id: SubuserId, nowMs: number): void {
  tx.send('UPDATE subusers SET changed_at = $2 WHERE id = $1', [id, nowMs])
}

export function closeSubuser(tx: Tx, id: SubuserId, heir: SubuserId, order: OrderId, nowMs: number): void {
  tx.send('UPDATE subusers SET deleted_at = $2, changed_at = $2, heir_id = $3, closing_order = $4 WHERE id = $1', [
    id,
    nowMs,
    heir,
    order,
  ])
}

/** Deleted sub-users with who inherits from them, in the order of their ids, a page at a time. */
export async function listDeleted(
  reader: Reader,
  after: string,
  limit: number,
): Promise<{ id: SubuserId; customer: CustomerId; heir: SubuserId; order: OrderId }[]> {
  const rows = await reader.all<{ id: string; customer_id: string; heir_id: string; closing_order: string }>(
    `SELECT id, customer_id, heir_id, closing_order FROM subusers
     WHERE deleted_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`,
    [after, limit],
  )
  return rows.map((row) => ({
    id: row.id as SubuserId,
    customer: row.customer_id as CustomerId,
    heir: row.heir_id as SubuserId,
    order: row.closing_order as OrderId,
  }))
}

export function writePassword(tx: Tx, id: SubuserId, secret: Secret, nowMs: number): void {
  tx.send('UPDATE subusers SET password = $2, digest = $3, changed_at = $4 WHERE id = $1', [
    id,
    secret.sealed,
    secret.digest,
    nowMs,
  ])
}

export async function findPassword(reader: Reader, id: SubuserId): Promise<Uint8Array> {
  const row = await reader.first<{ password: Uint8Array }>('SELECT password FROM subusers WHERE id = $1', [id])
  if (!row) throw new Error('a sub-user has no password')
  return row.password
}
