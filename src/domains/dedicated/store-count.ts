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
