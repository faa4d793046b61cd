import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { checksumIn, checksumOf } from '../../../db/checksum.ts'
import { readWide, sendRows, type WideSum, wideSum } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { ByteAccountKey } from '../../traffic/accounts/rules.ts'
import type { RelayedBytes } from '../../traffic/leases/rules.ts'
import type { HostBytes } from './rules.ts'

function figuresOf(hour: number, { received, sent }: RelayedBytes) {
  const figures = [hour, received, sent]
  return [...figures, checksumOf(figures)]
}

/** The assignments that add to an existing row. */
function adding(table: 'traffic_hours' | 'traffic_hosts'): string {
  const [received, sent] = [`${table}.received + excluded.received`, `${table}.sent + excluded.sent`]
  return `received = ${received}, sent = ${sent}, checksum = ${checksumIn([`${table}.hour`, received, sent])}`
}

/** Adds to the hour. Rows are sorted, so that two reports do not deadlock. */
export const addHours = (tx: Tx, hour: number, relayed: readonly RelayedBytes[]): void =>
  sendRows(
    tx,
    'INSERT INTO traffic_hours (subuser_id, pool, hour, received, sent, checksum)',
    relayed.map((each) => [each.subuser, each.pool, ...figuresOf(hour, each)]),
    `ON CONFLICT (subuser_id, pool, hour) DO UPDATE SET ${adding('traffic_hours')}`,
  )

/** An account's hours, the latest first, locked. */
export const lockHours = (tx: Tx, { subuser, pool }: ByteAccountKey) =>
  tx.all<{ hour: bigint; received: bigint; sent: bigint }>(
    `SELECT hour, received, sent FROM traffic_hours WHERE subuser_id = $1 AND pool = $2 ORDER BY hour DESC FOR UPDATE`,
    [subuser, pool],
  )

export const reduceHour = (tx: Tx, of: ByteAccountKey, hour: bigint, received: bigint, sent: bigint): void =>
  tx.send(
    `UPDATE traffic_hours SET received = received - $4, sent = sent - $5,
       checksum = ${checksumIn(['hour', 'received - $4', 'sent - $5'])}
     WHERE subuser_id = $1 AND pool = $2 AND hour = $3`,
    [of.subuser, of.pool, hour, received, sent],
  )

export const addHosts = (tx: Tx, hour: number, relayed: readonly HostBytes[]): void =>
  sendRows(
    tx,
    'INSERT INTO traffic_hosts (subuser_id, pool, host, hour, received, sent, checksum)',
    relayed.map((each) => [each.subuser, each.pool, each.host, ...figuresOf(hour, each)]),
    `ON CONFLICT (subuser_id, pool, hour, host) DO UPDATE SET ${adding('traffic_hosts')}`,
  )

