import type { CustomerId } from '../../../core/ids.ts'
import { type Kopecks, kopecks } from '../../../core/money.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'

/** How much whoever brought a customer gets of the first so many top-ups. */
export type ReferralTerms = { readonly hundredths: number; readonly topUps: number }

export async function findTerms(reader: Reader): Promise<ReferralTerms | undefined> {
  const row = await reader.first<{ hundredths: bigint; top_ups: bigint }>(
    'SELECT hundredths, top_ups FROM referral_terms WHERE one = 1',
  )
  return row && { hundredths: Number(row.hundredths), topUps: Number(row.top_ups) }
}

export function writeTerms(tx: Tx, { hundredths, topUps }: ReferralTerms, at: number): void {
  tx.send(
    `INSERT INTO referral_terms (one, hundredths, top_ups, changed_at) VALUES (1, $1, $2, $3)
     ON CONFLICT (one) DO UPDATE SET hundredths = $1, top_ups = $2, changed_at = $3`,
    [hundredths, topUps, at],
  )
}

/** False if somebody has brought this customer already. */
export async function insertReferral(tx: Tx, customer: CustomerId, referrer: CustomerId, at: number): Promise<boolean> {
  const added = await tx.run(
    'INSERT INTO referrals (customer_id, referrer_id, at) VALUES ($1, $2, $3) ON CONFLICT (customer_id) DO NOTHING',
    [customer, referrer, at],
  )
  return added === 1
}

export async function findReferrer(reader: Reader, customer: CustomerId): Promise<CustomerId | undefined> {
  const row = await reader.first<{ referrer_id: string }>('SELECT referrer_id FROM referrals WHERE customer_id = $1', [
    customer,
  ])
  return row?.referrer_id as CustomerId | undefined
}

/** What a customer is known by to those whom he brings, if he ever asked for it. */
export async function findCode(reader: Reader, customer: CustomerId): Promise<string | undefined> {
  const row = await reader.first<{ code: string }>('SELECT code FROM referral_codes WHERE customer_id = $1', [customer])
  return row?.code
}

export async function findByCode(reader: Reader, code: string): Promise<CustomerId | undefined> {
  const row = await reader.first<{ customer_id: string }>('SELECT customer_id FROM referral_codes WHERE code = $1', [
    code,
  ])
  return row?.customer_id as CustomerId | undefined
}

/** False if he has one, or somebody else has this one. */
export async function insertCode(tx: Tx, customer: CustomerId, code: string, at: number): Promise<boolean> {
  const added = await tx.run(
    'INSERT INTO referral_codes (customer_id, code, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [customer, code, at],
  )
  return added === 1
}

/** How many a customer has brought, and what their payments have brought him, less what went back. */
export async function sumBrought(reader: Reader, referrer: CustomerId): Promise<{ brought: number; earned: Kopecks }> {
  const row = await reader.first<{ brought: bigint; earned: bigint | null }>(
    `SELECT (SELECT COUNT(*) FROM referrals WHERE referrer_id = $1) AS brought,
       (SELECT CAST(SUM(payment_changes.amount) AS BIGINT) FROM referrals
        JOIN payments ON payments.customer_id = referrals.customer_id
        JOIN payment_changes ON payment_changes.payment_id = payments.id
        WHERE referrals.referrer_id = $1 AND payment_changes.kind IN ('share', 'share_back')) AS earned`,
    [referrer],
  )
  return { brought: Number(row?.brought ?? 0n), earned: kopecks(row?.earned ?? 0n) }
}

export async function listReferrals(
  reader: Reader,
  limit: number,
): Promise<{ customer: string; referrer: string; at: number }[]> {
  const rows = await reader.all<{ customer_id: string; referrer_id: string; at: bigint }>(
    'SELECT customer_id, referrer_id, at FROM referrals ORDER BY at DESC, customer_id LIMIT $1',
    [limit],
  )
  return rows.map((row) => ({ customer: row.customer_id, referrer: row.referrer_id, at: Number(row.at) }))
}
