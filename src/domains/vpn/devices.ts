import { bytes } from '../../core/bytes.ts'
import { type CustomerId, makeId, type PeerId } from '../../core/ids.ts'
import { Refusal, refuseField } from '../../core/refusal.ts'
import { runningSince } from '../../core/stall-monitor.ts'
import { makeKeyPair, readPublicKey } from '../../core/wireguard.ts'
import type { Tx } from '../../db/transaction.ts'
import { locationsOf, type Node } from '../fleet/rules.ts'
import { makeAccessKeys } from './access-keys.ts'
import { keyInUse, noLiveNode, noSuchDevice } from './errors.ts'
import {
  addressRestMs,
  configText,
  freshWithinMs,
  ipv6Of,
  maxFreshDevices,
  nodeOf,
  type Peer,
  rangeOf,
  type SubscriptionId,
  statusOf,
  unusedRestMs,
  type View,
} from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import {
  assertOffered,
  load,
  loadOffering,
  lock,
  nodesAt,
  nodesOf,
  type SubscriptionChoice,
  type VpnDeps,
  view,
  withWireGuard,
} from './subscriptions.ts'

/** Input for a new device. Without a public key the shop makes the key pair. */
export type DeviceOrder = {
  readonly name?: string | undefined
  readonly publicKey?: string | undefined
  readonly location?: string | undefined
  readonly appDigest?: Uint8Array | undefined
}

/** A device's configuration and the location to which it connects. */
export type Configuration = ReturnType<typeof configure>

const keyContext = (id: PeerId): string => `vpn device ${id} private key`

export const privateKeyOf = (deps: VpnDeps, { id, sealedKey }: Peer): string | undefined =>
  sealedKey === null ? undefined : deps.vault.open(sealedKey, keyContext(id))

function makeKeys(deps: VpnDeps, id: PeerId, own: string | undefined, nodes: readonly Node[]) {
  if (own === undefined) {
    const { publicKey, privateKey } = makeKeyPair(deps.random, deps.publicKeyOf)
    return { publicKey, sealedKey: deps.vault.seal(privateKey, keyContext(id)), ownKey: false }
  }
  const publicKey = readPublicKey(own)
  if (publicKey === undefined) throw refuseField('public_key', 'wireguard_key')
  if (nodes.some((node) => node.publicKey === publicKey)) throw keyInUse()
  return { publicKey, sealedKey: null, ownKey: true }
}

/** How many devices the customer may add in a day, and whether that leaves room for more than `kept` others now. */
export async function freshLimit(deps: VpnDeps, tx: Tx, customer: CustomerId, bought: number, kept = 0) {
  const nowMs = deps.clock()
  const max = maxFreshDevices((await store.sumDeviceLimits(tx, customer, nowMs)) + bought)
  return { max, hasRoom: (await peers.countSince(tx, customer, nowMs - freshWithinMs)) < max - kept }
}

/** Refuses a device above the daily limit. `bought` counts devices paid for now. The customer's account is locked. */
export async function assertFresh(deps: VpnDeps, tx: Tx, customer: CustomerId, bought: number): Promise<void> {
  const { max, hasRoom } = await freshLimit(deps, tx, customer, bought)
  if (hasRoom) return
  throw new Refusal('daily_device_limit', { max: max }, { most_in_a_day: max, charged: false })
}

/** Inserts a device with keys and addresses. The caller has locked the subscription. */
export async function insertDevice(
  deps: VpnDeps,
  tx: Tx,
  of: { readonly subscription: SubscriptionId; readonly held: number; readonly nodes: readonly Node[] },
  order: DeviceOrder,
): Promise<Peer> {
  const { pool } = deps.settings
  const nowMs = deps.clock()
  const id = makeId('peer', nowMs, deps.random)
  const keys = makeKeys(deps, id, order.publicKey, of.nodes)
  const accessKeys = await makeAccessKeys(deps, tx, id)
  const ipv4 = await peers.takeAddress(tx, rangeOf(pool), id, nowMs)
  if (ipv4 === undefined) throw new Refusal('no_vpn_address_free', {}, { charged: false })
  const peer: Peer = {
    id,
    subscription: of.subscription,
    name: order.name ?? `device ${of.held + 1}`,
    ...keys,
    accessKeys,
    appDigest: order.appDigest ?? null,
    ipv4,
    ipv6: ipv6Of(pool, ipv4),
    location: order.location ?? null,
    node: null,
    received: bytes(0n),
    sent: bytes(0n),
    lastHandshakeAt: null,
    lastProtocol: null,
    lastNode: null,
    createdAt: nowMs,
    removedAt: null,
    changedAt: nowMs,
  }
  await peers.insertPeer(tx, peer)
  return peer
}

