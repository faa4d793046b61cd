import type { NodeId } from '../../core/ids.ts'
import {
  bytes,
  columnsOf,
  flag,
  idColumn,
  int,
  oneOf,
  orNull,
  type Row,
  recordsOf,
  textColumn,
  valuesOf,
} from '../../db/columns.ts'
import {
  changeMarkOf,
  changesOne,
  countBy,
  hasRow,
  readWide,
  runRows,
  sendIn,
  sendRows,
  type WideSum,
  wideSum,
} from '../../db/rows.ts'
import { lockLife } from '../../db/timeline.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import { noSuchNode } from './errors.ts'
import {
  boundOf,
  type EarlierFigures,
  type Endpoint,
  type Health,
  type HealthReport,
  type HopReport,
  type HopTls,
  type LostGood,
  type LostItem,
  type Node,
  type NodeKind,
  type NodeSample,
  readHops,
  readSample,
  type SealedPasswordKey,
  type TlsEndpoint,
  toFigure,
  usualLinkMegabits,
} from './rules.ts'
import { readVpnLinks, type VpnLinks } from './rules-links.ts'

const flatColumns = columnsOf<Omit<Node, 'endpoint' | 'key' | 'health' | 'entry' | 'hopTls' | 'hops' | 'vpnLinks'>>({
  id: idColumn('id'),
  kind: oneOf('kind', ['gateway', 'vpn']),
  name: textColumn('name'),
  location: textColumn('location'),
  countryCode: orNull(textColumn('country_code')),
  city: orNull(textColumn('city')),
  publicKey: orNull(textColumn('public_key')),
  state: oneOf('state', ['open', 'closed']),
  version: orNull(textColumn('version')),
  lastSeenAt: orNull(int('last_seen_at')),
  createdAt: int('created_at'),
  joinedAt: orNull(int('joined_at')),
  linkMegabits: int('link_mbit'),
  drainedAt: orNull(int('drained_at')),
  awaitsState: flag('awaits_state'),
})

const endpointColumns = columnsOf<NonNullable<Node['endpoint']>>({
  host: textColumn('endpoint_host'),
  port: int('endpoint_port'),
})

const keyColumns = columnsOf<NonNullable<Node['key']>>({
  expiresAt: int('key_expires_at'),
  usedAt: orNull(int('key_used_at')),
})

const tlsColumns = columnsOf<TlsEndpoint & { readonly pin: string | null }>({
  host: textColumn('tls_host'),
  port: int('tls_port'),
  browserHost: orNull(textColumn('tls_browser_host')),
  pin: orNull(textColumn('tls_pin')),
})

const hopTlsColumns = columnsOf<HopTls>({
  port: int('hop_tls_port'),
  name: orNull(textColumn('hop_tls_name')),
  key: textColumn('hop_tls_key'),
})

const healthColumns = columnsOf<
  Omit<Health, 'isStopping' | 'hopBytes' | 'interfaceMegabits' | 'tls' | 'isForVpn' | 'cpuMs' | 'errors'>
>({
  boot: textColumn('boot'),
  tunnels: int('tunnels'),
  lagMs: int('lag_ms'),
  totalBytes: int('total_bytes'),
  maxPorts: orNull(int('max_ports')),
})

const interfaceSpeed = orNull(int('interface_mbit'))

const toHealth = (row: Row): Health => ({
  ...healthColumns.read(row),
  hopBytes: orNull(int('hop_bytes')).read(row['hop_bytes']) ?? 0,
  interfaceMegabits: interfaceSpeed.read(row['interface_mbit']),
  isStopping: row['stopping_boot'] === row['boot'],
  tls: has(row, 'tls_host', 'tls_port') ? tlsColumns.read(row) : null,
  ...(has(row, 'tls_vpn') && { isForVpn: true }),
})

const has = (row: Row, ...columns: readonly string[]): boolean => columns.every((name) => row[name] !== null)

