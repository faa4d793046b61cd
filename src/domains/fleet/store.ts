import type { Reader, Tx } from '../../db/transaction.ts'
import type { NodeId } from '../../kernel/ids.ts'
import type { Node, NodeKind } from './rules.ts'

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
  lastSeenAt: row.last_seen_at === null ? null : Number(row.last_seen_at),
  createdAt: Number(row.created_at),
})

/** A second node of the same name or key fails here, whichever process adds it. */
export async function insertNode(tx: Tx, node: Node, sealedKey: Uint8Array | null): Promise<void> {
  await tx.run(
    `INSERT INTO nodes (id, kind, name, location, country_code, city, endpoint_host, endpoint_port,
       public_key, private_key, state, version, last_seen_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
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
    ],
  )
}

/** All nodes of a kind, in the order of their names. A fleet is counted in tens. */
export async function listNodes(reader: Reader, kind: NodeKind): Promise<Node[]> {
  const rows = await reader.all<NodeRow>('SELECT * FROM nodes WHERE kind = $1 ORDER BY name', [kind])
  return rows.map(toNode)
}

export async function findSealedKey(
  reader: Reader,
  id: NodeId,
): Promise<{ node: Node; sealed: Uint8Array | null } | undefined> {
  const row = await reader.first<NodeRow>('SELECT * FROM nodes WHERE id = $1', [id])
  return row && { node: toNode(row), sealed: row.private_key }
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