/** Removes devices: nodes drop them, keys are erased, and addresses rest. */
export async function removeAll(deps: VpnDeps, tx: Tx, devices: readonly Pick<Peer, 'id'>[]): Promise<void> {
  const nowMs = deps.clock()
  const ids = devices.map((each) => each.id)
  await peers.removePeers(tx, ids, nowMs)
  peers.restAddresses(tx, ids, { used: nowMs + addressRestMs, unused: nowMs + unusedRestMs })
}

/** A device's configuration for the named location, or its own; for any location if its own has no node any more. */
export function configure(deps: VpnDeps, device: Peer, nodes: readonly Node[], location: string | undefined) {
  const { tunnel } = deps.settings
  const own = location ?? device.location ?? undefined
  const isKnown = location !== undefined || locationsOf(withWireGuard(nodes)).some((each) => each.name === own)
  const node = nodeOf(device, nodesAt(nodes, isKnown ? own : undefined), runningSince(deps))
  if (!node || node.publicKey === null) throw noLiveNode()
  const peerNode = { name: node.name, publicKey: node.publicKey, endpoint: node.endpoint ?? tunnel.endpoint }
  return { device, location: node.location, text: configText(device, privateKeyOf(deps, device), peerNode, tunnel) }
}

/** Adds a device, in a transaction of its own. */
export async function addDevice(deps: VpnDeps, customer: CustomerId, order: DeviceOrder & SubscriptionChoice) {
  return deps.db.transact(await prepareDevice(deps, customer, order))
}

/**
 * Adds a device in the transaction of the returned function; what needs another connection is read before. Account and
 * subscription are locked, so that the last free slot is taken once.
 */
export async function prepareDevice(deps: VpnDeps, customer: CustomerId, order: DeviceOrder & SubscriptionChoice) {
  const offering = await loadOffering(deps)
  const { nodes } = offering
  return async (tx: Tx) => {
    assertOffered(deps, offering, order.location)
    // The account is locked first, as in a purchase.
    await deps.ledger.lock(tx, customer)
    const subscription = await lock(deps, tx, customer, { uuid: order.uuid })
    const { uuid, deviceLimit } = subscription
    const devices = await peers.listHeld(tx, [uuid])
    const status = statusOf(subscription, deps.clock())
    if (status === 'EXPIRED' || status === 'DISABLED') {
      throw new Refusal('subscription_not_active', { status }, { status, charged: false })
    }
    if (devices.length >= deviceLimit) {
      throw new Refusal('device_limit', { limit: deviceLimit }, { device_limit: deviceLimit, charged: false })
    }
    await assertFresh(deps, tx, customer, 0)
    const device = await insertDevice(deps, tx, { subscription: uuid, held: devices.length, nodes }, order)
    return {
      view: view(deps, subscription, [...devices, device], nodes),
      configuration: configure(deps, device, nodes, undefined),
    }
  }
}

export async function removeDevice(
  deps: VpnDeps,
  customer: CustomerId,
  which: SubscriptionChoice & { readonly device: PeerId },
): Promise<View> {
  const nodes = await nodesOf(deps)
  return deps.db.transact(async (tx) => {
    const subscription = await lock(deps, tx, customer, which)
    const devices = await peers.listHeld(tx, [subscription.uuid])
    const left = devices.filter((each) => each.id !== which.device)
    if (left.length === devices.length) throw noSuchDevice()
    await removeAll(deps, tx, [{ id: which.device }])
    return view(deps, subscription, left, nodes)
  })
}

/** Removes all devices of a subscription. Returns them with the subscription. */
export async function resetDevices(deps: VpnDeps, customer: CustomerId, which: SubscriptionChoice) {
  return deps.db.transact(async (tx) => {
    const { uuid } = await lock(deps, tx, customer, which)
    const removed = await peers.listHeld(tx, [uuid])
    await removeAll(deps, tx, removed)
    return { uuid, removed }
  })
}

/** A device's configuration; the oldest device's unless one is named. */
export async function configuration(
  deps: VpnDeps,
  customer: CustomerId,
  which: SubscriptionChoice & { readonly location?: string | undefined },
) {
  const { uuid } = await load(deps, customer, which)
  const device = deviceIn(await peers.listHeld(deps.db, [uuid]), which.device)
  if (!device) throw which.device === undefined ? new Refusal('vpn_device_missing') : noSuchDevice()
  return { uuid, configuration: configure(deps, device, await nodesOf(deps), which.location) }
}

const deviceIn = (devices: readonly Peer[], id: PeerId | undefined): Peer | undefined =>
  devices.find((each) => id === undefined || each.id === id)