const nodes = recordsOf(
  (row): Node => ({
    ...flatColumns.read(row),
    endpoint: has(row, 'endpoint_host', 'endpoint_port') ? endpointColumns.read(row) : null,
    key: has(row, 'key_expires_at') ? keyColumns.read(row) : null,
    health: has(row, 'boot', 'tunnels', 'lag_ms', 'total_bytes') ? toHealth(row) : null,
    entry: orNull(textColumn('entry_node')).read(row['entry_node']),
    hopTls: has(row, 'hop_tls_port', 'hop_tls_key') ? hopTlsColumns.read(row) : null,
    vpnLinks: readVpnLinks(orNull(textColumn('vpn_links')).read(row['vpn_links'])),
    hops: readHops(orNull(textColumn('hops')).read(row['hops'])),
  }),
)

const hopKey = orNull(textColumn('hop_key'))

/** A second node of the same name or key makes the statement fail. */
export async function insertNode(tx: Tx, node: Node, sealedKey: Uint8Array | null): Promise<void> {
  const endpoint = node.endpoint ? endpointColumns.values(node.endpoint) : [null, null]
  await runRows(tx, `INSERT INTO nodes (${flatColumns.names}, ${endpointColumns.names}, private_key)`, [
    [...flatColumns.values(node), ...endpoint, sealedKey],
  ])
}

/** A node's bandwidth, which limits what it can claim to have relayed, and since when it may have used it. */
const links = recordsOf((row) => ({
  megabits: boundOf(int('link_mbit').read(row['link_mbit']), interfaceSpeed.read(row['interface_mbit'])),
  joinedAt: orNull(int('joined_at')).read(row['joined_at']),
}))

export const findLink = async (reader: Reader, node: string): Promise<{ megabits: number; joinedAt: number | null }> =>
  (await links.first(reader, 'SELECT link_mbit, interface_mbit, joined_at FROM nodes WHERE id = $1', [node])) ?? {
    megabits: usualLinkMegabits,
    joinedAt: null,
  }

export async function setLink(tx: Tx, node: NodeId, megabits: number): Promise<void> {
  await tx.run('UPDATE nodes SET link_mbit = $2 WHERE id = $1', [node, megabits])
}

export async function setVpnLinks(tx: Tx, node: NodeId, settings: VpnLinks, nowMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET vpn_links = $2, changed_at = $3 WHERE id = $1', [
    node,
    JSON.stringify(settings),
    nowMs,
  ])
}

/** Whether a node may serve things that the books do not know. */
export const setAwaitsState = (tx: Tx, node: NodeId, awaits: boolean): void =>
  tx.send('UPDATE nodes SET awaits_state = $2 WHERE id = $1', [node, awaits ? 1 : 0])

/** Ends that, if the node has taken the state of the current life of the database. */
export async function endAwaiting(tx: Tx, node: NodeId, life: number): Promise<void> {
  if ((await lockLife(tx)) === life) setAwaitsState(tx, node, false)
}

const lostLives = valuesOf(orNull(int('lost_life')))

/** The life in which a node may list what it lost; null after that. */
export const findLostLife = async (reader: Reader, node: NodeId): Promise<number | null> =>
  (await lostLives.all(reader, 'SELECT lost_life FROM nodes WHERE id = $1', [node]))[0] ?? null

/** Locks the node, so that its reports are counted one after the other. */
export const lockLostLife = async (tx: Tx, node: NodeId): Promise<number | null> =>
  (await lostLives.all(tx, 'SELECT lost_life FROM nodes WHERE id = $1 FOR UPDATE', [node]))[0] ?? null

export const endLostLife = (tx: Tx, node: NodeId): void =>
  tx.send('UPDATE nodes SET lost_life = NULL WHERE id = $1', [node])

export const countLost = (reader: Reader, node: NodeId, life: number): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM lost_goods WHERE node_id = $1 AND life = $2', [node, life])

/** Goods that several nodes listed count once. */
export const countAllLost = (reader: Reader, sinceAt: number): Promise<number> =>
  countBy(
    reader,
    `SELECT COUNT(*) AS n FROM
       (SELECT DISTINCT kind, item, login, address, owner FROM lost_goods
        WHERE reported_at >= $1 AND seen_at IS NULL) AS goods`,
    [sinceAt],
  )

/** Whether it was not kept before. */
export const insertLost = (tx: Tx, node: NodeId, life: number, item: LostItem, nowMs: number): Promise<boolean> =>
  changesOne(
    tx,
    `INSERT INTO lost_goods (node_id, kind, item, login, address, owner, reported_at, life)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (node_id, kind, item, login) DO NOTHING`,
    [node, item.kind, item.id, item.login, item.address, item.owner, nowMs, life],
  )

