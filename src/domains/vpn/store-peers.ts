import { type Address, addressToNumber, formatAddress } from '../../core/address.ts'
import type { CustomerId, PeerId } from '../../core/ids.ts'
import { big, bytes, columnsOf, flag, idColumn, int, oneOf, orNull, textColumn, valuesOf } from '../../db/columns.ts'
import { allIn, list, loweredForms, pastPrefix, sendRows } from '../../db/rows.ts'
import { ConstraintViolation, type Reader, type Tx } from '../../db/transaction.ts'
import { keyInUse } from './errors.ts'
import { type AddressRange, type Peer, type SubscriptionId, type VpnProtocol, vpnProtocols } from './rules.ts'
import { count, size } from './store.ts'

const columns = columnsOf<Peer>({
  id: idColumn('id'),
  subscription: idColumn('subscription_uuid'),
  name: textColumn('name'),
  publicKey: textColumn('public_key'),
  sealedKey: orNull(bytes('private_key')),
  ownKey: flag('own_key'),
  accessKeys: orNull(bytes('access_keys')),
  appDigest: orNull(bytes('app_digest')),
  ipv4: big('ipv4'),
  ipv6: textColumn('ipv6'),
  location: orNull(textColumn('location')),
  node: orNull(textColumn('node_id')),
  received: size('received'),
  sent: size('sent'),
  lastHandshakeAt: orNull(int('last_handshake_at')),
  lastProtocol: orNull(oneOf('last_protocol', vpnProtocols)),
  lastNode: orNull(textColumn('last_node')),
  createdAt: int('created_at'),
  removedAt: orNull(int('removed_at')),
  changedAt: int('changed_at'),
})

/** Addresses inserted at a time, and attempts before the pool counts as used up. */
const carveAtOnce = 256
const maxLooks = 3

/**
 * Assigns a free, rested address to a device, the longest rested first; undefined when the pool is used up. SKIP LOCKED
 * keeps two transactions from taking the same one. If no row is free, the next addresses of the block are inserted.
 */
