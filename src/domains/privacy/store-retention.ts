import { checksumOf } from '../../db/checksum.ts'
import { list, padded } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

/** A bounded number of each kind; tells of the most that one kind had. */
export async function forgetSources(tx: Tx, before: number, limit: number): Promise<number> {
  const tokens = await tx.run(
    `UPDATE tokens SET used_from = NULL WHERE id IN
       (SELECT id FROM tokens WHERE used_from IS NOT NULL AND used_at < $1 LIMIT $2)`,
    [before, limit],
  )
  const entries = await tx.run(
    `UPDATE whitelist_entries SET last_used_at = NULL WHERE (subuser_id, prefix) IN
       (SELECT subuser_id, prefix FROM whitelist_entries WHERE last_used_at < $1 LIMIT $2)`,
    [before, limit],
  )
  const devices = await tx.run(
    `UPDATE vpn_peers SET last_handshake_at = NULL WHERE id IN
       (SELECT id FROM vpn_peers WHERE last_handshake_at < $1 LIMIT $2)`,
    [before, limit],
  )
  return Math.max(tokens, entries, devices)
}

type Account = { readonly subuser_id: string; readonly pool: string }
type Hour = { readonly hour: bigint; readonly received: bigint; readonly sent: bigint }

export async function firstHour(reader: Reader): Promise<number | undefined> {
  const row = await reader.first<{ first: bigint | null }>('SELECT MIN(hour) AS first FROM traffic_hours')
  return row?.first === null || row?.first === undefined ? undefined : Number(row.first)
}

/** Accounts that have an hour before this moment besides the first ones of months. */
export function accountsToFold(
  reader: Reader,
  before: number,
  monthStarts: readonly number[],
  limit: number,
): Promise<Account[]> {
  const starts = padded(monthStarts)
  return reader.all<Account>(
    `SELECT DISTINCT subuser_id, pool FROM traffic_hours
     WHERE hour < $1 AND hour NOT IN (${list(starts.length, 2)}) LIMIT $2`,
    [before, limit, ...starts],
  )
}

export function lockHours(tx: Tx, of: Account, before: number): Promise<Hour[]> {
  return tx.all<Hour>(
    `SELECT hour, received, sent FROM traffic_hours WHERE subuser_id = $1 AND pool = $2 AND hour < $3
     ORDER BY hour FOR UPDATE`,
    [of.subuser_id, of.pool, before],
  )
}

/** The hours of a month as one, which begins with the month. What they add up to stays. */
export async function foldMonth(tx: Tx, of: Account, month: number, hours: readonly Hour[]): Promise<void> {
  if (hours.length === 1 && hours[0]?.hour === BigInt(month)) return
  let [received, sent] = [0n, 0n]
  for (const each of hours) {
    received += each.received
    sent += each.sent
  }
  const last = hours.at(-1)?.hour ?? BigInt(month)
  await tx.run('DELETE FROM traffic_hours WHERE subuser_id = $1 AND pool = $2 AND hour BETWEEN $3 AND $4', [
    of.subuser_id,
    of.pool,
    month,
    last,
  ])
  await tx.run(
    `INSERT INTO traffic_hours (subuser_id, pool, hour, received, sent, checksum) VALUES ($1, $2, $3, $4, $5, $6)`,
    [of.subuser_id, of.pool, month, received, sent, checksumOf([month, received, sent])],
  )
}
