import { checksumIn } from '../../../db/checksum.ts'
import { readWide, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader } from '../../../db/transaction.ts'
import type { ByteAccountKey } from '../../traffic/accounts/rules.ts'

export type HourSums = ByteAccountKey & { readonly received: bigint; readonly sent: bigint }

type Row = WideSum<'received' | 'sent'> & ByteAccountKey

/** What was carried over all hours, account after account, a page at a time. */
export async function hoursAfter(reader: Reader, after: ByteAccountKey, limit: number): Promise<HourSums[]> {
  const rows = await reader.all<Row>(
    `SELECT subuser_id AS subuser, pool, ${wideSum('received', 'received')}, ${wideSum('sent', 'sent')}
     FROM traffic_hours WHERE (subuser_id, pool) > ($1, $2)
     GROUP BY subuser_id, pool ORDER BY subuser_id, pool LIMIT $3`,
    [after.subuser, after.pool, limit],
  )
  return rows.map(toSums)
}

export type HostSums = HourSums & { readonly host: string }

/** What went to each host since an hour, a page at a time. */
export async function hostsAfter(
  reader: Reader,
  sinceAt: number,
  after: ByteAccountKey & { readonly host: string },
  limit: number,
): Promise<HostSums[]> {
  const rows = await reader.all<Row & { host: string }>(
    `SELECT subuser_id AS subuser, pool, host, ${wideSum('received', 'received')}, ${wideSum('sent', 'sent')}
     FROM traffic_hosts WHERE hour >= $1 AND (subuser_id, pool, host) > ($2, $3, $4)
     GROUP BY subuser_id, pool, host ORDER BY subuser_id, pool, host LIMIT $5`,
    [sinceAt, after.subuser, after.pool, after.host, limit],
  )
  return rows.map((row) => ({ ...toSums(row), host: row.host }))
}

/** Hours and hosts whose figures are not those that were written. */
export async function unsoundHours(
  reader: Reader,
  most: number,
): Promise<(ByteAccountKey & { readonly host: string })[]> {
  const sound = checksumIn(['hour', 'received', 'sent'])
  return reader.all(
    `SELECT subuser_id AS subuser, pool, '' AS host FROM traffic_hours WHERE checksum <> ${sound}
     UNION ALL SELECT subuser_id, pool, host FROM traffic_hosts WHERE checksum <> ${sound} LIMIT $1`,
    [most],
  )
}

const toSums = (row: Row): HourSums => ({
  subuser: row.subuser,
  pool: row.pool,
  received: readWide(row, 'received'),
  sent: readWide(row, 'sent'),
})
