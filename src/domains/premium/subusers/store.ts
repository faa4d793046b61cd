import type { CustomerId, OrderId, SubuserId } from '../../../core/ids.ts'
import { list, numberOrNull, padded, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx, Value } from '../../../db/transaction.ts'
import type { GatewayPort, Subuser, WhitelistEntry } from './rules.ts'

type SubuserRow = Pick<Subuser, 'id' | 'customer' | 'login' | 'name'> &
  Record<'is_default' | 'keep_hosts' | 'created_at' | 'changed_at', bigint> &
  Record<'blocked_at' | 'deleted_at' | 'day_bytes' | 'month_bytes' | 'total_bytes' | 'tunnels', bigint | null> & {
    readonly digest: Uint8Array
  }

const toSubuser = (row: SubuserRow): Subuser => ({
  id: row.id,
  customer: row.customer,
  login: row.login,
  name: row.name,
  isDefault: row.is_default === 1n,
  blockedAt: numberOrNull(row.blocked_at),
  deletedAt: numberOrNull(row.deleted_at),
  limits: {
    dayBytes: row.day_bytes,
    monthBytes: row.month_bytes,
    totalBytes: row.total_bytes,
    tunnels: numberOrNull(row.tunnels),
  },
  keepHosts: row.keep_hosts === 1n,
  createdAt: Number(row.created_at),
  changedAt: Number(row.changed_at),
})

const selectSubusers = `SELECT id, customer_id AS customer, login, name, is_default, blocked_at, deleted_at, day_bytes,
  month_bytes, total_bytes, tunnels, keep_hosts, created_at, changed_at, digest FROM subusers`

async function findWhere(reader: Reader, condition: string, values: readonly Value[]): Promise<Subuser | undefined> {
  const row = await reader.first<SubuserRow>(`${selectSubusers} WHERE ${condition}`, values)
  return row && toSubuser(row)
}

export type SubuserSecret = { readonly sealed: Uint8Array; readonly digest: Uint8Array }

function limitValues({ limits: { dayBytes, monthBytes, totalBytes, tunnels } }: Subuser) {
  return [dayBytes, monthBytes, totalBytes, tunnels]
}

/** False if the login is taken or the customer has a default sub-user: the constraints decide. */
export async function insertSubuser(tx: Tx, of: Subuser, secret: SubuserSecret): Promise<boolean> {
  const named = [of.id, of.customer, of.login, of.name, of.isDefault ? 1 : 0, of.blockedAt, of.deletedAt]
  const added = await tx.run(
    `INSERT INTO subusers (id, customer_id, login, name, is_default, blocked_at, deleted_at, day_bytes, month_bytes,
       total_bytes, tunnels, keep_hosts, created_at, changed_at, password, digest)
     VALUES (${list(16)}) ON CONFLICT DO NOTHING`,
    [...named, ...limitValues(of), of.keepHosts ? 1 : 0, of.createdAt, of.changedAt, secret.sealed, secret.digest],
  )
  return added === 1
}

export const findDefault = (reader: Reader, customer: CustomerId): Promise<Subuser | undefined> =>
  findWhere(reader, 'customer_id = $1 AND is_default = 1', [customer])

/** Another customer's sub-user and a deleted one are not found. */
export const findSubuser = (reader: Reader, customer: CustomerId, id: SubuserId): Promise<Subuser | undefined> =>
  findWhere(reader, 'id = $1 AND customer_id = $2 AND deleted_at IS NULL', [id, customer])

/** Serialises changes of a sub-user, its limits and its ports. Lock several in the order of their ids. */
export const lockSubuser = (tx: Tx, id: SubuserId): Promise<Subuser | undefined> =>
  findWhere(tx, 'id = $1 FOR NO KEY UPDATE', [id])

/** Any sub-user, deleted or not, for nodes' reports. */
export const findAnySubuser = (reader: Reader, id: SubuserId): Promise<Subuser | undefined> =>
  findWhere(reader, 'id = $1', [id])

/** What nodes get of a sub-user: the digest of the password, never the sealed password. */
export type NodeSubuserRow = Subuser & { readonly digest: Uint8Array }

const toNodeRow = (row: SubuserRow): NodeSubuserRow => ({ ...toSubuser(row), digest: row.digest })

export async function findForNodes(reader: Reader, by: 'id' | 'login', value: string) {
  const row = await reader.first<SubuserRow>(`${selectSubusers} WHERE ${by} = $1`, [value])
  return row && toNodeRow(row)
}

