import { addressToNumber } from '../../core/address.ts'
import { bind } from '../../core/bind.ts'
import { bytes } from '../../core/bytes.ts'
import type { Tx } from '../../db/transaction.ts'
import type { ReportBody } from '../../node-protocol/report.ts'
import { type NodePeer, toLeft } from '../../node-protocol/state.ts'
import type { NodeSide, StateRow } from '../fleet/index.ts'
import { maxBytes, sumRefused } from '../traffic/counts/rules.ts'
import type { Traffic } from '../traffic/index.ts'
import { eventOf } from './announce.ts'
import { closedNodes, loadGroups, type NodeGroup, recheckGroups, refreshUsedUp } from './groups.ts'
import { takePlaces } from './machines/places.ts'
import type { SeenPlace } from './machines/rules.ts'
import {
  addressesOf,
  addressRestMs,
  countSubjectOf,
  deviceOfSubject,
  ipv4Text,
  ipv6Of,
  isTrafficUsedUp,
  limitOfTerms,
  mayForward,
  usedBy,
} from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'
import type { VpnDeps } from './subscriptions.ts'

type PeerCounts = ReportBody['peers']
const forgottenAtOnce = 500

/** The state that VPN nodes read of devices, and the counts that they report. Every node knows every device. */
export function createVpnNodes(deps: VpnDeps): NodeSide & Required<Pick<NodeSide, 'setup'>> {
  const { db } = deps
  return {
    kind: 'vpn',

    tables: [
      {
        name: 'peers',
        // Blocks are read after the devices, so that a block in between is applied early and never late.
        async read(after, limit, thereOnly) {
          const found = await peers.pageChanged(db, after, limit, thereOnly)
          const blocked = await deps.customers.blockedAmong(found.map((each) => each.customer))
          const groups = await groupsFor(deps, found)
          return found.map((each) => withClosed(toRow(deps, each, blocked.has(each.customer)), each, groups))
        },
        forNode: (shape, { id }) => closeAt(shape, id),
      },
    ],

    mark: (sinceAt) => peers.changeMark(db, sinceAt),

    async knownAmong(items) {
      const devices = items.filter(({ kind }) => kind === 'peer')
      const known = await peers.knownAmong(db, [...new Set(devices.map(({ id }) => id))])
      return devices.filter(({ id }) => known.has(id))
    },

    /** A node's own addresses are the first after the base of the pool. */
    setup(node, privateKey) {
      const { pool, tunnel } = deps.settings
      const own = addressToNumber(pool.v4.base) + 1n
      return {
        private_key: privateKey,
        listen_port: node.endpoint?.port ?? tunnel.endpoint.port,
        mtu: tunnel.mtu,
        addresses: [`${ipv4Text(own)}/${pool.v4.length}`, `${ipv6Of(pool, own)}/${pool.v6.length}`],
      }
    },

    parts: ['peers'],

    /**
     * Counts are cumulative since the node's boot, so a repeated, late or reordered report adds nothing. A removed
     * device's last bytes still count; an unknown device is ignored.
     */
    async report(node, { boot, peers: counts }) {
      if (counts.length > 0) await takeReported(deps, node, boot, counts, true)
      return undefined
    },

    ...bind(deps, { forgetUsage }),

    touch: (tx, customer) => peers.touchDevices(tx, customer, deps.clock()),
  }
}

function toRow({ clock }: VpnDeps, of: peers.NodePeerRow, isBlocked: boolean): StateRow<NodePeer> {
  const left = of.trafficLimit === null ? null : of.trafficLimit - usedBy(of)
  return {
    id: of.id,
    changedAt: of.changedAt,
    shape: {
      id: of.id,
      public_key: of.publicKey,
      allowed: addressesOf(of),
      state: of.removedAt === null && !isBlocked && mayForward(of, clock()) ? 'up' : 'down',
      expires_at: of.expiresAt,
      speed_mbit: of.speedMegabits,
      left: left === null ? null : toLeft(left > 0n ? left : 0n),
    },
  }
}

