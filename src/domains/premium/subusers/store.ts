import type { CustomerId, OrderId, SubuserId } from '../../../core/ids.ts'
import {
  big,
  bytes,
  columnsOf,
  flag,
  idColumn,
  int,
  orNull,
  recordsOf,
  textColumn,
  valuesOf,
} from '../../../db/columns.ts'
import { allIn, allOf, list, padded, sendRows } from '../../../db/rows.ts'
import type { Reader, Tx, Value } from '../../../db/transaction.ts'
import { withMetadata } from '../../../db/with-metadata.ts'
import { type Metadata, noMetadata } from '../../metadata/rules.ts'
import type { GatewayPort, Subuser, SubuserLimits, WhitelistEntry } from './rules.ts'

const fields = columnsOf<Omit<Subuser, 'limits'>>({
  id: idColumn('id'),
  customer: idColumn('customer_id'),
  login: textColumn('login'),
  name: textColumn('name'),
  isDefault: flag('is_default'),
  blockedAt: orNull(int('blocked_at')),
  deletedAt: orNull(int('deleted_at')),
  keepHosts: flag('keep_hosts'),
  createdAt: int('created_at'),
  changedAt: int('changed_at'),
})

const limits = columnsOf<SubuserLimits>({
  dayBytes: orNull(big('day_bytes')),
  monthBytes: orNull(big('month_bytes')),
  totalBytes: orNull(big('total_bytes')),
  tunnels: orNull(int('tunnels')),
})

const subusers = recordsOf((row): Subuser => ({ ...fields.read(row), limits: limits.read(row) }))

const selectSubusers = `SELECT ${fields.names}, ${limits.names}, digest FROM subusers`

const findWhere = (reader: Reader, condition: string, values: readonly Value[]): Promise<Subuser | undefined> =>
  subusers.first(reader, `${selectSubusers} WHERE ${condition}`, values)

export type SubuserSecret = { readonly sealed: Uint8Array; readonly digest: Uint8Array }

