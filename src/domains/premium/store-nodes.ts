import type { Reader } from '../../db/transaction.ts'
import type { SubuserId } from '../../kernel/ids.ts'

type Row = {
  id: string
  login: string
  digest: Uint8Array
  blocked_at: bigint | null
  deleted_at: bigint | null
  tunnels: bigint | null
  changed_at: bigint
}

export type NodeRow = {
  readonly id: SubuserId
  readonly login: string
  readonly digest: Uint8Array
  readonly state: 'active' | 'blocked' | 'deleted'
  readonly tunnels: number | null
  readonly changedAt: number
}

const toNodeRow = (row: Row): NodeRow => ({
  id: row.id as SubuserId,
  login: row.login,
  digest: row.digest,
  state: row.deleted_at !== null ? 'deleted' : row.blocked_at !== null ? 'blocked' : 'active',
  tunnels: row.tunnels === null ? null : Number(row.tunnels),
  changedAt: Number(row.changed_at),
})

/** What a node may know of a sub-user: the sealed password is not even read. */
const columns = 'id, login, digest, blocked_at, deleted_at, tunnels, changed_at'

export async function changedSince(
  reader: Reader,
  since: number,
  after: { changedAt: number; id: string },
  limit: number,
): Promise<NodeRow[]> {
  const rows = await reader.all<Row>(
    `SELECT ${columns} FROM subusers
     WHERE changed_at >= $1 AND (changed_at > $2 OR (changed_at = $2 AND id > $3)) ORDER BY changed_at, id LIMIT $4`,
    [since, after.changedAt, after.id, limit],
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
