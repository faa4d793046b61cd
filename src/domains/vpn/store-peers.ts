import { type Address, addressToNumber, formatAddress } from '../../core/address.ts'
import { type Bytes, bytes } from '../../core/bytes.ts'
import type { CustomerId, PeerId } from '../../core/ids.ts'
import { list, numberOrNull, sendRows } from '../../db/rows.ts'
import { ConstraintViolation, type Reader, type Tx } from '../../db/transaction.ts'
import { keyInUse } from './errors.ts'
import type { Peer, SubscriptionId } from './rules.ts'
import type { Range } from './rules-addresses.ts'

type PeerRow = {
  id: string
  subscription_uuid: string
  name: string
  public_key: string
  private_key: Uint8Array | null
  own_key: bigint
  ipv4: bigint
  ipv6: string
  location: string | null
  node_id: string | null
  received: bigint
  sent: bigint
  last_handshake_at: bigint | null
  created_at: bigint
  removed_at: bigint | null
  changed_at: bigint
}

/** A device with its private key, sealed, if the shop has made it. */
export type KeptPeer = { readonly peer: Peer; readonly sealedKey: Uint8Array | null }

const toKept = (row: PeerRow): KeptPeer => ({
  peer: {
    id: row.id as PeerId,
    subscription: row.subscription_uuid as SubscriptionId,
    name: row.name,
    publicKey: row.public_key,
    ownKey: row.own_key === 1n,
    ipv4: row.ipv4,
    ipv6: row.ipv6,
    location: row.location,
    node: row.node_id,
    received: bytes(row.received),
    sent: bytes(row.sent),
    lastHandshakeAt: numberOrNull(row.last_handshake_at),
    createdAt: Number(row.created_at),
    removedAt: numberOrNull(row.removed_at),
    changedAt: Number(row.changed_at),
  },
  sealedKey: row.private_key,
})

/** How many addresses are made ready at a time, and how often one is looked for before the pool counts as used up. */
const carveAtOnce = 256
const mostLooks = 3

/**
 * Takes an address that nobody holds and that has rested, the longest rested first. Two transactions never take the
 * same one: on PostgreSQL each skips what another has locked. When none is ready the next stretch of the block is
 * carved; that is one statement in a few hundred. Undefined when the block is used up.
 */
export async function takeAddress(tx: Tx, range: Range, peer: PeerId, nowMs: number): Promise<bigint | undefined> {
  for (let look = 0; look < mostLooks; look += 1) {
    const row = await tx.first<{ ipv4: bigint }>(
      `UPDATE vpn_addresses SET peer_id = $4 WHERE ipv4 =
         (SELECT ipv4 FROM vpn_addresses WHERE peer_id IS NULL AND free_at <= $3 AND ipv4 BETWEEN $1 AND $2
          ORDER BY free_at, ipv4 LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING ipv4`,
      [range.first, range.last, nowMs, peer],
    )
    if (row) return row.ipv4
    if (!(await carve(tx, range))) return undefined
  }
  return undefined
}

/**
 * Makes the next addresses of the block ready. Whoever carves the same ones at the same time waits, and finds them
 * there.
 */
async function carve(tx: Tx, range: Range): Promise<boolean> {
  const row = await tx.first<{ last: bigint | null }>(
    'SELECT MAX(ipv4) AS last FROM vpn_addresses WHERE ipv4 BETWEEN $1 AND $2',
    [range.first, range.last],
  )
  const from = row?.last === null || row?.last === undefined ? range.first : row.last + 1n
  const left = range.last - from + 1n
  if (left <= 0n) return false
  const count = left < BigInt(carveAtOnce) ? Number(left) : carveAtOnce
  const rows = Array.from({ length: count }, (_, index) => [from + BigInt(index), 0] as const)
  sendRows(tx, 'INSERT INTO vpn_addresses (ipv4, free_at)', rows, 'ON CONFLICT (ipv4) DO NOTHING')
  return true
}

/**
 * An address that is given back rests before anybody else gets it: until one moment if its device has used it, else
 * until another.
 */