const lostColumns = columnsOf<LostGood>({
  node: textColumn('node_id'),
  kind: oneOf('kind', ['proxy', 'subuser', 'peer']),
  id: textColumn('item'),
  login: textColumn('login'),
  address: textColumn('address'),
  owner: textColumn('owner'),
  reportedAt: int('reported_at'),
})

/**
 * Each good once, with the node that listed it first; so many of each node at most: one that lists many hides no other.
 */
export const listLost = (reader: Reader, sinceAt: number, limit: number, perNode: number): Promise<LostGood[]> =>
  lostColumns.all(
    reader,
    `SELECT ${lostColumns.names} FROM (
       SELECT ${lostColumns.names}, ROW_NUMBER() OVER (PARTITION BY node_id ORDER BY reported_at DESC, item) AS place
       FROM (SELECT ${lostColumns.names},
           ROW_NUMBER() OVER
             (PARTITION BY kind, item, login, address, owner ORDER BY reported_at, node_id) AS listing
         FROM lost_goods WHERE reported_at >= $1 AND seen_at IS NULL) AS listed
       WHERE listing = 1) AS placed
     WHERE place <= $3 ORDER BY place, node_id LIMIT $2`,
    [sinceAt, limit, perNode],
  )

/** Marks all as seen by an operator; returns how many were not. */
export const markLostSeen = (tx: Tx, nowMs: number): Promise<number> =>
  tx.run('UPDATE lost_goods SET seen_at = $1 WHERE seen_at IS NULL', [nowMs])

export const deleteLost = (tx: Tx, beforeAt: number): Promise<number> =>
  tx.run('DELETE FROM lost_goods WHERE reported_at < $1', [beforeAt])

/** All nodes of a kind but removed ones, by name. There are tens of them. */
export const listNodes = (reader: Reader, kind: NodeKind): Promise<Node[]> =>
  nodes.all(reader, 'SELECT * FROM nodes WHERE kind = $1 AND removed_at IS NULL ORDER BY name', [kind])

export const findByName = (reader: Reader, name: string): Promise<Node | undefined> =>
  nodes.first(reader, 'SELECT * FROM nodes WHERE name = $1 AND removed_at IS NULL', [name])

/** Locks a node, so that an operator's change of it and its removal happen one after the other. */
export const lockByName = (tx: Tx, name: string): Promise<Node | undefined> =>
  nodes.first(tx, 'SELECT * FROM nodes WHERE name = $1 AND removed_at IS NULL FOR UPDATE', [name])

/** Locks a node that something is assigned to, as the last row of the transaction. Refuses a removed one. */
export async function lockPresent(tx: Tx, id: string): Promise<void> {
  const sql = 'SELECT id FROM nodes WHERE id = $1 AND removed_at IS NULL FOR UPDATE'
  if (!(await tx.first(sql, [id]))) throw noSuchNode()
}

/** The ids of all nodes of a kind, removed ones too, for `verify`. */
export const everKnown = (reader: Reader, kind: NodeKind): Promise<string[]> =>
  valuesOf(textColumn('id')).all(reader, 'SELECT id FROM nodes WHERE kind = $1', [kind])

export const findById = (reader: Reader, id: NodeId): Promise<Node | undefined> =>
  nodes.first(reader, 'SELECT * FROM nodes WHERE id = $1', [id])

export type SealedNode = { readonly node: Node; readonly sealed: Uint8Array | null }

const sealedNodes = recordsOf((row): SealedNode => {
  return { node: nodes.read(row), sealed: orNull(bytes('private_key')).read(row['private_key']) }
})

export const findSealedKey = (reader: Reader, node: NodeId): Promise<SealedNode | undefined> =>
  sealedNodes.first(reader, 'SELECT * FROM nodes WHERE id = $1', [node])

/** Every node with its sealed key, for `verify`. */
export const listSealed = (reader: Reader): Promise<SealedNode[]> =>
  sealedNodes.all(reader, 'SELECT * FROM nodes ORDER BY name')

/** Replaces the join key before, used or not. */
export async function writeKey(tx: Tx, node: NodeId, digest: Uint8Array, expiresAt: number): Promise<void> {
  const sql = 'UPDATE nodes SET key_digest = $2, key_expires_at = $3, key_used_at = NULL WHERE id = $1'
  await tx.run(sql, [node, digest, expiresAt])
}