export async function listSubusers(
  reader: Reader,
  customer: CustomerId,
  after: string,
  limit: number,
): Promise<Subuser[]> {
  const rows = await reader.all<SubuserRow>(
    `${selectSubusers} WHERE customer_id = $1 AND deleted_at IS NULL AND id > $2 ORDER BY id LIMIT $3`,
    [customer, after, limit],
  )
  return rows.map(toSubuser)
}

/** Sub-users that changed after a position, oldest change first, with or without deleted ones. */
export async function changedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  thereOnly: boolean,
): Promise<NodeSubuserRow[]> {
  const rows = await reader.all<SubuserRow>(
    `${selectSubusers} WHERE (changed_at, id) > ($1, $2) ${thereOnly ? 'AND deleted_at IS NULL' : ''}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map(toNodeRow)
}

export async function countSubusers(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    'SELECT COUNT(*) AS n FROM subusers WHERE customer_id = $1 AND deleted_at IS NULL',
    [customer],
  )
  return Number(row?.n ?? 0n)
}

export function updateSubuser(tx: Tx, to: Subuser): void {
  tx.send(
    `UPDATE subusers SET name = $2, blocked_at = $3, day_bytes = $4, month_bytes = $5, total_bytes = $6, tunnels = $7,
       keep_hosts = $8, changed_at = $9 WHERE id = $1`,
    [to.id, to.name, to.blockedAt, ...limitValues(to), to.keepHosts ? 1 : 0, to.changedAt],
  )
}

/** Makes nodes read the sub-user again. */
export function touchSubuser(tx: Tx, id: SubuserId, nowMs: number): void {
  tx.send('UPDATE subusers SET changed_at = $2 WHERE id = $1', [id, nowMs])
}

/** Makes nodes read all sub-users of a customer again. */
export function touchSubusers(tx: Tx, customer: CustomerId, nowMs: number): void {
  tx.send('UPDATE subusers SET changed_at = $2 WHERE customer_id = $1 AND deleted_at IS NULL', [customer, nowMs])
}

export function closeSubuser(tx: Tx, id: SubuserId, heir: SubuserId, order: OrderId, nowMs: number): void {
  const sql = 'UPDATE subusers SET deleted_at = $2, changed_at = $2, heir_id = $3, closing_order = $4 WHERE id = $1'
  tx.send(sql, [id, nowMs, heir, order])
}

/** Deleted sub-users with their heirs, in the order of their ids, a page at a time. */
export async function listDeleted(reader: Reader, after: string, limit: number) {
  return reader.all<{ id: SubuserId; customer: CustomerId; heir: SubuserId; order: OrderId }>(
    `SELECT id, customer_id AS customer, heir_id AS heir, closing_order AS "order" FROM subusers
     WHERE deleted_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`,
    [after, limit],
  )
}

export function writePassword(tx: Tx, id: SubuserId, secret: SubuserSecret, nowMs: number): void {
  const sql = 'UPDATE subusers SET password = $2, digest = $3, changed_at = $4 WHERE id = $1'
  tx.send(sql, [id, secret.sealed, secret.digest, nowMs])
}

export async function findPassword(reader: Reader, id: SubuserId): Promise<Uint8Array> {
  const row = await reader.first<{ password: Uint8Array }>('SELECT password FROM subusers WHERE id = $1', [id])
  if (!row) throw new Error('a sub-user has no password')
  return row.password
}

/** The customers of these sub-users, deleted ones too. Unknown ids are left out. */
export async function ownersOf(reader: Reader, ids: readonly string[]): Promise<Map<SubuserId, CustomerId>> {
  if (ids.length === 0) return new Map()
  const some = padded(ids)
  const rows = await reader.all<{ id: SubuserId; customer: CustomerId }>(
    `SELECT id, customer_id AS customer FROM subusers WHERE id IN (${list(some.length)})`,
    some,
  )
  return new Map(rows.map((row) => [row.id, row.customer]))
}

/** A sub-user with its secrets, for `verify`. */
export type SecretRow = Readonly<Record<'password' | 'digest', Uint8Array>> & {
  readonly id: SubuserId
  readonly customer_id: CustomerId
  readonly created_at: bigint
  readonly heir_id: SubuserId | null
}

/** Every sub-user, deleted ones too, a page at a time. */
export function secretsAfter(reader: Reader, after: string, limit: number): Promise<SecretRow[]> {
  return reader.all<SecretRow>(
    'SELECT id, customer_id, password, digest, created_at, heir_id FROM subusers WHERE id > $1 ORDER BY id LIMIT $2',
    [after, limit],
  )
}

/** Differs whenever a sub-user or an exit changed at `sinceAt` or later. */
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

type EntryRow = { prefix: string; comment: string; created_at: bigint; last_used_at: bigint | null }

export async function listEntries(reader: Reader, subuser: SubuserId): Promise<WhitelistEntry[]> {
  const rows = await reader.all<EntryRow>(
    `SELECT prefix, comment, created_at, last_used_at FROM whitelist_entries WHERE subuser_id = $1
     ORDER BY created_at, prefix`,
    [subuser],
  )
  return rows.map(({ prefix, comment, ...row }) => ({
    prefix,
    comment,
    createdAt: Number(row.created_at),
    lastUsedAt: numberOrNull(row.last_used_at),
  }))
}

export async function listEntriesOf(reader: Reader, subusers: readonly SubuserId[]) {
  if (subusers.length === 0) return []
  const ids = padded(subusers)
  return reader.all<{ subuser: SubuserId; prefix: string }>(
    `SELECT subuser_id AS subuser, prefix FROM whitelist_entries WHERE subuser_id IN (${list(ids.length)})
     ORDER BY subuser_id, prefix`,
    ids,
  )
}

/** False if the prefix is listed already. */
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

/** Keeps the latest use, in whatever order reports arrive. */
export function noteUse(tx: Tx, subuser: SubuserId, prefix: string, atMs: number): void {
  tx.send(
    `UPDATE whitelist_entries SET last_used_at = $3
     WHERE subuser_id = $1 AND prefix = $2 AND (last_used_at IS NULL OR last_used_at < $3)`,
    [subuser, prefix, atMs],
  )
}

async function readPorts(reader: Reader, rest: string, values: readonly Value[]): Promise<GatewayPort[]> {
  type PortRow = Omit<GatewayPort, 'port' | 'ttlMinutes'> & { readonly port: bigint; readonly ttl_minutes: bigint }
  const rows = await reader.all<PortRow>(
    `SELECT port, subuser_id AS subuser, parameters, ttl_minutes, session FROM gateway_ports ${rest}`,
    values,
  )
  return rows.map(({ port, ttl_minutes, ...row }) => ({ ...row, port: Number(port), ttlMinutes: Number(ttl_minutes) }))
}

export const listPorts = (
  reader: Reader,
  subuser: SubuserId,
  parameters: string,
  ttlMinutes: number,
  limit: number,
): Promise<GatewayPort[]> =>
  readPorts(reader, 'WHERE subuser_id = $1 AND parameters = $2 AND ttl_minutes = $3 ORDER BY port LIMIT $4', [
    subuser,
    parameters,
    ttlMinutes,
    limit,
  ])

export async function listPortsOf(reader: Reader, subusers: readonly SubuserId[]): Promise<GatewayPort[]> {
  if (subusers.length === 0) return []
  const ids = padded(subusers)
  return readPorts(reader, `WHERE subuser_id IN (${list(ids.length)}) ORDER BY port`, ids)
}

export const findPort = async (reader: Reader, port: number): Promise<GatewayPort | undefined> =>
  (await readPorts(reader, 'WHERE port = $1', [port]))[0]

export async function countPortsOfCustomer(reader: Reader, customer: CustomerId): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM gateway_ports JOIN subusers ON subusers.id = gateway_ports.subuser_id
     WHERE subusers.customer_id = $1`,
    [customer],
  )
  return Number(row?.n ?? 0n)
}

export function insertPorts(tx: Tx, ports: readonly GatewayPort[], nowMs: number): void {
  sendRows(
    tx,
    'INSERT INTO gateway_ports (port, subuser_id, parameters, ttl_minutes, session, created_at)',
    ports.map((each) => [each.port, each.subuser, each.parameters, each.ttlMinutes, each.session, nowMs]),
  )
}

/** Every port with its sub-user's login, if there is one, a page at a time, for `verify`. */
export async function portsAfter(reader: Reader, after: number, limit: number) {
  const rows = await reader.all<{ port: bigint; login: string | null; parameters: string }>(
    `SELECT port, login, parameters FROM gateway_ports LEFT JOIN subusers ON subusers.id = gateway_ports.subuser_id
     WHERE port > $1 ORDER BY port LIMIT $2`,
    [after, limit],
  )
  return rows.map((row) => ({ ...row, port: Number(row.port) }))
}
