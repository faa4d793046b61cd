import { columnsOf, int, oneOf, orNull, type Row } from '../../../db/columns.ts'
import { allOf, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { Outage, OutageCause } from './rules.ts'

const columns = columnsOf<Outage>({
  proxy: int('proxy_id'),
  fromAt: int('from_at'),
  untilAt: orNull(int('until_at')),
  cause: oneOf('cause', ['outage', 'quarantine']),
  given: orNull(oneOf('given', ['time', 'money', 'nothing'])),
  expiresBefore: orNull(int('expires_before')),
  expiresAfter: orNull(int('expires_after')),
})

/** Opens outages. Constraints refuse a second open one of a proxy, and one over counted time. */
export function open(tx: Tx, outages: readonly Pick<Outage, 'proxy' | 'fromAt' | 'cause'>[]): void {
  const rows = outages.map((each) => [each.proxy, each.fromAt, each.cause])
  sendRows(tx, 'INSERT INTO proxy_outages (proxy_id, from_at, cause)', rows)
  for (const { proxy, fromAt, cause } of outages) {
    tx.send('UPDATE proxies SET interrupted_at = $2, interrupted_by = $3 WHERE id = $1', [proxy, fromAt, cause])
  }
}

/** Turns an open outage into a quarantine, or back; its beginning stays. */
export function setCause(tx: Tx, proxy: number, cause: OutageCause): void {
  tx.send('UPDATE proxy_outages SET cause = $2 WHERE proxy_id = $1 AND until_at IS NULL', [proxy, cause])
  tx.send('UPDATE proxies SET interrupted_by = $2 WHERE id = $1', [proxy, cause])
}

/** Ends the open outage of a proxy, with its compensation. */
export function close(tx: Tx, of: Omit<Outage, 'fromAt' | 'cause'>): void {
  tx.send(
    `UPDATE proxy_outages SET until_at = $2, given = $3, expires_before = $4, expires_after = $5
     WHERE proxy_id = $1 AND until_at IS NULL`,
    [of.proxy, of.untilAt, of.given, of.expiresBefore, of.expiresAfter],
  )
  tx.send('UPDATE proxies SET interrupted_at = NULL, interrupted_by = NULL WHERE id = $1', [of.proxy])
}

/** The earliest beginning of each proxy's next outage: after the last one ended and began. */
export async function soonest(reader: Reader, proxies: readonly number[]): Promise<Map<number, number>> {
  const rows = await allOf<{ proxy_id: bigint; last: bigint }>(
    reader,
    proxies,
    (ids) =>
      `SELECT proxy_id, MAX(CASE WHEN until_at > from_at THEN until_at ELSE from_at + 1 END) AS last FROM proxy_outages
       WHERE until_at IS NOT NULL AND proxy_id IN (${ids}) GROUP BY proxy_id`,
  )
  return new Map(rows.map((row) => [Number(row.proxy_id), Number(row.last)]))
}

/** The outages of these proxies, ordered by proxy and beginning. */
export async function outagesOf(reader: Reader, proxies: readonly number[]): Promise<Outage[]> {
  const sql = (among: string) => `SELECT * FROM proxy_outages WHERE proxy_id IN (${among}) ORDER BY proxy_id, from_at`
  return (await allOf<Row>(reader, proxies, sql)).map(columns.read)
}

/** Every outage, ordered by proxy and beginning, for `verify`. */
export const outagesAfter = (reader: Reader, after: Pick<Outage, 'proxy' | 'fromAt'>, limit: number) =>
  columns.all(
    reader,
    `SELECT * FROM proxy_outages WHERE (proxy_id, from_at) > ($1, $2) ORDER BY proxy_id, from_at LIMIT $3`,
    [after.proxy, after.fromAt, limit],
  )