export const forgetHosts = (tx: Tx, before: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM traffic_hosts WHERE (subuser_id, pool, hour, host) IN
       (SELECT subuser_id, pool, hour, host FROM traffic_hosts WHERE hour < $1 ORDER BY hour LIMIT $2)`,
    [before, limit],
  )

export const forgetHostsOf = (tx: Tx, subuser: SubuserId): void =>
  tx.send('DELETE FROM traffic_hosts WHERE subuser_id = $1', [subuser])

/** The bytes of a sub-user since two moments, over all pools. */
export async function usedSince(reader: Reader, subuser: SubuserId, day: number, month: number) {
  const row = await reader.first<{ day: bigint | null; month: bigint | null }>(
    `SELECT CAST(SUM(CASE WHEN hour >= $2 THEN received + sent ELSE 0 END) AS BIGINT) AS day,
       CAST(SUM(received + sent) AS BIGINT) AS month
     FROM traffic_hours WHERE subuser_id = $1 AND hour >= $3`,
    [subuser, day, month],
  )
  return { day: row?.day ?? 0n, month: row?.month ?? 0n }
}

export async function totalUsed(reader: Reader, subuser: SubuserId): Promise<bigint> {
  const row = await reader.first<{ total: bigint | null }>(
    'SELECT CAST(SUM(received + sent) AS BIGINT) AS total FROM traffic_hours WHERE subuser_id = $1',
    [subuser],
  )
  return row?.total ?? 0n
}

/** Sub-user, pool and host that are left out are any of the customer's. */
export type UsageFilter = {
  readonly subuser?: SubuserId | undefined
  readonly pool?: string | undefined
  readonly host?: string | undefined
  readonly by: keyof typeof groupings
}

type UsageRow = { readonly key: string; readonly received: bigint; readonly sent: bigint }
type Span = { readonly customer: CustomerId; readonly from: number; readonly to: number; readonly limit: number }

/** GROUP BY expressions. */
const moments = { hour: 'CAST(hour AS TEXT)', day: 'CAST(hour - hour % 86400000 AS TEXT)' }
const groupings = { ...moments, pool: 'pool', subuser: 'subuser_id', host: 'host' }

/** Sums of relayed bytes: by hour or day in order, by anything else the largest first. */
export function sumUsage(reader: Reader, of: UsageFilter & Span): Promise<UsageRow[]> {
  const table = of.by === 'host' || of.host !== undefined ? 'traffic_hosts' : 'traffic_hours'
  const host = table === 'traffic_hosts' ? [of.host ?? ''] : []
  const sorted = of.by === 'hour' || of.by === 'day' ? '1' : 'SUM(received + sent) DESC, 1'
  return reader.all<UsageRow>(
    `SELECT ${groupings[of.by]} AS key, CAST(SUM(received) AS BIGINT) AS received, CAST(SUM(sent) AS BIGINT) AS sent
     FROM ${table}
     WHERE hour >= $1 AND hour < $2 AND subuser_id IN (SELECT id FROM subusers WHERE customer_id = $3)
       AND ($4 = '' OR subuser_id = $4) AND ($5 = '' OR pool = $5)
       ${table === 'traffic_hosts' ? `AND ($7 = '' OR host = $7)` : ''}
     GROUP BY ${groupings[of.by]} ORDER BY ${sorted} LIMIT $6`,
    [of.from, of.to, of.customer, of.subuser ?? '', of.pool ?? '', of.limit, ...host],
  )
}

type ExitUserRow = Record<'customer_id' | 'subuser_id' | 'login' | 'pool', string> &
  Record<'hour' | 'received' | 'sent', bigint>

/**
 * Sub-users with traffic between two hours in a pool of which the address is or was an exit; to one host, as far as
 * hosts are kept, or to any ('').
 */
export function findExitUsers(
  reader: Reader,
  of: Readonly<{ exit: string; from: number; to: number; host: string; limit: number }>,
) {
  const table = of.host === '' ? 'traffic_hours' : 'traffic_hosts'
  return reader.all<ExitUserRow>(
    `SELECT subusers.customer_id, subuser_id, subusers.login, pool, hour, received, sent
     FROM ${table} JOIN subusers ON subusers.id = subuser_id
     WHERE hour BETWEEN $2 AND $3 AND pool IN (SELECT pool FROM exits WHERE kind = 'local' AND host = $1)
       AND received + sent > 0 ${of.host === '' ? '' : 'AND host = $5'}
     ORDER BY hour, subuser_id, pool LIMIT $4`,
    [of.exit, of.from, of.to, of.limit, ...(of.host === '' ? [] : [of.host])],
  )
}

type SumRow = WideSum<'received' | 'sent'> & ByteAccountKey

/** The bytes of each account over all hours, a page at a time, for `verify`. */
export async function hoursAfter(reader: Reader, after: { subuser: string; pool: string }, limit: number) {
  const rows = await reader.all<SumRow>(
    `SELECT subuser_id AS subuser, pool, ${wideSum('received', 'received')}, ${wideSum('sent', 'sent')}
     FROM traffic_hours WHERE (subuser_id, pool) > ($1, $2)
     GROUP BY subuser_id, pool ORDER BY subuser_id, pool LIMIT $3`,
    [after.subuser, after.pool, limit],
  )
  return rows.map(toSums)
}

/** The bytes to each host since an hour, a page at a time, for `verify`. */
export async function hostsAfter(
  reader: Reader,
  sinceAt: number,
  after: { subuser: string; pool: string; host: string },
  limit: number,
): Promise<HostBytes[]> {
  const rows = await reader.all<SumRow & { host: string }>(
    `SELECT subuser_id AS subuser, pool, host, ${wideSum('received', 'received')}, ${wideSum('sent', 'sent')}
     FROM traffic_hosts WHERE hour >= $1 AND (subuser_id, pool, host) > ($2, $3, $4)
     GROUP BY subuser_id, pool, host ORDER BY subuser_id, pool, host LIMIT $5`,
    [sinceAt, after.subuser, after.pool, after.host, limit],
  )
  return rows.map((row) => ({ ...toSums(row), host: row.host }))
}

/** Hours and hosts whose checksum does not match. */
export function unsoundHours(reader: Reader, limit: number) {
  const sound = checksumIn(['hour', 'received', 'sent'])
  return reader.all<ByteAccountKey & { host: string }>(
    `SELECT subuser_id AS subuser, pool, '' AS host FROM traffic_hours WHERE checksum <> ${sound}
     UNION ALL SELECT subuser_id, pool, host FROM traffic_hosts WHERE checksum <> ${sound} LIMIT $1`,
    [limit],
  )
}

const toSums = (row: SumRow): RelayedBytes => ({
  subuser: row.subuser,
  pool: row.pool,
  received: readWide(row, 'received'),
  sent: readWide(row, 'sent'),
})