export function restAddresses(
  tx: Tx,
  peers: readonly PeerId[],
  until: { readonly used: number; readonly unused: number },
): void {
  for (const peer of peers) {
    tx.send(
      `UPDATE vpn_addresses SET peer_id = NULL, free_at =
         (SELECT CASE WHEN received + sent > 0 OR last_handshake_at IS NOT NULL
            THEN CAST($2 AS BIGINT) ELSE CAST($3 AS BIGINT) END
          FROM vpn_peers WHERE id = $1)
       WHERE peer_id = $1`,
      [peer, until.used, until.unused],
    )
  }
}

/**
 * A use that is told of after the device was removed: its address rests as long as if that had been known, unless
 * somebody has it.
 */
export function restLonger(tx: Tx, removed: { readonly ipv4: bigint; readonly untilAt: number }): void {
  tx.send('UPDATE vpn_addresses SET free_at = $2 WHERE ipv4 = $1 AND peer_id IS NULL AND free_at < $2', [
    removed.ipv4,
    removed.untilAt,
  ])
}

/** How many devices a customer has been given since a moment, whatever became of them and of their subscriptions. */
export async function countSince(reader: Reader, customer: CustomerId, sinceAt: number): Promise<number> {
  const row = await reader.first<{ n: bigint }>(
    `SELECT COUNT(*) AS n FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE s.customer_id = $1 AND p.created_at > $2`,
    [customer, sinceAt],
  )
  return Number(row?.n ?? 0n)
}

