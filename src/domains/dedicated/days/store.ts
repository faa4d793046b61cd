import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { big, columnsOf, int, type Row } from '../../../db/columns.ts'
import { allOf, readWide, sendIn, sendRows, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'

/** Bytes that a report adds to a proxy. */
export type ProxyBytes = { readonly proxy: number; readonly received: bigint; readonly sent: bigint }

/** Adds to the rows of a day. Proxies are in the order of their counts, so that two reports do not deadlock. */
export function addToDay(tx: Tx, day: number, added: readonly ProxyBytes[]): void {
  const [received, sent] = ['proxy_days.received + excluded.received', 'proxy_days.sent + excluded.sent']
  sendRows(
    tx,
    'INSERT INTO proxy_days (proxy_id, day_at, received, sent, checksum)',
    added.map((each) => [each.proxy, day, each.received, each.sent, checksumOf([day, each.received, each.sent])]),
    `ON CONFLICT (proxy_id, day_at) DO UPDATE SET
       received = ${received}, sent = ${sent}, checksum = ${checksumIn(['proxy_days.day_at', received, sent])}`,
  )
}

const days = columnsOf({ proxy: int('proxy_id'), day: int('day_at'), received: big('received'), sent: big('sent') })

/** The days with traffic of these proxies since a day. */
export async function daysOf(reader: Reader, proxies: readonly number[], fromAt: number) {
  const sql = (among: string) => `SELECT * FROM proxy_days WHERE day_at >= $1 AND proxy_id IN (${among})`
  return (await allOf<Row>(reader, proxies, sql, [fromAt])).map(days.read)
}

/** Deletes the days of proxies that are gone. */
export const forgetProxies = (tx: Tx, proxies: readonly number[]): void =>
  sendIn(tx, proxies, (among) => `DELETE FROM proxy_days WHERE proxy_id IN (${among})`)

export const forgetDays = (tx: Tx, before: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM proxy_days WHERE (proxy_id, day_at) IN
       (SELECT proxy_id, day_at FROM proxy_days WHERE day_at < $1 ORDER BY day_at LIMIT $2)`,
    [before, limit],
  )

/** Proxies with days, in the order of their ids: the sums, and how many of their rows have a wrong checksum. */
export async function sumsAfter(reader: Reader, after: number, limit: number) {
  const rows = await reader.all<WideSum<'received' | 'sent'> & { proxy_id: bigint; unsound: bigint }>(
    `SELECT proxy_id, ${wideSum('received', 'received')}, ${wideSum('sent', 'sent')},
       COUNT(CASE WHEN checksum <> ${checksumIn(['day_at', 'received', 'sent'])} THEN 1 END) AS unsound
     FROM proxy_days WHERE proxy_id > $1 GROUP BY proxy_id ORDER BY proxy_id LIMIT $2`,
    [after, limit],
  )
  return rows.map((row) => ({
    proxy: Number(row.proxy_id),
    bytes: readWide(row, 'received') + readWide(row, 'sent'),
    isSound: row.unsound === 0n,
  }))
}
