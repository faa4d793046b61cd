import type { Reader } from '../../db/transaction.ts'

/** How many proxies run now, and how many of them cannot be used. */
export async function countActive(reader: Reader, nowMs: number): Promise<{ active: number; interrupted: number }> {
  const row = await reader.first<{ active: bigint; interrupted: bigint }>(
    `SELECT COUNT(*) AS active, COUNT(interrupted_at) AS interrupted FROM proxies
     WHERE state = 'held' AND expires_at > $1`,
    [nowMs],
  )
  return { active: Number(row?.active ?? 0n), interrupted: Number(row?.interrupted ?? 0n) }
}

/** Who has proxies of each kind now, and how many of them. */
export async function countHeld(
  reader: Reader,
  nowMs: number,
): Promise<{ country: string; ipv: number; proxies: number; customers: number }[]> {
  const rows = await reader.all<{ country: string; ipv: bigint; proxies: bigint; customers: bigint }>(
    `SELECT country, ipv, COUNT(*) AS proxies, COUNT(DISTINCT customer_id) AS customers FROM proxies
     WHERE state = 'held' AND expires_at > $1 GROUP BY country, ipv ORDER BY country, ipv`,
    [nowMs],
  )
  return rows.map((row) => ({
    country: row.country,
    ipv: Number(row.ipv),
    proxies: Number(row.proxies),
    customers: Number(row.customers),
  }))
}

/** How many proxies of each kind renew themselves, by the term that they will be renewed for. */
export async function countRenewals(
  reader: Reader,
  nowMs: number,
): Promise<{ country: string; ipv: number; period: number; proxies: number }[]> {
  const rows = await reader.all<{ country: string; ipv: bigint; renew_period: bigint; proxies: bigint }>(
    `SELECT country, ipv, renew_period, COUNT(*) AS proxies FROM proxies
     WHERE state = 'held' AND expires_at > $1 AND renew_period IS NOT NULL GROUP BY country, ipv, renew_period`,
    [nowMs],
  )
  return rows.map((row) => ({
    country: row.country,
    ipv: Number(row.ipv),
    period: Number(row.renew_period),
    proxies: Number(row.proxies),
  }))
}
