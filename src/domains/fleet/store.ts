import type { NodeId } from '../../core/ids.ts'
import { numberOrNull } from '../../db/rows.ts'
import type { Reader, Tx } from '../../db/transaction.ts'
import type { Health, Node, NodeKind } from './rules.ts'

type NodeRow = {
  id: string
  kind: string
  name: string
  location: string
  country_code: string | null
  city: string | null
  endpoint_host: string | null
  endpoint_port: bigint | null
  public_key: string | null
  private_key: Uint8Array | null
  state: string
  version: string | null
  last_seen_at: bigint | null
  created_at: bigint
  key_digest: Uint8Array | null
  key_expires_at: bigint | null
  key_used_at: bigint | null
  secret_digest: Uint8Array | null
  joined_at: bigint | null
  boot: string | null
  tunnels: bigint | null
  lag_ms: bigint | null
  carried: bigint | null
  stopping_boot: string | null
  link_mbit: bigint
  hop_key: string | null
  changed_at: bigint
  relayed: bigint | null
  drained_at: bigint | null
  most_ports: bigint | null
}

const toNode = (row: NodeRow): Node => ({
  id: row.id as NodeId,
  kind: row.kind as NodeKind,
  name: row.name,
  location: row.location,
  countryCode: row.country_code,
  city: row.city,
  endpoint:
    row.endpoint_host === null || row.endpoint_port === null
      ? null
      : { host: row.endpoint_host, port: Number(row.endpoint_port) },
  publicKey: row.public_key,
  state: row.state === 'open' ? 'open' : 'closed',
  version: row.version,
  lastSeenAt: numberOrNull(row.last_seen_at),
  createdAt: Number(row.created_at),
  joinedAt: numberOrNull(row.joined_at),
  key:
    row.key_expires_at === null
      ? null
      : { expiresAt: Number(row.key_expires_at), usedAt: numberOrNull(row.key_used_at) },
  health:
    row.boot === null || row.tunnels === null || row.lag_ms === null || row.carried === null
      ? null
      : {
          boot: row.boot,
          tunnels: Number(row.tunnels),
          lagMs: Number(row.lag_ms),
          carried: Number(row.carried),
          relayed: Number(row.relayed ?? 0n),
          isStopping: row.stopping_boot === row.boot,
          mostPorts: numberOrNull(row.most_ports),
        },
  linkMegabits: Number(row.link_mbit),
  drainedAt: numberOrNull(row.drained_at),
})