/** The groups of nodes, if one of these devices may not use one. */
export const groupsFor = async (deps: VpnDeps, found: readonly peers.NodePeerRow[]): Promise<readonly NodeGroup[]> =>
  found.some(({ usedUpGroups }) => usedUpGroups !== null) ? loadGroups(deps) : []

/** Adds the nodes that a device may not use, which `closeAt` takes out again for each node. */
export const withClosed = <Shape extends object>(
  row: StateRow<Shape>,
  { usedUpGroups }: peers.NodePeerRow,
  groups: readonly NodeGroup[],
): StateRow<Shape> => {
  const closed = closedNodes(usedUpGroups, groups)
  return closed.length > 0 ? { ...row, shape: { ...row.shape, closed } } : row
}

/** The state of a device as this node has it: down if its subscription has used up its part of the node's group. */
export function closeAt<Shape extends object>(shape: Shape, node: string): Shape {
  const closed: unknown = 'closed' in shape ? shape.closed : undefined
  const isClosed = Array.isArray(closed) && closed.includes(node) && 'state' in shape && shape.state === 'up'
  return isClosed ? { ...shape, state: 'down' } : shape
}

/** `isWireGuard`: they are of a VPN node, whose devices take slots by their bytes. */
export async function takeReported(
  deps: VpnDeps,
  node: string,
  boot: string,
  counts: PeerCounts,
  isWireGuard: boolean,
): Promise<void> {
  const groups = await loadGroups(deps)
  const isLimited = groups.some(({ nodes }) => nodes.some(({ id }) => id === node))
  await deps.db.transact((tx) => takeCounts(deps, tx, node, boot, counts, isLimited ? groups : [], isWireGuard))
}

/** Adds new counts to devices and subscriptions. Reaching the traffic limit makes nodes read the devices again. */
async function takeCounts(
  deps: VpnDeps,
  tx: Tx,
  node: string,
  boot: string,
  reported: PeerCounts,
  /** If the node is in one of them. */
  groups: readonly NodeGroup[],
  isWireGuard: boolean,
): Promise<void> {
  const ids = reported.map((each) => each.id)
  const owners = await peers.findOwners(tx, ids)
  const known = reported.filter((each) => owners.has(each.id))
  const counts = known.map((each) => ({
    subject: countSubjectOf(each.id, each.protocol),
    received: bytes(BigInt(each.received)),
    sent: bytes(BigInt(each.sent)),
  }))
  const roomOf = (id: string): bigint => maxBytes - min(owners.get(id)?.usedBytes ?? 0n, maxBytes)
  const rooms = new Map(counts.map(({ subject }) => [subject, roomOf(deviceOfSubject(subject))]))
  const taken = await deps.traffic.counts.take(tx, { node, boot, counts }, { rooms })
  deps.traffic.counts.refuse(tx, node, sumRefused(taken))
  const added = sumByDevice(taken)
  const uses = lastUses(known, node, deps.clock())
  const changed = [...new Set([...added.keys(), ...uses.keys()])].toSorted()
  if (changed.length === 0) return
  const machines = known.flatMap(({ id }) => (isWireGuard && added.has(id) ? id : []))
  await takePlaces(deps, tx, machines.map(toWireGuardPlace(deps.clock())))
  const byOwner = Map.groupBy(changed, (id) => owners.get(id)?.uuid)
  const uuids = [...byOwner.keys()].filter((uuid) => uuid !== undefined)
  const locked = await store.lockMany(tx, uuids.toSorted())
  const unseen = changed.filter((id) => uses.has(id) && owners.get(id)?.lastHandshakeAt === null)
  const seen = await peers.findUnseen(tx, unseen)
  for (const before of locked) {
    let [received, sent] = [0n, 0n]
    for (const id of byOwner.get(before.uuid) ?? []) {
      const of = added.get(id) ?? { received: 0n, sent: 0n }
      peers.addUsage(tx, id, of.received, of.sent, uses.get(id))
      const { ipv4 = 0n, removedAt = null } = owners.get(id) ?? {}
      if (removedAt !== null) peers.restLonger(tx, ipv4, removedAt + addressRestMs)
      received += of.received
      sent += of.sent
    }
    if (received === 0n && sent === 0n) continue
    store.addTraffic(tx, before.uuid, received, sent)
    const after = { ...before, received: bytes(before.received + received), sent: bytes(before.sent + sent) }
    if (isTrafficUsedUp(after) && !isTrafficUsedUp(before)) peers.touchPeers(tx, before.uuid, deps.clock())
  }
  if (groups.length > 0) await refreshUsedUp(deps, tx, groups, locked)
  const bySubscription = new Map(locked.map((each) => [each.uuid, each]))
  const events = seen.flatMap(({ uuid, id, name }) => {
    const of = bySubscription.get(uuid)
    return of ? [eventOf(of, 'device.seen', { device_id: id, name })] : []
  })
  await deps.events.note(tx, events)
}

