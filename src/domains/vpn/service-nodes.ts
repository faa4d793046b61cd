import type { Reader, Tx } from '../../db/transaction.ts'
import { type Bytes, bytes } from '../../kernel/bytes.ts'
import type { PeerId } from '../../kernel/ids.ts'
import type { Count } from '../usage/rules.ts'
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
}

type DesiredPage = {
  readonly peers: readonly DesiredPeer[]
  /** Give it as `after` to go on; null when this was all. */
  readonly next: string | null
  /** Give it as `since` the next time. */
  readonly asOf: number
}

/** What a node counted for a device since it booted, and when the device last shook hands. */
type PeerCount = Count & { readonly lastHandshakeAt?: number | null }
type PeerReport = { readonly node: string; readonly boot: string; readonly counts: readonly PeerCount[] }

/**
 * How far a reader of changes looks back behind the moment it asks for. A change carries the time its transaction began and
 * is seen when that commits, so a later one may be seen first. No transaction lives this long.
 */
const overlapMs = 60_000
const pageSize = 1000

/** The side that nodes see: what they are to carry, and what they have carried. */
export function createNodeSide(deps: Pick<VpnDeps, 'clock' | 'usage'>) {
  const { clock } = deps

  function toDesired(of: nodes.PeerState): DesiredPeer {
    const left = of.trafficLimit === null ? null : of.trafficLimit - usedBy(of)
    return {
      id: of.id,
      publicKey: of.publicKey,
      allowedAddresses: addressesOf(of),
      state: of.removedAt === null && mayCarry(of, clock()) ? 'up' : 'down',
      expiresAt: of.expiresAt,
      speedMegabits: of.speedMegabits,
      trafficLeft: left === null ? null : bytes(left > 0n ? left : 0n),
    }
  }

  return {
    /**
     * What every VPN node is to carry, whichever location it stands in: a device may come to any of them. Without `since` all
     * devices that are held, a page at a time; with it what changed, removed devices too, with an overlap that repeats some.
     */
    async desiredPeers(
      reader: Reader,
      asked: { since?: number; after?: string | null; limit?: number } = {},
    ): Promise<DesiredPage> {
      const asOf = clock()
      const limit = Math.min(asked.limit ?? pageSize, pageSize)
      if (asked.since === undefined) {
        const found = await nodes.pageHeld(reader, asked.after ?? '', limit)
        const last = found.at(-1)
        return { peers: found.map(toDesired), next: last && found.length === limit ? last.id : null, asOf }
      }
      const [changedAt = '-1', id = ''] = (asked.after ?? '').split(' ')
      const position = { changedAt: changedAt === '' ? -1 : Number(changedAt), id }
      const found = await nodes.pageChanged(reader, asked.since - overlapMs, position, limit)
      const last = found.at(-1)
      const next = last && found.length === limit ? `${last.changedAt} ${last.id}` : null
      return { peers: found.map(toDesired), next, asOf }
    },

    /**
     * Takes a node's report. Counts are cumulative since the node's boot, so a report that comes twice, late or out of order adds
     * nothing; a removed device's last bytes still count. Reaching the limit cuts the subscription's devices off.
     */
    async recordUsage(tx: Tx, report: PeerReport): Promise<void> {
      if (report.counts.length === 0) return
      const owners = await peers.findOwners(
        tx,
        report.counts.map((each) => each.subject),
      )
      const known = report.counts.filter((each) => owners.has(each.subject))
      const added = new Map(
        (await deps.usage.take(tx, { ...report, counts: known })).map((each) => [each.subject, each]),
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