/** A second node of the same name or key fails here, whichever process adds it. */
export async function insertNode(tx: Tx, node: Node, sealedKey: Uint8Array | null): Promise<void> {
  await tx.run(
    `INSERT INTO nodes (id, kind, name, location, country_code, city, endpoint_host, endpoint_port,
       public_key, private_key, state, version, last_seen_at, created_at, link_mbit)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      node.id,
      node.kind,
      node.name,
      node.location,
      node.countryCode,
      node.city,
      node.endpoint?.host ?? null,
      node.endpoint?.port ?? null,
      node.publicKey,
      sealedKey,
      node.state,
      node.version,
      node.lastSeenAt,
      node.createdAt,
      node.linkMegabits,
    ],
  )
}

/** A node's link, and since when it may have used it. */
export async function findLink(
  reader: Reader,
  id: string,
): Promise<{ megabits: number; joinedAt: number | null } | undefined> {
  const row = await reader.first<Pick<NodeRow, 'link_mbit' | 'joined_at'>>(
    'SELECT link_mbit, joined_at FROM nodes WHERE id = $1',
    [id],
  )
  return row && { megabits: Number(row.link_mbit), joinedAt: numberOrNull(row.joined_at) }
}

export async function setLink(tx: Tx, id: NodeId, megabits: number): Promise<void> {
  await tx.run('UPDATE nodes SET link_mbit = $2 WHERE id = $1', [id, megabits])
}

/** All nodes of a kind, in the order of their names. A fleet is counted in tens. */
export async function listNodes(reader: Reader, kind: NodeKind): Promise<Node[]> {
  const rows = await reader.all<NodeRow>('SELECT * FROM nodes WHERE kind = $1 ORDER BY name', [kind])
  return rows.map(toNode)
}

export async function findByName(reader: Reader, name: string): Promise<Node | undefined> {
  const row = await reader.first<NodeRow>('SELECT * FROM nodes WHERE name = $1', [name])
  return row && toNode(row)
}

export async function findSealedKey(
  reader: Reader,
  id: NodeId,
): Promise<{ node: Node; sealed: Uint8Array | null } | undefined> {
  const row = await reader.first<NodeRow>('SELECT * FROM nodes WHERE id = $1', [id])
  return row && { node: toNode(row), sealed: row.private_key }
}

/** From this commit on the key before opens nothing, used or not. */
export async function writeKey(tx: Tx, id: NodeId, digest: Uint8Array, expiresAt: number): Promise<void> {
  await tx.run('UPDATE nodes SET key_digest = $2, key_expires_at = $3, key_used_at = NULL WHERE id = $1', [
    id,
    digest,
    expiresAt,
  ])
}

export type Keyed = { readonly node: Node; readonly secretDigest: Uint8Array | null }

/** The node that a key was made for; its row stays locked, so of two that bring one key one is first. */
export async function lockByKey(tx: Tx, digest: Uint8Array): Promise<Keyed | undefined> {
  const row = await tx.first<NodeRow>('SELECT * FROM nodes WHERE key_digest = $1 FOR UPDATE', [digest])
  return row && { node: toNode(row), secretDigest: row.secret_digest }
}

export async function findBySecret(
  reader: Reader,
  digest: Uint8Array,
): Promise<{ node: Node; digest: Uint8Array } | undefined> {
  const row = await reader.first<NodeRow>('SELECT * FROM nodes WHERE secret_digest = $1', [digest])
  return row?.secret_digest ? { node: toNode(row), digest: row.secret_digest } : undefined
}

/** The key is used with the same commit that lets the secret in, and the secret before it is out. */
export async function writeJoin(tx: Tx, id: NodeId, secretDigest: Uint8Array, nowMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET secret_digest = $2, joined_at = $3, key_used_at = $3, changed_at = $3 WHERE id = $1', [
    id,
    secretDigest,
    nowMs,
  ])
}

/** From this commit on neither its secret nor its key opens anything. */
export async function forgetSecrets(tx: Tx, id: NodeId): Promise<void> {
  await tx.run(
    `UPDATE nodes SET secret_digest = NULL, joined_at = NULL,
       key_digest = NULL, key_expires_at = NULL, key_used_at = NULL
     WHERE id = $1`,
    [id],
  )
}

/** Other gateways hear of it: whoever is shut out is nobody to them. */
export async function setState(tx: Tx, id: NodeId, state: Node['state'], nowMs: number): Promise<void> {
  await tx.run('UPDATE nodes SET state = $2, changed_at = $3 WHERE id = $1', [id, state, nowMs])
}

/** Drains a node, or lets it serve again. */
export async function setDrained(tx: Tx, id: NodeId, drainedAt: number | null): Promise<void> {
  await tx.run('UPDATE nodes SET drained_at = $2 WHERE id = $1', [id, drainedAt])
}

export async function findHopKey(reader: Reader, id: NodeId): Promise<string | null> {
  const row = await reader.first<Pick<NodeRow, 'hop_key'>>('SELECT hop_key FROM nodes WHERE id = $1', [id])
  return row?.hop_key ?? null
}

/** From this commit on the others hear of the new key, and what was signed with the old one opens nothing. */
export async function writeHopKey(tx: Tx, id: NodeId, key: string, nowMs: number): Promise<void> {
  await tx.run(`UPDATE nodes SET hop_key = $2, changed_at = $3 WHERE id = $1 AND kind = 'gateway'`, [id, key, nowMs])
}

export type ChangedGateway = { readonly node: Node; readonly hopKey: string | null; readonly changedAt: number }

/** Gateways whose place among the others changed after a position, oldest change first. */
export async function gatewaysChangedAfter(
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  thereOnly: boolean,
): Promise<ChangedGateway[]> {
  const there = thereOnly ? `AND state = 'open' AND joined_at IS NOT NULL AND hop_key IS NOT NULL` : ''
  const rows = await reader.all<NodeRow>(
    `SELECT * FROM nodes WHERE kind = 'gateway' AND (changed_at, id) > ($1, $2) ${there}
     ORDER BY changed_at, id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )
  return rows.map((row) => ({ node: toNode(row), hopKey: row.hop_key, changedAt: Number(row.changed_at) }))
}

/** Differs from what it was whenever a gateway changed at `sinceAt` or later. */
export async function gatewayMark(reader: Reader, sinceAt: number): Promise<string> {
  const row = await reader.first<{ count: bigint; sum: bigint }>(
    `SELECT COUNT(*) AS count, CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) AS sum
     FROM nodes WHERE changed_at >= $1`,
    [sinceAt],
  )
  return `${row?.count} ${row?.sum}`
}

/** A node's last word only ever moves forward, whichever shop took it. */
export async function markSeen(tx: Tx, id: NodeId, nowMs: number, version: string): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE nodes SET version = $3,
       last_seen_at = CASE WHEN last_seen_at IS NULL OR last_seen_at < $2 THEN $2 ELSE last_seen_at END
     WHERE id = $1`,
    [id, nowMs, version],
  )
  return changed === 1
}

/**
 * A word of an earlier boot that comes late changes nothing. Within a boot what was carried never falls, and what has
 * begun to stop goes on to.
 */
export function writeHealth(tx: Tx, id: NodeId, health: Health): void {
  tx.send(
    `UPDATE nodes SET boot = $2, tunnels = $3, lag_ms = $4,
       carried = CASE WHEN boot = $2 AND carried > $5 THEN carried ELSE $5 END,
       relayed = CASE WHEN boot = $2 AND relayed > $6 THEN relayed ELSE $6 END,
       stopping_boot = COALESCE($7, stopping_boot), most_ports = $8
     WHERE id = $1 AND (boot IS NULL OR boot <= $2)`,
    [
      id,
      health.boot,
      health.tunnels,
      health.lagMs,
      health.carried,
      health.relayed,
      health.isStopping ? health.boot : null,
      health.mostPorts,
    ],
  )
}

export type SealedNode = { readonly node: Node; readonly sealed: Uint8Array | null }

/** Every node with its sealed key, for `verify`. */
export async function listSealed(reader: Reader): Promise<SealedNode[]> {
  const rows = await reader.all<NodeRow>('SELECT * FROM nodes ORDER BY name')
  return rows.map((row) => ({ node: toNode(row), sealed: row.private_key }))
}
