import type { Tx } from '../../db/transaction.ts'
import { addressToNumber } from '../../kernel/address.ts'
import { type Bytes, bytes } from '../../kernel/bytes.ts'
import type { CustomerId, PeerId } from '../../kernel/ids.ts'
import type { Count } from '../traffic/counts/rules.ts'
import { ipv4Text, ipv6Of } from './addresses.ts'
import { addressesOf } from './render.ts'
import { isTrafficUsedUp, mayCarry, type SubscriptionId, usedBy } from './rules.ts'
import type { VpnDeps } from './service-shelf.ts'
import * as store from './store.ts'
import * as nodes from './store-nodes.ts'
import * as peers from './store-peers.ts'

/** What a node is to do about one device: all of it, so that hearing it twice changes nothing. */
type DesiredPeer = {
  readonly id: PeerId
  readonly publicKey: string
  readonly allowedAddresses: readonly string[]
  /** `up` until `expiresAt`, which the node keeps by itself; `down` is cut off at once. */
  readonly state: 'up' | 'down'
  readonly expiresAt: number
  readonly speedMegabits: number | null
  /** Bytes that the subscription may still carry, over all its devices and nodes. */
  readonly trafficLeft: Bytes | null
  readonly changedAt: number
}

/** Where a reader of changes is: the moment and the id of the last one it was given. */
type Position = { readonly changedAt: number; readonly id: string }

/** What a node counted for a device since it booted, and when the device last shook hands. */
type PeerCount = Count & { readonly lastHandshakeAt?: number | null }
type PeerReport = { readonly node: string; readonly boot: string; readonly counts: readonly PeerCount[] }

/** The side that nodes see: what they are to carry, and what they have carried. */
export function createNodeSide(deps: Pick<VpnDeps, 'db' | 'clock' | 'traffic' | 'customers' | 'arranged'>) {
  const { db, clock } = deps

  function toDesired(of: nodes.PeerState, isBlocked: boolean): DesiredPeer {
    const left = of.trafficLimit === null ? null : of.trafficLimit - usedBy(of)
    return {
      id: of.id,
      publicKey: of.publicKey,
      allowedAddresses: addressesOf(of),
      state: of.removedAt === null && !isBlocked && mayCarry(of, clock()) ? 'up' : 'down',
      expiresAt: of.expiresAt,
      speedMegabits: of.speedMegabits,
      trafficLeft: left === null ? null : bytes(left > 0n ? left : 0n),
      changedAt: of.changedAt,
    }
  }

  /**
   * Takes a node's report. Counts are cumulative since the node's boot, so a report that comes twice, late or out of order adds
   * nothing; a removed device's last bytes still count. Reaching the limit cuts the subscription's devices off.
   */
  async function recordUsage(tx: Tx, report: PeerReport): Promise<void> {
    if (report.counts.length === 0) return
    const owners = await peers.findOwners(
      tx,
      report.counts.map((each) => each.subject),
    )
    const known = report.counts.filter((each) => owners.has(each.subject))
    const added = new Map(
      (await deps.traffic.counts.take(tx, { ...report, counts: known })).map((each) => [each.subject, each]),
    )
    const handshakes = latestHandshakes(known)
    const changed = [...new Set([...added.keys(), ...handshakes.keys()])].toSorted()
    const uuids = [...new Set(changed.map((id) => owners.get(id) ?? ''))].toSorted()
    if (uuids.length === 0) return
    const before = new Map((await store.lockMany(tx, uuids)).map((each) => [each.uuid, each]))
    const sums = new Map<SubscriptionId, { received: bigint; sent: bigint }>()
    for (const id of changed) {
      const of = { received: added.get(id)?.received ?? bytes(0n), sent: added.get(id)?.sent ?? bytes(0n) }
      peers.addUsage(tx, id as PeerId, { ...of, lastHandshakeAt: handshakes.get(id) ?? null })
      const uuid = owners.get(id)
      if (uuid === undefined) continue
      const sum = sums.get(uuid) ?? { received: 0n, sent: 0n }
      sums.set(uuid, { received: sum.received + of.received, sent: sum.sent + of.sent })
    }
    for (const [uuid, sum] of sums) {
      const was = before.get(uuid)
      if (!was || (sum.received === 0n && sum.sent === 0n)) continue
      store.addTraffic(tx, uuid, bytes(sum.received), bytes(sum.sent))
      const now = { ...was, received: bytes(was.received + sum.received), sent: bytes(was.sent + sum.sent) }
      if (isTrafficUsedUp(now) && !isTrafficUsedUp(was)) peers.touchPeers(tx, uuid, clock())
    }
  }

  return {
    /**
     * What every VPN node is to carry, whichever location it stands in: a device may come to any of them. What changed at `since` or
     * later, oldest change first, a page at a time, removed devices too unless only held ones are asked for. Customers are asked
     * about after their devices were read: whoever is blocked in between is told of too early, never too late.
     */
    async desiredPeers(
      since: number,
      after: Position | undefined,
      limit: number,
      heldOnly = false,
    ): Promise<DesiredPeer[]> {
      const found = await nodes.pageChanged(db, after ?? { changedAt: since, id: '' }, limit, heldOnly)
      const blocked = await deps.customers.blockedAmong(found.map((each) => each.customer))
      return found.map((each) => toDesired(each, blocked.has(each.customer)))
    },

    /** Another text whenever a device changed at a moment or later. */
    changeMark: (since: number): Promise<string> => nodes.changeMark(db, since),

    /** Makes nodes look again at all devices of a customer. */
    touch: (tx: Tx, customer: CustomerId): void => nodes.touchDevices(tx, customer, clock()),

    recordUsage,

    takeReport: (report: PeerReport): Promise<void> => db.transact((tx) => recordUsage(tx, report)),

    /** What a node needs besides its peers. Its own addresses are the first after the base of the block that devices have theirs from. */
    nodeSetup(): { listenPort: number; mtu: number; addresses: readonly string[] } {
      const { pool, tunnel } = deps.arranged
      const own = addressToNumber(pool.v4.base) + 1n
      return {
        listenPort: tunnel.endpoint.port,
        mtu: tunnel.mtu,
        addresses: [`${ipv4Text(own)}/${pool.v4.length}`, `${ipv6Of(pool, own)}/${pool.v6.length}`],
      }
    },
  }
}

function latestHandshakes(counts: readonly PeerCount[]): Map<string, number> {
  const latest = new Map<string, number>()
  for (const { subject, lastHandshakeAt } of counts) {
    if (lastHandshakeAt) latest.set(subject, Math.max(lastHandshakeAt, latest.get(subject) ?? 0))
  }
  return latest
}