/** Expires unused join keys: a restored database does not know which of them were used since its backup. */
export async function endJoinKeysAfterRestore(tx: Tx, nowMs: number): Promise<void> {
  const sql = 'UPDATE nodes SET key_expires_at = $1 WHERE key_used_at IS NULL AND key_expires_at > $1'
  await tx.run(sql, [nowMs])
}

const secretNodes = recordsOf((row) => {
  return { node: nodes.read(row), digest: orNull(bytes('secret_digest')).read(row['secret_digest']) }
})

/** The node of a join key. Its row stays locked, so that one of two concurrent joins is first. */
export const lockByKey = (tx: Tx, digest: Uint8Array) =>
  secretNodes.first(tx, 'SELECT * FROM nodes WHERE key_digest = $1 FOR UPDATE', [digest])

export const findBySecret = (reader: Reader, digest: Uint8Array) =>
  secretNodes.first(reader, 'SELECT * FROM nodes WHERE secret_digest = $1', [digest])

const larger = (column: string): string =>
  `${column} = CASE WHEN node_boots.${column} > excluded.${column}
     THEN node_boots.${column} ELSE excluded.${column} END`

/** Keeps the figures of a node's boot if `condition` holds. */
const keepFigures = (condition: string): string =>
  `INSERT INTO node_boots (node_id, boot, total_bytes, hop_bytes, tunnels, reported_at)
   SELECT id, boot, COALESCE(total_bytes, 0), COALESCE(hop_bytes, 0), 0, 0 FROM nodes WHERE id = $1 AND ${condition}
   ON CONFLICT (node_id, boot) DO UPDATE SET ${larger('total_bytes')}, ${larger('hop_bytes')}`

/**
 * Uses the join key and replaces the secret in one commit. The last report under the secret before is forgotten, with
 * its boot, TLS endpoint and hop key; its figures are kept.
 */
export async function writeJoin(tx: Tx, node: NodeId, digest: Uint8Array, nowMs: number): Promise<void> {
  tx.send(keepFigures('boot IS NOT NULL'), [node])
  await tx.run(
    `UPDATE nodes SET secret_digest = $2, joined_at = $3, key_used_at = $3, changed_at = $3,
       boot = NULL, stopping_boot = NULL, tunnels = NULL, lag_ms = NULL, total_bytes = NULL, hop_bytes = NULL,
       max_ports = NULL, interface_mbit = NULL, tls_host = NULL, tls_port = NULL, tls_browser_host = NULL,
       tls_pin = NULL, tls_vpn = NULL,
       hop_key = NULL,
       hop_tls_port = NULL, hop_tls_name = NULL, hop_tls_key = NULL, hops = NULL
     WHERE id = $1`,
    [node, digest, nowMs],
  )
}

/** Invalidates the secret and the join key. */
export async function forgetSecrets(tx: Tx, node: NodeId): Promise<void> {
  await tx.run(
    `UPDATE nodes SET secret_digest = NULL, joined_at = NULL,
       key_digest = NULL, key_expires_at = NULL, key_used_at = NULL
     WHERE id = $1`,
    [node],
  )
}

/** Also makes the change visible to the other gateways. */
export async function setState(tx: Tx, node: NodeId, state: Node['state'], nowMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET state = $2, changed_at = $3 WHERE id = $1', [node, state, nowMs])
}

export async function setEndpoint(tx: Tx, node: NodeId, { host, port }: Endpoint, nowMs: number): Promise<void> {
  const sql = 'UPDATE nodes SET endpoint_host = $2, endpoint_port = $3, changed_at = $4 WHERE id = $1'
  await tx.run(sql, [node, host, port, nowMs])
}

/** A name that another node has makes the statement fail. */
export async function setName(tx: Tx, node: NodeId, name: string, nowMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET name = $2, changed_at = $3 WHERE id = $1', [node, name, nowMs])
}

/** Hides a node for good and frees its name. Its keys are deleted; its row stays for what names it. */
export async function setRemoved(tx: Tx, node: NodeId, nowMs: number): Promise<void> {
  await forgetSecrets(tx, node)
  const sql = 'UPDATE nodes SET removed_at = $2, name = id, private_key = NULL, changed_at = $2 WHERE id = $1'
  await tx.run(sql, [node, nowMs])
}