/** Takes bytes off devices and subscriptions, and recomputes the traffic limit. */
async function takeOff(deps: VpnDeps, tx: Tx, forgotten: Awaited<ReturnType<Traffic['counts']['disbelieve']>>) {
  if (forgotten.length === 0) return
  const ids = [...new Set(forgotten.map((each) => deviceOfSubject(each.subject)))]
  const owners = await peers.findOwners(tx, ids)
  const byOwner = Map.groupBy(forgotten, (each) => owners.get(deviceOfSubject(each.subject))?.uuid)
  const uuids = [...byOwner.keys()].filter((uuid) => uuid !== undefined)
  for (const before of await store.lockMany(tx, uuids.toSorted())) {
    let [received, sent] = [0n, 0n]
    for (const each of byOwner.get(before.uuid) ?? []) {
      peers.addUsage(tx, deviceOfSubject(each.subject), -each.received, -each.sent)
      received += each.received
      sent += each.sent
    }
    store.addTraffic(tx, before.uuid, -received, -sent)
    const used = bytes(usedBy(before) - received - sent)
    const terms = (await store.listTerms(tx, [before.uuid])).map((term) => ({
      ...term,
      usedBefore: term.usedBefore > used ? used : term.usedBefore,
    }))
    store.writeUsedBefore(tx, before.uuid, used, limitOfTerms(terms))
    if (isTrafficUsedUp(before)) peers.touchPeers(tx, before.uuid, deps.clock())
  }
}

/** Takes a node's counts off devices and subscriptions, 500 counts per transaction. */
export async function forgetUsage(deps: VpnDeps, node: string, sinceAt: number, dryRun: boolean) {
  const believed = await deps.traffic.counts.believedOf(node, sinceAt)
  if (dryRun) return believed
  for (let count = forgottenAtOnce; count === forgottenAtOnce; ) {
    count = await deps.db.transact(async (tx) => {
      const forgotten = await deps.traffic.counts.disbelieve(tx, node, sinceAt, forgottenAtOnce)
      await takeOff(deps, tx, forgotten)
      return forgotten.length
    })
  }
  await recheckGroups(deps)
  return believed
}

/** A device counts as one machine however often its key is copied: WireGuard sends to the machine that sent last. */
const toWireGuardPlace =
  (activeAt: number) =>
  (device: string): SeenPlace => ({ device, place: 'wireguard', activeAt, isNew: false, isForced: true })

type Added = { readonly received: bigint; readonly sent: bigint }

/** The bytes of each device over its protocols. */
function sumByDevice(taken: readonly (Added & { readonly subject: string })[]): Map<string, Added> {
  const added = new Map<string, Added>()
  for (const { subject, received, sent } of taken) {
    const id = deviceOfSubject(subject)
    const before = added.get(id) ?? { received: 0n, sent: 0n }
    added.set(id, { received: before.received + received, sent: before.sent + sent })
  }
  return added
}

/** The last use of each device, at most now: a node's clock may be ahead. */
function lastUses(counts: PeerCounts, node: string, nowMs: number): Map<string, peers.LastUse> {
  const latest = new Map<string, peers.LastUse>()
  for (const { id, protocol = 'wireguard', handshake_at: reportedAt } of counts) {
    if (!reportedAt) continue
    const at = Math.min(reportedAt, nowMs)
    if (at > (latest.get(id)?.at ?? 0)) latest.set(id, { at, protocol, node })
  }
  return latest
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