/** A key that another device holds is refused by the constraint, whoever was first by a hair. */
export async function insertPeer(tx: Tx, peer: Peer, sealedKey: Uint8Array | null): Promise<void> {
  try {
    await tx.run(
      `INSERT INTO vpn_peers (id, subscription_uuid, name, public_key, private_key, own_key, ipv4, ipv6, location,
         received, sent, last_handshake_at, created_at, removed_at, changed_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
      [
        peer.id,
        peer.subscription,
        peer.name,
        peer.publicKey,
        sealedKey,
        peer.ownKey ? 1 : 0,
        peer.ipv4,
        peer.ipv6,
        peer.location,
        peer.received,
        peer.sent,
        peer.lastHandshakeAt,
        peer.createdAt,
        peer.removedAt,
        peer.changedAt,
      ],
    )
  } catch (error) {
    if (error instanceof ConstraintViolation && error.kind === 'unique' && peer.ownKey) throw keyInUse()
    throw error
  }
}

/** From this commit on configurations of these devices name that node. */
export async function writeNode(tx: Tx, ids: readonly PeerId[], node: string, nowMs: number): Promise<void> {
  for (const id of ids)
    await tx.run('UPDATE vpn_peers SET node_id = $2, changed_at = $3 WHERE id = $1', [id, node, nowMs])
}

/** The devices that subscriptions hold, oldest first. */
export async function listHeld(reader: Reader, uuids: readonly SubscriptionId[]): Promise<KeptPeer[]> {
  if (uuids.length === 0) return []
  const rows = await reader.all<PeerRow>(
    `SELECT * FROM vpn_peers WHERE subscription_uuid IN (${list(uuids.length)}) AND removed_at IS NULL
     ORDER BY subscription_uuid, id`,
    uuids,
  )
  return rows.map(toKept)
}

/** Every device of subscriptions, removed ones too, for `verify`. */
export async function listAll(reader: Reader, uuids: readonly SubscriptionId[]): Promise<KeptPeer[]> {
  if (uuids.length === 0) return []
  const rows = await reader.all<PeerRow>(
    `SELECT * FROM vpn_peers WHERE subscription_uuid IN (${list(uuids.length)}) ORDER BY subscription_uuid, id`,
    uuids,
  )
  return rows.map(toKept)
}

/** The subscription that a customer's device belongs to. Another customer's device is as good as none. */
export async function findOwner(
  reader: Reader,
  customer: CustomerId,
  peer: PeerId,
): Promise<SubscriptionId | undefined> {
  const row = await reader.first<{ subscription_uuid: string }>(
    `SELECT p.subscription_uuid FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE p.id = $1 AND p.removed_at IS NULL AND s.customer_id = $2 AND s.deleted_at IS NULL`,
    [peer, customer],
  )
  return row?.subscription_uuid as SubscriptionId | undefined
}

/** From this commit on the device is cut off and its private key is nowhere. What it carried stays counted. */
export async function removePeers(tx: Tx, ids: readonly PeerId[], nowMs: number): Promise<void> {
  if (ids.length === 0) return
  await tx.run(
    `UPDATE vpn_peers SET removed_at = $1, changed_at = $1, private_key = NULL
     WHERE id IN (${list(ids.length, 1)}) AND removed_at IS NULL`,
    [nowMs, ...ids],
  )
}

/** Makes nodes look again at a subscription's devices. */
export function touchPeers(tx: Tx, uuid: SubscriptionId, nowMs: number): void {
  tx.send('UPDATE vpn_peers SET changed_at = $2 WHERE subscription_uuid = $1 AND removed_at IS NULL', [uuid, nowMs])
}

/** `carried` is what the whole subscription has. */
export type Owned = {
  readonly uuid: SubscriptionId
  readonly ipv4: bigint
  readonly removedAt: number | null
  readonly carried: bigint
}

/** Which of these devices exist, removed ones too, and whose they are. */
export async function findOwners(reader: Reader, ids: readonly string[]): Promise<Map<string, Owned>> {
  const rows = await reader.all<
    Pick<PeerRow, 'id' | 'subscription_uuid' | 'ipv4' | 'removed_at'> & { carried: bigint }
  >(
    `SELECT p.id, p.subscription_uuid, p.ipv4, p.removed_at, s.received + s.sent AS carried
     FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid WHERE p.id IN (${list(ids.length)})`,
    ids,
  )
  return new Map(
    rows.map((row) => {
      const uuid = row.subscription_uuid as SubscriptionId
      return [row.id, { uuid, ipv4: row.ipv4, removedAt: numberOrNull(row.removed_at), carried: row.carried }]
    }),
  )
}

/** Takes off a device's totals what a node should not have counted. */
export function takeUsage(tx: Tx, id: PeerId, of: { received: Bytes; sent: Bytes }): void {
  tx.send('UPDATE vpn_peers SET received = received - $2, sent = sent - $3 WHERE id = $1', [id, of.received, of.sent])
}

/** Adds what is new to a device's totals. A handshake only ever moves forward. */
export function addUsage(
  tx: Tx,
  id: PeerId,
  of: { received: Bytes; sent: Bytes; lastHandshakeAt: number | null },
): void {
  tx.send(
    `UPDATE vpn_peers SET received = received + $2, sent = sent + $3, last_handshake_at =
       CASE WHEN CAST($4 AS BIGINT) IS NULL OR last_handshake_at >= $4 THEN last_handshake_at ELSE $4 END
     WHERE id = $1`,
    [id, of.received, of.sent, of.lastHandshakeAt],
  )
}

/** Which devices had an address inside the tunnel between two moments, both included, the oldest first. */
export async function holdersBetween(
  reader: Reader,
  address: Address,
  from: number,
  to: number,
): Promise<{ id: string; subscription: string; customer: CustomerId; createdAt: number; removedAt: number | null }[]> {
  const rows = await reader.all<{
    id: string
    uuid: string
    customer_id: string
    created_at: bigint
    removed_at: bigint | null
  }>(
    `SELECT vpn_peers.id, vpn_subscriptions.uuid, vpn_subscriptions.customer_id, vpn_peers.created_at,
       vpn_peers.removed_at
     FROM vpn_peers JOIN vpn_subscriptions ON vpn_subscriptions.uuid = vpn_peers.subscription_uuid
     WHERE (vpn_peers.ipv4 = CAST($2 AS BIGINT) OR vpn_peers.ipv6 = $1) AND vpn_peers.created_at <= $4
       AND (vpn_peers.removed_at IS NULL OR vpn_peers.removed_at > $3)
     ORDER BY vpn_peers.created_at, vpn_peers.id LIMIT 1000`,
    [formatAddress(address), address.version === 4 ? addressToNumber(address) : null, from, to],
  )
  return rows.map((row) => ({
    id: row.id,
    subscription: row.uuid,
    customer: row.customer_id as CustomerId,
    createdAt: Number(row.created_at),
    removedAt: numberOrNull(row.removed_at),
  }))
}
