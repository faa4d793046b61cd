import type { CustomerId, SubuserId } from '../../../core/ids.ts'
import { list, numberOrNull, padded, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { WhitelistEntry } from './rules.ts'

type EntryRow = {
  subuser_id: string
  prefix: string
  comment: string
  created_at: bigint
  last_used_at: bigint | null
}

const toEntry = (row: EntryRow): WhitelistEntry => ({
  prefix: row.prefix,
  comment: row.comment,
  createdAt: Number(row.created_at),
  lastUsedAt: numberOrNull(row.last_used_at),
})

export async function listEntries(reader: Reader, subuser: SubuserId): Promise<WhitelistEntry[]> {
  const rows = await reader.all<EntryRow>(
    'SELECT * FROM whitelist_entries WHERE subuser_id = $1 ORDER BY created_at, prefix',
    [subuser],
  )
  return rows.map(toEntry)
}

export async function listEntriesOf(
  reader: Reader,
  subusers: readonly SubuserId[],
): Promise<{ subuser: SubuserId; prefix: string }[]> {
  if (subusers.length === 0) return []
  const asked = padded(subusers)
  const rows = await reader.all<EntryRow>(
    `SELECT * FROM whitelist_entries WHERE subuser_id IN (${list(asked.length)}) ORDER BY subuser_id, prefix`,
    asked,
  )
  return rows.map((row) => ({ subuser: row.subuser_id as SubuserId, prefix: row.prefix }))
}

/** False when it was there already; a comment that is given again is brought up to date. */
export async function addEntry(tx: Tx, subuser: SubuserId, entry: WhitelistEntry): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO whitelist_entries (subuser_id, prefix, comment, created_at, last_used_at) VALUES ($1, $2, $3, $4, NULL)
     ON CONFLICT (subuser_id, prefix) DO NOTHING`,
    [subuser, entry.prefix, entry.comment, entry.createdAt],
  )
  return added === 1
}

export function recomment(tx: Tx, subuser: SubuserId, prefix: string, comment: string): void {
  tx.send('UPDATE whitelist_entries SET comment = $3 WHERE subuser_id = $1 AND prefix = $2', [subuser, prefix, comment])
}

export async function removeEntry(tx: Tx, subuser: SubuserId, prefix: string): Promise<boolean> {
  return (await tx.run('DELETE FROM whitelist_entries WHERE subuser_id = $1 AND prefix = $2', [subuser, prefix])) === 1
}

/** The latest use stands, whatever order the news of it arrives in. */
export function noteUse(tx: Tx, subuser: SubuserId, prefix: string, atMs: number): void {
  tx.send(
    `UPDATE whitelist_entries SET last_used_at = $3
     WHERE subuser_id = $1 AND prefix = $2 AND (last_used_at IS NULL OR last_used_at < $3)`,
    [subuser, prefix, atMs],
  )
}

/** A port and what it stands for: a login without a session, and the session with its minutes, or '' and 0. */
export type Port = {
  readonly port: number
  readonly subuser: SubuserId
  readonly parameters: string
  readonly ttlMinutes: number
  readonly session: string
}

type PortRow = { port: bigint; subuser_id: string; parameters: string; ttl_minutes: bigint; session: string }

const toPort = (row: PortRow): Port => ({
  port: Number(row.port),
  subuser: row.subuser_id as SubuserId,
  parameters: row.parameters,
  ttlMinutes: Number(row.ttl_minutes),
  session: row.session,
})

export async function listPorts(
  reader: Reader,
  subuser: SubuserId,
  parameters: string,
  ttlMinutes: number,
  most: number,
): Promise<Port[]> {
  const rows = await reader.all<PortRow>(
    `SELECT port, subuser_id, parameters, ttl_minutes, session FROM gateway_ports
     WHERE subuser_id = $1 AND parameters = $2 AND ttl_minutes = $3 ORDER BY port LIMIT $4`,
    [subuser, parameters, ttlMinutes, most],
  )
  return rows.map(toPort)
}

export async function listPortsOf(reader: Reader, subusers: readonly SubuserId[]): Promise<Port[]> {
  if (subusers.length === 0) return []
  const asked = padded(subusers)
  const rows = await reader.all<PortRow>(
    `SELECT port, subuser_id, parameters, ttl_minutes, session FROM gateway_ports
     WHERE subuser_id IN (${list(asked.length)}) ORDER BY port`,
    asked,
  )
  return rows.map(toPort)
}

export async function findPort(reader: Reader, port: number): Promise<Port | undefined> {
  const row = await reader.first<PortRow>(
    'SELECT port, subuser_id, parameters, ttl_minutes, session FROM gateway_ports WHERE port = $1',
    [port],
  )
  return row && toPort(row)
}

export async function countPortsOfCustomer(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM gateway_ports JOIN subusers ON subusers.id = gateway_ports.subuser_id
     WHERE subusers.customer_id = $1`,
    [customer],
  )
  return Number(row?.n ?? 0n)
}

export function insertPorts(tx: Tx, ports: readonly Port[], nowMs: number): void {
  sendRows(
    tx,
    'INSERT INTO gateway_ports (port, subuser_id, parameters, ttl_minutes, session, created_at)',
    ports.map((each) => [each.port, each.subuser, each.parameters, each.ttlMinutes, each.session, nowMs]),
  )
}

/** Every port with its sub-user's login, if that is there, a page at a time, for `verify`. */
export async function portsAfter(
  reader: Reader,
  after: number,
  limit: number,
): Promise<{ port: number; login: string | null; parameters: string }[]> {
  const rows = await reader.all<{ port: bigint; login: string | null; parameters: string }>(
    `SELECT port, login, parameters FROM gateway_ports LEFT JOIN subusers ON subusers.id = gateway_ports.subuser_id
     WHERE port > $1 ORDER BY port LIMIT $2`,
    [after, limit],
  )
  return rows.map((row) => ({ ...row, port: Number(row.port) }))
}