/** False if the login is taken or the customer has a default sub-user: the constraints decide. */
export async function insertSubuser(tx: Tx, of: Subuser, secret: SubuserSecret): Promise<boolean> {
  const added = await tx.run(
    `INSERT INTO subusers (${fields.names}, ${limits.names}, password, digest)
     VALUES (${list(16)}) ON CONFLICT DO NOTHING`,
    [...fields.values(of), ...limits.values(of.limits), secret.sealed, secret.digest],
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

const nodeRows = recordsOf((row) => ({ ...subusers.read(row), digest: bytes('digest').read(row['digest']) }))

/** What nodes get of a sub-user: the digest of the password, never the sealed password. */
export type NodeSubuserRow = ReturnType<typeof nodeRows.read>

export const findForNodes = (reader: Reader, by: 'id' | 'login', value: string) =>
  nodeRows.first(reader, `${selectSubusers} WHERE ${by} = $1`, [value])

/** Those ids that are sub-users, deleted ones too. */
export async function knownAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  const sql = (among: string) => `SELECT id FROM subusers WHERE id IN (${among})`
  return new Set((await allIn<{ id: string }>(reader, ids, sql)).map((row) => row.id))
}

/** Those with all of the pairs. */
export function listSubusers(
  reader: Reader,
  customer: CustomerId,
  after: string,
  limit: number,
  pairs: Metadata = noMetadata,
): Promise<Subuser[]> {
  const also = withMetadata('subuser', 'id', pairs, 3)
  return subusers.all(
    reader,
    `${selectSubusers} WHERE customer_id = $1 AND deleted_at IS NULL AND id > $2 ${also.sql} ORDER BY id LIMIT $3`,
    [customer, after, limit, ...also.values],
  )
}

/** Sub-users that changed after a position, oldest change first, with or without deleted ones. */
export const changedAfter = (
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  thereOnly: boolean,
): Promise<NodeSubuserRow[]> =>
  nodeRows.all(
    reader,
    `${selectSubusers} WHERE (changed_at, id) > ($1, $2) ${thereOnly ? 'AND deleted_at IS NULL' : ''}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )

const counts = valuesOf(int('n'))

export const countSubusers = async (reader: Reader, customer: CustomerId): Promise<number> =>
  (await counts.first(reader, 'SELECT COUNT(*) AS n FROM subusers WHERE customer_id = $1 AND deleted_at IS NULL', [
    customer,
  ])) ?? 0

export const updateSubuser = (tx: Tx, to: Subuser): void =>
  tx.send(
    `UPDATE subusers SET name = $2, blocked_at = $3, day_bytes = $4, month_bytes = $5, total_bytes = $6, tunnels = $7,
       keep_hosts = $8, changed_at = $9 WHERE id = $1`,
    [to.id, to.name, to.blockedAt, ...limits.values(to.limits), to.keepHosts ? 1 : 0, to.changedAt],
  )

/** Makes nodes read the sub-user again. */
export const touchSubuser = (tx: Tx, id: SubuserId, nowMs: number): void =>
  tx.send('UPDATE subusers SET changed_at = $2 WHERE id = $1', [id, nowMs])

/** Makes nodes read all sub-users of a customer again. */
export const touchSubusers = (tx: Tx, customer: CustomerId, nowMs: number): void =>
  tx.send('UPDATE subusers SET changed_at = $2 WHERE customer_id = $1 AND deleted_at IS NULL', [customer, nowMs])

export function closeSubuser(tx: Tx, id: SubuserId, heir: SubuserId, order: OrderId, nowMs: number): void {
  const sql = 'UPDATE subusers SET deleted_at = $2, changed_at = $2, heir_id = $3, closing_order = $4 WHERE id = $1'
  tx.send(sql, [id, nowMs, heir, order])
}

/** Deleted sub-users with their heirs, in the order of their ids, a page at a time. */
export const listDeleted = (reader: Reader, after: string, limit: number) =>
  reader.all<{ id: SubuserId; customer: CustomerId; heir: SubuserId; order: OrderId }>(
    `SELECT id, customer_id AS customer, heir_id AS heir, closing_order AS "order" FROM subusers
     WHERE deleted_at IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`,
    [after, limit],
  )

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

/** The logins of these sub-users, deleted ones too. */
export async function loginsOf(reader: Reader, ids: readonly SubuserId[]): Promise<Map<SubuserId, string>> {
  const sql = (among: string) => `SELECT id, login FROM subusers WHERE id IN (${among})`
  const rows = await allOf<{ id: SubuserId; login: string }>(reader, ids, sql)
  return new Map(rows.map((row) => [row.id, row.login]))
}

/** A sub-user with its secrets, for `verify`. */
export type SecretRow = Readonly<Record<'password' | 'digest', Uint8Array>> & {
  readonly id: SubuserId
  readonly customer_id: CustomerId
  readonly created_at: bigint
  readonly heir_id: SubuserId | null
}

/** Every sub-user, deleted ones too, a page at a time. */
export const secretsAfter = (reader: Reader, after: string, limit: number): Promise<SecretRow[]> =>
  reader.all<SecretRow>(
    'SELECT id, customer_id, password, digest, created_at, heir_id FROM subusers WHERE id > $1 ORDER BY id LIMIT $2',
    [after, limit],
  )

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

const entries = columnsOf<WhitelistEntry>({
  prefix: textColumn('prefix'),
  comment: textColumn('comment'),
  createdAt: int('created_at'),
  lastUsedAt: orNull(int('last_used_at')),
})

export const listEntries = (reader: Reader, subuser: SubuserId): Promise<WhitelistEntry[]> =>
  entries.all(
    reader,
    `SELECT ${entries.names} FROM whitelist_entries WHERE subuser_id = $1 ORDER BY created_at, prefix`,
    [subuser],
  )

export async function listEntriesOf(reader: Reader, of: readonly SubuserId[]) {
  if (of.length === 0) return []
  const ids = padded(of)
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

export const recomment = (tx: Tx, subuser: SubuserId, prefix: string, comment: string): void =>
  tx.send('UPDATE whitelist_entries SET comment = $3 WHERE subuser_id = $1 AND prefix = $2', [subuser, prefix, comment])

export const removeEntry = async (tx: Tx, subuser: SubuserId, prefix: string): Promise<boolean> =>
  (await tx.run('DELETE FROM whitelist_entries WHERE subuser_id = $1 AND prefix = $2', [subuser, prefix])) === 1

/** Keeps the latest use, in whatever order reports arrive. */
export const noteUse = (tx: Tx, subuser: SubuserId, prefix: string, atMs: number): void =>
  tx.send(
    `UPDATE whitelist_entries SET last_used_at = $3
     WHERE subuser_id = $1 AND prefix = $2 AND (last_used_at IS NULL OR last_used_at < $3)`,
    [subuser, prefix, atMs],
  )

const ports = columnsOf<GatewayPort>({
  port: int('port'),
  subuser: idColumn('subuser_id'),
  parameters: textColumn('parameters'),
  ttlMinutes: int('ttl_minutes'),
  session: textColumn('session'),
})

export const listPorts = (
  reader: Reader,
  { subuser, parameters, ttlMinutes }: Pick<GatewayPort, 'subuser' | 'parameters' | 'ttlMinutes'>,
  limit: number,
): Promise<GatewayPort[]> =>
  ports.all(
    reader,
    `SELECT * FROM gateway_ports WHERE subuser_id = $1 AND parameters = $2 AND ttl_minutes = $3
     ORDER BY port LIMIT $4`,
    [subuser, parameters, ttlMinutes, limit],
  )

export async function listPortsOf(reader: Reader, of: readonly SubuserId[]): Promise<GatewayPort[]> {
  if (of.length === 0) return []
  const ids = padded(of)
  return ports.all(reader, `SELECT * FROM gateway_ports WHERE subuser_id IN (${list(ids.length)}) ORDER BY port`, ids)
}

export const findPort = (reader: Reader, port: number): Promise<GatewayPort | undefined> =>
  ports.first(reader, 'SELECT * FROM gateway_ports WHERE port = $1', [port])

export const countPortsOfCustomer = async (reader: Reader, customer: CustomerId): Promise<number> =>
  (await counts.first(
    reader,
    `SELECT COUNT(*) AS n FROM gateway_ports JOIN subusers ON subusers.id = gateway_ports.subuser_id
     WHERE subusers.customer_id = $1`,
    [customer],
  )) ?? 0

export function insertPorts(tx: Tx, added: readonly GatewayPort[], nowMs: number): void {
  const rows = added.map((each) => [...ports.values(each), nowMs])
  sendRows(tx, `INSERT INTO gateway_ports (${ports.names}, created_at)`, rows)
}

const namedPorts = columnsOf({
  port: int('port'),
  login: orNull(textColumn('login')),
  parameters: textColumn('parameters'),
})

/** Every port with its sub-user's login, if there is one, a page at a time, for `verify`. */
export const portsAfter = (reader: Reader, after: number, limit: number) =>
  namedPorts.all(
    reader,
    `SELECT port, login, parameters FROM gateway_ports LEFT JOIN subusers ON subusers.id = gateway_ports.subuser_id
     WHERE port > $1 ORDER BY port LIMIT $2`,
    [after, limit],
  )