export async function takeAddress(tx: Tx, range: AddressRange, peer: PeerId, nowMs: number) {
  for (let look = 0; look < maxLooks; look += 1) {
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

/** Inserts the next addresses of the block. A concurrent insert of the same rows waits and then changes nothing. */
async function carve(tx: Tx, range: AddressRange): Promise<boolean> {
  const row = await tx.first<{ next: bigint | null }>(
    'SELECT MAX(ipv4) + 1 AS next FROM vpn_addresses WHERE ipv4 BETWEEN $1 AND $2',
    [range.first, range.last],
  )
  const from = row?.next ?? range.first
  const left = range.last - from + 1n
  if (left <= 0n) return false
  const length = left < BigInt(carveAtOnce) ? Number(left) : carveAtOnce
  const rows = Array.from({ length }, (_, index) => [from + BigInt(index), 0] as const)
  sendRows(tx, 'INSERT INTO vpn_addresses (ipv4, free_at)', rows, 'ON CONFLICT (ipv4) DO NOTHING')
  return true
}

/** Frees devices' addresses: each rests until `used` if its device used it, else until `unused`. */
export function restAddresses(tx: Tx, peers: readonly PeerId[], until: { used: number; unused: number }): void {
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

/** Prolongs the rest of a removed device's address whose use a node reported late, unless it is assigned again. */
export function restLonger(tx: Tx, ipv4: bigint, untilAt: number): void {
  const sql = 'UPDATE vpn_addresses SET free_at = $2 WHERE ipv4 = $1 AND peer_id IS NULL AND free_at < $2'
  tx.send(sql, [ipv4, untilAt])
}

/** How many devices a customer has added since a moment, removed ones and deleted subscriptions included. */
export const countSince = (reader: Reader, customer: CustomerId, sinceAt: number): Promise<number> =>
  count(
    reader,
    `SELECT COUNT(*) AS n FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE s.customer_id = $1 AND p.created_at > $2`,
    [customer, sinceAt],
  )

/** The unique constraint refuses a public key that another device holds. */
export async function insertPeer(tx: Tx, peer: Peer): Promise<void> {
  try {
    await tx.run(`INSERT INTO vpn_peers (${columns.names}) VALUES (${list(20)})`, columns.values(peer))
  } catch (error) {
    if (error instanceof ConstraintViolation && error.kind === 'unique' && peer.ownKey) throw keyInUse()
    throw error
  }
}

/** Configurations of these devices name that node from this commit on. */
export async function writeNode(tx: Tx, ids: readonly PeerId[], node: string, nowMs: number): Promise<void> {
  for (const id of ids)
    await tx.run('UPDATE vpn_peers SET node_id = $2, changed_at = $3 WHERE id = $1', [id, node, nowMs])
}

/** The devices that subscriptions hold, oldest first. */
export async function listHeld(reader: Reader, uuids: readonly SubscriptionId[]): Promise<Peer[]> {
  if (uuids.length === 0) return []
  return columns.all(
    reader,
    `SELECT * FROM vpn_peers WHERE subscription_uuid IN (${list(uuids.length)}) AND removed_at IS NULL
     ORDER BY subscription_uuid, id`,
    uuids,
  )
}

/** Every device of subscriptions, removed ones too, for `verify`. */
export async function listAll(reader: Reader, uuids: readonly SubscriptionId[]): Promise<Peer[]> {
  if (uuids.length === 0) return []
  return columns.all(
    reader,
    `SELECT * FROM vpn_peers WHERE subscription_uuid IN (${list(uuids.length)}) ORDER BY subscription_uuid, id`,
    uuids,
  )
}

/** The ids of the devices of subscriptions, removed ones too, with their subscriptions. */
export async function listIds(reader: Reader, uuids: readonly SubscriptionId[]) {
  const rows = await reader.all<{ id: string; subscription_uuid: SubscriptionId }>(
    `SELECT id, subscription_uuid FROM vpn_peers WHERE subscription_uuid IN (${list(uuids.length)}) ORDER BY id`,
    uuids,
  )
  return rows.map((row) => [row.id, row.subscription_uuid] as const)
}

/** The subscription of a customer's device; undefined for another customer's device. */
export const findOwner = (reader: Reader, customer: CustomerId, peer: PeerId): Promise<SubscriptionId | undefined> =>
  valuesOf(idColumn<SubscriptionId>('subscription_uuid')).first(
    reader,
    `SELECT p.subscription_uuid FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE p.id = $1 AND p.removed_at IS NULL AND s.customer_id = $2 AND s.deleted_at IS NULL`,
    [peer, customer],
  )

/** Marks devices as removed and erases their private and access keys. Their byte totals stay. */
export async function removePeers(tx: Tx, ids: readonly PeerId[], nowMs: number): Promise<void> {
  if (ids.length === 0) return
  await tx.run(
    `UPDATE vpn_peers SET removed_at = $1, changed_at = $1, private_key = NULL, access_keys = NULL, app_digest = NULL
     WHERE id IN (${list(ids.length, 1)}) AND removed_at IS NULL`,
    [nowMs, ...ids],
  )
}

/** Gives a device to an app. The caller has locked the subscription. */
export const writeApp = (tx: Tx, { id, appDigest, name }: Pick<Peer, 'id' | 'appDigest' | 'name'>): void =>
  tx.send('UPDATE vpn_peers SET app_digest = $2, name = $3 WHERE id = $1', [id, appDigest, name])

/** Raises `changed_at`, so that nodes read a subscription's devices again. */
export const touchPeers = (tx: Tx, uuid: SubscriptionId, nowMs: number): void =>
  tx.send('UPDATE vpn_peers SET changed_at = $2 WHERE subscription_uuid = $1 AND removed_at IS NULL', [uuid, nowMs])

/** Devices without access keys, locked. Another shop that makes them at the same moment is not waited for. */
export const lockWithoutKeys = (tx: Tx, limit: number): Promise<PeerId[]> =>
  valuesOf(idColumn<PeerId>('id')).all(
    tx,
    `SELECT id FROM vpn_peers WHERE access_keys IS NULL AND removed_at IS NULL ORDER BY id LIMIT $1
     FOR UPDATE SKIP LOCKED`,
    [limit],
  )

export const findAccessKeys = (reader: Reader, id: PeerId): Promise<Uint8Array | undefined> =>
  valuesOf(bytes('access_keys')).first(
    reader,
    'SELECT access_keys FROM vpn_peers WHERE id = $1 AND access_keys IS NOT NULL',
    [id],
  )

const sealedKeys = columnsOf({ id: idColumn<PeerId>('id'), accessKeys: orNull(bytes('access_keys')) })

/** The sealed keys of devices that are not removed. */
export async function listAccessKeys(reader: Reader, ids: readonly string[]) {
  if (ids.length === 0) return []
  const sql = `SELECT id, access_keys FROM vpn_peers WHERE removed_at IS NULL AND id IN (${list(ids.length)})`
  return sealedKeys.all(reader, sql, ids)
}

/** Raises `changed_at`, so that nodes read the device again. */
export const writeAccessKeys = (tx: Tx, id: PeerId, sealed: Uint8Array, nowMs: number): void =>
  tx.send('UPDATE vpn_peers SET access_keys = $2, changed_at = $3 WHERE id = $1', [id, sealed, nowMs])

const owners = columnsOf({
  id: textColumn('id'),
  uuid: idColumn<SubscriptionId>('subscription_uuid'),
  ipv4: big('ipv4'),
  removedAt: orNull(int('removed_at')),
  usedBytes: big('used'),
  lastHandshakeAt: orNull(int('last_handshake_at')),
})

/** The subscriptions of these devices with their byte totals, removed devices included; unknown ids are left out. */
export async function findOwners(reader: Reader, ids: readonly string[]) {
  const found = await owners.all(
    reader,
    `SELECT p.id, p.subscription_uuid, p.ipv4, p.removed_at, p.last_handshake_at, s.received + s.sent AS used
     FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid WHERE p.id IN (${list(ids.length)})`,
    ids,
  )
  return new Map(found.map((each) => [each.id, each]))
}

const unseenPeers = columnsOf({
  id: textColumn('id'),
  uuid: idColumn<SubscriptionId>('subscription_uuid'),
  name: textColumn('name'),
})

/** Those of these devices that no node has seen yet. The caller has locked their subscriptions. */
export async function findUnseen(tx: Tx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const sql = `SELECT id, subscription_uuid, name FROM vpn_peers
    WHERE last_handshake_at IS NULL AND id IN (${list(ids.length)}) ORDER BY id`
  return unseenPeers.all(tx, sql, ids)
}

/** When a device connected last, and how, as a node has reported it. */
export type LastUse = { readonly at: number; readonly protocol: VpnProtocol; readonly node: string }

const isOlder = 'CAST($4 AS BIGINT) IS NULL OR last_handshake_at >= $4'

/** Adds to a device's totals; negative numbers take bytes off. The time of the last use only moves forward. */
export const addUsage = (tx: Tx, id: string, received: bigint, sent: bigint, last?: LastUse): void =>
  tx.send(
    `UPDATE vpn_peers SET received = received + $2, sent = sent + $3,
       last_handshake_at = CASE WHEN ${isOlder} THEN last_handshake_at ELSE $4 END,
       last_protocol = CASE WHEN ${isOlder} THEN last_protocol ELSE CAST($5 AS TEXT) END,
       last_node = CASE WHEN ${isOlder} THEN last_node ELSE CAST($6 AS TEXT) END
     WHERE id = $1`,
    [id, received, sent, last?.at ?? null, last?.protocol ?? null, last?.node ?? null],
  )

const namedPeers = columnsOf({
  id: textColumn('id'),
  name: textColumn('name'),
  subscription: textColumn('subscription_uuid'),
  customer: idColumn<CustomerId>('customer_id'),
})

const selectNamed = `SELECT p.id, p.name, p.subscription_uuid, s.customer_id
     FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid WHERE p.removed_at IS NULL AND`

/** Devices in use whose name begins with the text, by the index on `LOWER(name)`. */
export async function findByNamePrefix(reader: Reader, text: string, limit: number) {
  const found: Awaited<ReturnType<typeof findNamed>> = []
  for (const form of loweredForms(text)) {
    const rows = await namedPeers.all(
      reader,
      `${selectNamed} LOWER(p.name) >= $1 AND LOWER(p.name) < $2 ORDER BY LOWER(p.name), p.id LIMIT $3`,
      [form, pastPrefix(form), limit - found.length],
    )
    found.push(...rows)
  }
  return found
}

/** Devices in use with this id, public key or address inside the tunnel; each part uses its unique index. */
export function findNamed(reader: Reader, text: string, address: Address | undefined) {
  return namedPeers.all(
    reader,
    `${selectNamed} p.id = $1 UNION ALL ${selectNamed} p.public_key = $1 UNION ALL ${selectNamed} p.ipv6 = $2
     UNION ALL ${selectNamed} p.ipv4 = CAST($3 AS BIGINT)`,
    [text, address ? formatAddress(address) : '', address?.version === 4 ? addressToNumber(address) : null],
  )
}

const holders = columnsOf({
  id: textColumn('id'),
  subscription: textColumn('uuid'),
  customer: idColumn<CustomerId>('customer_id'),
  createdAt: int('created_at'),
  removedAt: orNull(int('removed_at')),
})

/** Which devices had an address inside the tunnel between two moments, both included, the oldest first. */
export const holdersBetween = (reader: Reader, address: Address, from: number, to: number) =>
  holders.all(
    reader,
    `SELECT vpn_peers.id, vpn_subscriptions.uuid, vpn_subscriptions.customer_id, vpn_peers.created_at,
       vpn_peers.removed_at
     FROM vpn_peers JOIN vpn_subscriptions ON vpn_subscriptions.uuid = vpn_peers.subscription_uuid
     WHERE (vpn_peers.ipv4 = CAST($2 AS BIGINT) OR vpn_peers.ipv6 = $1) AND vpn_peers.created_at <= $4
       AND (vpn_peers.removed_at IS NULL OR vpn_peers.removed_at > $3)
     ORDER BY vpn_peers.created_at, vpn_peers.id LIMIT 1000`,
    [formatAddress(address), address.version === 4 ? addressToNumber(address) : null, from, to],
  )

/** A device with the fields of its subscription that decide whether nodes forward its packets. */
export type NodePeerRow = ReturnType<typeof changed.read>

const changed = columnsOf({
  id: idColumn<PeerId>('id'),
  customer: idColumn<CustomerId>('customer_id'),
  publicKey: textColumn('public_key'),
  accessKeys: orNull(bytes('access_keys')),
  ipv4: big('ipv4'),
  ipv6: textColumn('ipv6'),
  removedAt: orNull(int('removed_at')),
  changedAt: int('changed_at'),
  expiresAt: int('expires_at'),
  disabledAt: orNull(int('disabled_at')),
  deletedAt: orNull(int('deleted_at')),
  speedMegabits: orNull(int('speed_mbit')),
  usedUpGroups: orNull(textColumn('used_up_groups')),
  trafficLimit: orNull(size('traffic_limit')),
  received: size('received'),
  sent: size('sent'),
})

/** Devices that changed after a position, earliest change first; with `heldOnly` removed ones are left out. */
export const pageChanged = (
  reader: Reader,
  after: { changedAt: number; id: string },
  limit: number,
  heldOnly: boolean,
): Promise<NodePeerRow[]> =>
  changed.all(
    reader,
    `SELECT p.id, s.customer_id, p.public_key, p.access_keys, p.ipv4, p.ipv6, p.removed_at, p.changed_at,
       s.expires_at, s.disabled_at, s.deleted_at, s.speed_mbit, s.used_up_groups, s.traffic_limit, s.received, s.sent
     FROM vpn_peers p JOIN vpn_subscriptions s ON s.uuid = p.subscription_uuid
     WHERE (p.changed_at, p.id) > ($1, $2) ${heldOnly ? 'AND p.removed_at IS NULL' : ''}
     ORDER BY p.changed_at, p.id LIMIT $3`,
    [after.changedAt, after.id, limit],
  )

/** Differs from what it was whenever a device changed at `sinceAt` or later. */
export async function changeMark(reader: Reader, sinceAt: number): Promise<string> {
  const row = await reader.first<{ n: bigint; sum: bigint }>(
    `SELECT COUNT(*) AS n, CAST(COALESCE(SUM(changed_at - $1), 0) AS BIGINT) AS sum
     FROM vpn_peers WHERE changed_at >= $1`,
    [sinceAt],
  )
  return `${row?.n} ${row?.sum}`
}

/** Raises `changed_at`, so that nodes read all devices of a customer again. */
export const touchDevices = (tx: Tx, customer: CustomerId, nowMs: number): void =>
  tx.send(
    `UPDATE vpn_peers SET changed_at = $2 WHERE removed_at IS NULL
       AND subscription_uuid IN (SELECT uuid FROM vpn_subscriptions WHERE customer_id = $1)`,
    [customer, nowMs],
  )

/** Those ids that are devices, removed ones too. */
export async function knownAmong(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
  const sql = (among: string) => `SELECT id FROM vpn_peers WHERE id IN (${among})`
  return new Set((await allIn<{ id: string }>(reader, ids, sql)).map((row) => row.id))
}
