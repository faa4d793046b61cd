import type { NoticeId, PaymentId } from '../../core/ids.ts'
import { kopecks } from '../../core/money.ts'
import { numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Notice, NoticeReason } from './rules.ts'

type NoticeRow = {
  id: string
  provider: string
  provider_id: string
  reason: string
  payment_id: string | null
  amount: bigint | null
  currency: string | null
  at: bigint
  resolved_at: bigint | null
  resolution: string | null
}

const toNotice = (row: NoticeRow): Notice => ({
  id: row.id as NoticeId,
  provider: row.provider,
  providerId: row.provider_id,
  reason: row.reason as NoticeReason,
  payment: row.payment_id as PaymentId | null,
  amount: row.amount === null ? null : kopecks(row.amount),
  currency: row.currency,
  at: Number(row.at),
  resolvedAt: numberOrNull(row.resolved_at),
  resolution: row.resolution,
})

/**
 * Kept once for each thing that is wrong with one payment at a provider, however often it is said. If more has gone
 * back than an `excess` notice says, it names the new total and waits again, resolved or not.
 */
export function insertNotice(tx: Tx, notice: Notice): void {
  tx.send(
    `INSERT INTO payment_notices
       (id, provider, provider_id, reason, payment_id, amount, currency, at, resolved_at, resolution)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (provider, provider_id, reason) DO UPDATE
       SET amount = excluded.amount, at = excluded.at, resolved_at = NULL, resolution = NULL
       WHERE payment_notices.reason = 'excess' AND excluded.amount > payment_notices.amount`,
    [
      notice.id,
      notice.provider,
      notice.providerId,
      notice.reason,
      notice.payment,
      notice.amount,
      notice.currency,
      notice.at,
      notice.resolvedAt,
      notice.resolution,
    ],
  )
}

export async function countUnresolved(reader: Reader): Promise<number> {
  const row = await reader.first<{ n: bigint }>('SELECT COUNT(*) AS n FROM payment_notices WHERE resolved_at IS NULL')
  return Number(row?.n ?? 0n)
}

/** Oldest first; those that were dealt with only if they are wanted. */
export async function listNotices(reader: Reader, withResolved: boolean, limit: number): Promise<Notice[]> {
  const rows = await reader.all<NoticeRow>(
    'SELECT * FROM payment_notices WHERE resolved_at IS NULL OR CAST($1 AS BIGINT) = 1 ORDER BY id LIMIT $2',
    [withResolved ? 1 : 0, limit],
  )
  return rows.map(toNotice)
}

export async function lockUnresolved(tx: Tx, id: NoticeId): Promise<Notice | undefined> {
  const row = await tx.first<NoticeRow>(
    'SELECT * FROM payment_notices WHERE id = $1 AND resolved_at IS NULL FOR UPDATE',
    [id],
  )
  return row && toNotice(row)
}

export function resolveNotice(tx: Tx, id: NoticeId, at: number, resolution: string): void {
  tx.send('UPDATE payment_notices SET resolved_at = $2, resolution = $3 WHERE id = $1', [id, at, resolution])
}

export type ProviderRow = {
  name: string
  settings: string
  secret: Uint8Array | null
  enabled: bigint
  changed_at: bigint
}

export const findProvider = (reader: Reader, name: string): Promise<ProviderRow | undefined> =>
  reader.first<ProviderRow>('SELECT * FROM payment_providers WHERE name = $1', [name])

export const listProviders = (reader: Reader): Promise<ProviderRow[]> =>
  reader.all<ProviderRow>('SELECT * FROM payment_providers ORDER BY name')

export function writeProvider(tx: Tx, row: ProviderRow): void {
  tx.send(
    `INSERT INTO payment_providers (name, settings, secret, enabled, changed_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (name) DO UPDATE SET settings = $2, secret = $3, enabled = $4, changed_at = $5`,
    [row.name, row.settings, row.secret, row.enabled, row.changed_at],
  )
}