export async function setDrained(tx: Tx, node: NodeId, drainedAt: number | null): Promise<void> {
  await tx.run('UPDATE nodes SET drained_at = $2 WHERE id = $1', [node, drainedAt])
}

export const findGateway = (reader: Reader, node: string): Promise<ChangedGateway | undefined> =>
  gateways.first(reader, `SELECT * FROM nodes WHERE id = $1 AND kind = 'gateway'`, [node])

/** Replaces the key that a gateway signs hops with, and where it accepts hops; the other gateways learn of it. */
export async function writeHop(tx: Tx, node: string, key: string, tls: HopTls | null, nowMs: number): Promise<void> {
  await tx.run(
    `UPDATE nodes SET hop_key = $2, hop_tls_port = $3, hop_tls_name = $4, hop_tls_key = $5, changed_at = $6
     WHERE id = $1 AND kind = 'gateway'`,
    [node, key, tls?.port ?? null, tls?.name ?? null, tls?.key ?? null, nowMs],
  )
}

export async function writeHops(tx: Tx, node: string, hops: readonly HopReport[]): Promise<void> {
  await tx.run(`UPDATE nodes SET hops = $2 WHERE id = $1 AND kind = 'gateway'`, [node, JSON.stringify(hops)])
}

/** Sets where the customers of a gateway enter; the other gateways learn of it. */
export async function setEntry(tx: Tx, node: NodeId, entry: NodeId | null, nowMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET entry_node = $2, changed_at = $3 WHERE id = $1', [node, entry, nowMs])
}

/** How many other gateways' customers enter here. */
export const countEntering = (reader: Reader, entry: string): Promise<number> =>
  countBy(reader, 'SELECT COUNT(*) AS n FROM nodes WHERE entry_node = $1 AND id <> $1 AND removed_at IS NULL', [entry])

export type ChangedGateway = ReturnType<typeof gateways.read>

const gateways = recordsOf((row) => ({
  node: nodes.read(row),
  hopKey: hopKey.read(row['hop_key']),
  changedAt: int('changed_at').read(row['changed_at']),
}))

