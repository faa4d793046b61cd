import type { Reader, Tx } from '../../../db/transaction.ts'
import type { CustomerId } from '../../../kernel/ids.ts'

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
