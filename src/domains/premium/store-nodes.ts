import type { CustomerId, SubuserId } from '../../core/ids.ts'
import { list, numberOrNull, padded } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'

type Row = {
  id: string
  customer_id: string
  login: string
  digest: Uint8Array
  blocked_at: bigint | null
  deleted_at: bigint | null
  tunnels: bigint | null
  keep_hosts: bigint
  changed_at: bigint
}

export type NodeRow = {
  readonly id: SubuserId
  readonly customer: CustomerId
  readonly login: string
  readonly digest: Uint8Array
  readonly state: 'active' | 'blocked' | 'deleted'
  readonly tunnels: number | null
  readonly keepHosts: boolean
  readonly changedAt: number
}

const toNodeRow = (row: Row): NodeRow => ({
  id: row.id as SubuserId,
  customer: row.customer_id as CustomerId,
  login: row.login,
  digest: row.digest,
  state: row.deleted_at !== null ? 'deleted' : row.blocked_at !== null ? 'blocked' : 'active',
  tunnels: numberOrNull(row.tunnels),
  keepHosts: row.keep_hosts === 1n,
  changedAt: Number(row.changed_at),
})

/** What a node may know of a sub-user: the sealed password is not even read. */
const columns = 'id, customer_id, login, digest, blocked_at, deleted_at, tunnels, keep_hosts, changed_at'

/** Sub-users that changed after a position, oldest change first; only those that are there, or deleted ones too. */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  thereOnly: boolean,
): Promise<NodeRow[]> {
  const rows = await reader.all<Row>(
    `SELECT ${columns} FROM subusers WHERE (changed_at, id) > ($1, $2) ${thereOnly ? 'AND deleted_at IS NULL' : ''}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map(toNodeRow)
}

export async function findByLogin(reader: Reader, login: string): Promise<NodeRow | undefined> {
  const row = await reader.first<Row>(`SELECT ${columns} FROM subusers WHERE login = $1`, [login])
  return row && toNodeRow(row)
}

export async function findById(reader: Reader, id: SubuserId): Promise<NodeRow | undefined> {
  const row = await reader.first<Row>(`SELECT ${columns} FROM subusers WHERE id = $1`, [id])
  return row && toNodeRow(row)
}

/** Differs from what it was whenever a sub-user or an exit changed at `sinceAt` or later. */
export async function changeMark(reader: Reader, sinceAt: number): Promise<string> {
  const row = await reader.first<{ subusers: bigint; exits: bigint; subuser_sum: bigint; exit_sum: bigint }>(
    `SELECT
       (SELECT COUNT(*) FROM subusers WHERE changed_at >= $1) AS subusers,
       (SELECT CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) FROM subusers WHERE changed_at >= $1) AS subuser_sum,
       (SELECT COUNT(*) FROM exits WHERE changed_at >= $1) AS exits,
       (SELECT CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) FROM exits WHERE changed_at >= $1) AS exit_sum`,
    [sinceAt],
  )
  return `${row?.subusers} ${row?.subuser_sum} ${row?.exits} ${row?.exit_sum}`
}

/** Makes nodes look again at all sub-users of a customer. */
export function touchSubusers(tx: Tx, customer: CustomerId, nowMs: number): void {
  tx.send('UPDATE subusers SET changed_at = $2 WHERE customer_id = $1 AND deleted_at IS NULL', [customer, nowMs])
}

/** Which of these sub-users there are, deleted ones too. */
export async function knownAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const asked = padded(ids)
  const rows = await reader.all<{ id: string }>(`SELECT id FROM subusers WHERE id IN (${list(asked.length)})`, asked)
  return new Set(rows.map((row) => row.id))
}