/** Gateways that changed for the other gateways after a position, oldest change first. */
export function gatewaysChangedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  thereOnly: boolean,
): Promise<ChangedGateway[]> {
  const there = thereOnly ? `AND state = 'open' AND joined_at IS NOT NULL AND hop_key IS NOT NULL` : ''
  return gateways.all(
    reader,
    `SELECT * FROM nodes WHERE kind = 'gateway' AND (changed_at, id) > ($1, $2) ${there}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
}

export const gatewayMark = (reader: Reader, sinceAt: number): Promise<string> => changeMarkOf(reader, 'nodes', sinceAt)

/** `last_seen_at` only moves forward, whichever shop took the call. False if the node did not join at `joinedAt`. */
export const markSeen = (tx: Tx, node: NodeId, nowMs: number, version: string, joinedAt: number | null) =>
  changesOne(
    tx,
    `UPDATE nodes SET version = $3,
       last_seen_at = CASE WHEN last_seen_at IS NULL OR last_seen_at < $2 THEN $2 ELSE last_seen_at END
     WHERE id = $1 ${joinedAt === null ? '' : 'AND joined_at = $4'}`,
    [node, nowMs, version, ...(joinedAt === null ? [] : [joinedAt])],
  )

/**
 * A late report of an earlier boot changes nothing. Within a boot, counters never fall and stopping never ends. The
 * figures of the boot before are kept in `node_boots`. The caller has locked the row.
 */
export function writeHealth(tx: Tx, node: NodeId, health: HealthReport): void {
  const { boot, tunnels, lagMs, totalBytes, hopBytes, isStopping, maxPorts, interfaceMegabits, tls } = health
  const tlsChange = tls === 'unchanged' ? '' : ', tls_host = $11, tls_port = $12, tls_browser_host = $13, tls_pin = $14'
  tx.send(keepFigures('boot < $2'), [node, boot])
  tx.send(
    `UPDATE nodes SET boot = $2, tunnels = $3, lag_ms = $4,
       total_bytes = CASE WHEN boot = $2 AND total_bytes > $5 THEN total_bytes ELSE $5 END,
       hop_bytes = CASE WHEN boot = $2 AND hop_bytes > $6 THEN hop_bytes ELSE $6 END,
       stopping_boot = COALESCE($7, stopping_boot), max_ports = $8, interface_mbit = $9, tls_vpn = $10 ${tlsChange}
     WHERE id = $1 AND (boot IS NULL OR boot <= $2)`,
    [
      node,
      boot,
      tunnels,
      lagMs,
      totalBytes,
      hopBytes,
      isStopping ? boot : null,
      maxPorts,
      interfaceMegabits ?? null,
      health.isForVpn ? 1 : null,
      ...(tls === 'unchanged'
        ? []
        : [tls?.host ?? null, tls?.port ?? null, tls?.browserHost ?? null, tls?.pin ?? null]),
    ],
  )
}

/** Keeps the report of a process that drains. Its counters never fall. */
export const writeDraining = (
  tx: Tx,
  node: NodeId,
  { boot, tunnels, totalBytes, hopBytes }: HealthReport,
  nowMs: number,
) =>
  tx.send(
    `INSERT INTO node_boots (node_id, boot, total_bytes, hop_bytes, tunnels, reported_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (node_id, boot) DO UPDATE SET ${larger('total_bytes')}, ${larger('hop_bytes')},
       tunnels = excluded.tunnels, reported_at = excluded.reported_at`,
    [node, boot, totalBytes, hopBytes, tunnels, nowMs],
  )

/** Sums over the processes of each node before its latest one. Tunnels count if they were reported since `sinceAt`. */
export async function sumEarlier(reader: Reader, sinceAt: number): Promise<EarlierFigures[]> {
  const rows = await reader.all<WideSum<'total' | 'hop' | 'tunnels'> & { readonly node: string }>(
    `SELECT node_id AS node, ${wideSum('earlier.total_bytes', 'total')}, ${wideSum('earlier.hop_bytes', 'hop')},
       ${wideSum('CASE WHEN reported_at >= $1 THEN earlier.tunnels ELSE 0 END', 'tunnels')}
     FROM node_boots AS earlier JOIN nodes ON nodes.id = node_id
     WHERE nodes.boot IS NULL OR nodes.boot <> earlier.boot GROUP BY node_id`,
    [sinceAt],
  )
  return rows.map((row) => ({
    node: row.node,
    totalBytes: toFigure(readWide(row, 'total')),
    hopBytes: toFigure(readWide(row, 'hop')),
    tunnels: toFigure(readWide(row, 'tunnels')),
  }))
}

/** One sample of a slot, whichever shop is first. */
export const insertSample = (tx: Tx, node: NodeId, { at, ...figures }: NodeSample): void =>
  sendRows(
    tx,
    'INSERT INTO node_samples (node_id, at, figures)',
    [[node, at, JSON.stringify(figures)]],
    'ON CONFLICT (node_id, at) DO NOTHING',
  )

/** Samples of a node from a time on whose time is a multiple of `stepMs`, oldest first. */
export async function listSamples(reader: Reader, node: NodeId, fromAt: number, stepMs: number): Promise<NodeSample[]> {
  const rows = await reader.all<{ at: bigint; figures: string }>(
    'SELECT at, figures FROM node_samples WHERE node_id = $1 AND at >= $2 AND at % $3 = 0 ORDER BY at',
    [node, fromAt, stepMs],
  )
  return rows.flatMap((row) => readSample(Number(row.at), row.figures) ?? [])
}

export const hasSampleBefore = (reader: Reader, at: number): Promise<boolean> =>
  hasRow(reader, 'SELECT 1 AS one FROM node_samples WHERE at < $1 LIMIT 1', [at])

/** Samples of all nodes in a time at multiples of `stepMs`, oldest first. */
export async function listAllSamples(
  reader: Reader,
  { fromAt, toAt, stepMs }: { readonly fromAt: number; readonly toAt: number; readonly stepMs: number },
): Promise<{ readonly node: string; readonly sample: NodeSample }[]> {
  const rows = await reader.all<{ node_id: string; at: bigint; figures: string }>(
    'SELECT node_id, at, figures FROM node_samples WHERE at >= $1 AND at <= $2 AND at % $3 = 0 ORDER BY at',
    [fromAt, toAt, stepMs],
  )
  return rows.flatMap((row) => {
    const sample = readSample(Number(row.at), row.figures)
    return sample ? { node: row.node_id, sample } : []
  })
}

/** What the latest process of a node has relayed; of closed and removed nodes too. Both are null before a report. */
export type NodeBytes = {
  readonly id: string
  readonly createdAt: number
  readonly boot: string | null
  readonly totalBytes: number | null
}

const nodeBytes = columnsOf<NodeBytes>({
  id: textColumn('id'),
  createdAt: int('created_at'),
  boot: orNull(textColumn('boot')),
  totalBytes: orNull(int('total_bytes')),
})

export const listRelayed = (reader: Reader): Promise<NodeBytes[]> =>
  nodeBytes.all(reader, `SELECT ${nodeBytes.names} FROM nodes`)

/** Deletes samples before a time, except those at multiples of `keepMs` if that is more than 1. */
export const deleteSamples = (tx: Tx, beforeAt: number, keepMs: number, limit: number): Promise<number> =>
  tx.run(
    `DELETE FROM node_samples WHERE (node_id, at) IN
       (SELECT node_id, at FROM node_samples WHERE at < $1 AND ($2 = 1 OR at % $2 <> 0) ORDER BY at LIMIT $3)`,
    [beforeAt, keepMs, limit],
  )

const passwordKeys = columnsOf<SealedPasswordKey>({
  id: int('id'),
  sealed: bytes('sealed'),
  signsFrom: int('signs_from'),
})

/** Newest first. */
export const listPasswordKeys = (reader: Reader, limit: number): Promise<SealedPasswordKey[]> =>
  recordsOf(passwordKeys.read).all(reader, 'SELECT * FROM password_keys ORDER BY id DESC LIMIT $1', [limit])

/** Does nothing if the number is taken: another process has made that key. */
export async function insertPasswordKey(tx: Tx, { id, sealed, signsFrom }: SealedPasswordKey): Promise<void> {
  const sql = 'INSERT INTO password_keys (id, sealed, signs_from) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING'
  await tx.run(sql, [id, sealed, signsFrom])
}

/** The next `count` unused ports, from `first` on. Concurrent calls wait for each other's commit. */
export async function takeFresh(tx: Tx, first: number, count: number): Promise<number> {
  const row = await tx.first<{ next: bigint }>(
    `INSERT INTO gateway_port_next (one, next) VALUES (1, $1 + $2)
     ON CONFLICT (one) DO UPDATE SET
       next = (CASE WHEN gateway_port_next.next < $1 THEN $1 ELSE gateway_port_next.next END) + $2
     RETURNING next`,
    [first, count],
  )
  if (!row) throw new Error('no port was given out')
  return Number(row.next) - count
}

/** Takes ports that have rested since before a moment, the longest first, each for one sale only. */
export async function takeRested(
  tx: Tx,
  of: { first: number; last: number; restedBefore: number; max: number },
): Promise<number[]> {
  const rows = await tx.all<{ port: bigint }>(
    `SELECT port FROM gateway_ports_resting WHERE since <= $1 AND port BETWEEN $2 AND $3
     ORDER BY since, port LIMIT $4 FOR UPDATE SKIP LOCKED`,
    [of.restedBefore, of.first, of.last, of.max],
  )
  const ports = rows.map((row) => Number(row.port))
  sendIn(tx, ports, (among) => `DELETE FROM gateway_ports_resting WHERE port IN (${among})`)
  return ports
}

/** How many ports of the range are leased: those given out so far, less those at rest. */
export const countInUse = (reader: Reader, first: number, last: number): Promise<number> =>
  countBy(
    reader,
    `SELECT COALESCE((SELECT next FROM gateway_port_next), CAST($1 AS BIGINT)) - $1
       - (SELECT COUNT(*) FROM gateway_ports_resting WHERE port BETWEEN $1 AND $2) AS n`,
    [first, last],
  )

export function restPorts(tx: Tx, ports: readonly number[], nowMs: number): void {
  const rows = ports.map((port) => [port, nowMs])
  sendRows(tx, 'INSERT INTO gateway_ports_resting (port, since)', rows)
}
