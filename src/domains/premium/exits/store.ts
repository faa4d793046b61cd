import { numberOrNull, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { ExitId } from '../../../kernel/ids.ts'
import type { Exit } from './rules.ts'

type Row = {
  id: string
  pool: string
  kind: Exit['kind']
  host: string
  port: bigint | null
  country: string
  state: string
  city: string
  zip: string
  asn: bigint | null
  drained_at: bigint | null
  created_at: bigint
  changed_at: bigint
}

const toExit = (row: Row): Exit => ({
  id: row.id as ExitId,
  pool: row.pool,
  kind: row.kind,
  host: row.host,
  port: numberOrNull(row.port),
  country: row.country,
  state: row.state,
  city: row.city,
  zip: row.zip,
  asn: numberOrNull(row.asn),
  drainedAt: numberOrNull(row.drained_at),
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
})

const columns = 'id, pool, kind, host, port, country, state, city, zip, asn, drained_at, created_at, changed_at'

export function insertExits(tx: Tx, exits: readonly { exit: Exit; credentials: Uint8Array | null }[]): void {
  sendRows(
    tx,
    `INSERT INTO exits (${columns}, credentials)`,
    exits.map(({ exit, credentials }) => [
      exit.id,
      exit.pool,
      exit.kind,
      exit.host,
      exit.port,
      exit.country,
      exit.state,
      exit.city,
      exit.zip,
      exit.asn,
      exit.drainedAt,
      exit.createdAt,
      exit.changedAt,
      credentials,
    ]),
  )
}

/** The exits that serve now, of all pools. */
export async function listServing(reader: Reader): Promise<Exit[]> {
  const rows = await reader.all<Row>(`SELECT ${columns} FROM exits WHERE drained_at IS NULL ORDER BY id`)
  return rows.map(toExit)
}

export async function listExits(
  reader: Reader,
  pool: string | undefined,
  after: string,
  limit: number,
): Promise<Exit[]> {
  const rows = await reader.all<Row>(
    pool === undefined
      ? `SELECT ${columns} FROM exits WHERE id > $1 ORDER BY id LIMIT $2`
      : `SELECT ${columns} FROM exits WHERE id > $1 AND pool = $3 ORDER BY id LIMIT $2`,
    pool === undefined ? [after, limit] : [after, limit, pool],
  )
  return rows.map(toExit)
}

/** How many exits each pool has, and how many of them serve. */
export async function countByPool(reader: Reader): Promise<{ pool: string; exits: number; serving: number }[]> {
  const rows = await reader.all<{ pool: string; exits: bigint; serving: bigint }>(
    `SELECT pool, COUNT(*) AS exits, CAST(SUM(CASE WHEN drained_at IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS serving
     FROM exits GROUP BY pool ORDER BY pool`,
  )
  return rows.map((row) => ({ pool: row.pool, exits: Number(row.exits), serving: Number(row.serving) }))
}

export async function setDrained(tx: Tx, id: ExitId, drainedAt: number | null, nowMs: number): Promise<boolean> {
  return (await tx.run('UPDATE exits SET drained_at = $2, changed_at = $3 WHERE id = $1', [id, drainedAt, nowMs])) === 1
}

export type ExitWithCredentials = { readonly exit: Exit; readonly credentials: Uint8Array | null }

/**
 * What changed after a position, oldest change first; only what serves, or drained ones too, so that a node lets them
 * go.
 */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  servingOnly: boolean,
): Promise<ExitWithCredentials[]> {
  const rows = await reader.all<Row & { credentials: Uint8Array | null }>(
    `SELECT ${columns}, credentials FROM exits
     WHERE (changed_at, id) > ($1, $2) ${servingOnly ? 'AND drained_at IS NULL' : ''} ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map((row) => ({ exit: toExit(row), credentials: row.credentials }))
}
