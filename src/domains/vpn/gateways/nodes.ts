import { toEntrySecret, toExitsSecret } from '../../../core/device-exits.ts'
import type { NodeDevice } from '../../../node-protocol/state.ts'
import { ownerName } from '../../customers/rules.ts'
import type { NodeSide, StateReader, StateRow } from '../../fleet/index.ts'
import { openAccessKeys, toDigests } from '../access-keys.ts'
import { doctorDevice } from '../doctor-device.ts'
import { takePlaces } from '../machines/places.ts'
import { checkProofs } from '../machines/proofs.ts'
import { closeAt, forgetUsage, groupsFor, takeReported, withClosed } from '../nodes.ts'
import { mayForward } from '../rules.ts'
import * as peers from '../store-peers.ts'
import type { VpnDeps } from '../subscriptions.ts'

/** The state that gateways read of devices, as credentials of proxies over TLS, and the counts that they report. */
export function createVpnGateways(deps: VpnDeps): NodeSide {
  const { db } = deps
  return {
    kind: 'gateway',
    isForVpn: true,

    tables: [
      {
        name: 'devices',
        // Blocks are read after the devices, so that a block in between is applied early and never late.
        async read(after, limit, thereOnly) {
          const found = await peers.pageChanged(db, after, limit, thereOnly)
          const blocked = await deps.customers.blockedAmong(found.map((each) => each.customer))
          const groups = await groupsFor(deps, found)
          return found.map((each) => withClosed(toRow(deps, each, blocked.has(each.customer)), each, groups))
        },
        forNode: (shape, node) => withEntrySecret(deps, closeAt(shape, node.id), node),
        always: (node) => [toDoctorRow(deps, node)],
      },
    ],

    mark: (sinceAt) => peers.changeMark(db, sinceAt),

    parts: ['peers'],

    /** The bytes of a device at gateways and at VPN nodes count together. */
    async report(node, { boot, peers: counts }) {
      if (counts.length > 0) await takeReported(deps, node, boot, counts, false)
      return undefined
    },

    async places(node, { places }) {
      const { proven, unproven } = await checkProofs(deps, node, places)
      const seen = proven.map((each) => ({ ...each, activeAt: each.active_at, isNew: each.is_new }))
      const refused = new Set<object>(await db.transact((tx) => takePlaces(deps, tx, seen)))
      return [...unproven, ...proven.filter((_, index) => refused.has(seen[index] ?? {}))]
    },

    forgetUsage: (node, sinceAt, dryRun) => forgetUsage(deps, node, sinceAt, dryRun),

    // The side of VPN nodes marks the same rows.
    touch: () => {},
  }
}

/** Adds an entry's own secret of the device. The schema of the page drops the one from which it is made. */
function withEntrySecret<Shape extends object>({ hmac }: VpnDeps, shape: Shape, node: StateReader): Shape {
  const secret: unknown = 'exits_secret' in shape ? shape.exits_secret : undefined
  if (typeof secret !== 'string' || node.entry !== node.id) return shape
  return { ...shape, exit_secret: toEntrySecret(hmac, secret, node.id) }
}

/** The end of the year 9999. */
const neverMs = 253_402_300_799_000

function toDoctorRow(deps: VpnDeps, node: string): NodeDevice {
  const keys = doctorDevice(deps, node)
  const state = { state: 'down', expires_at: 0, grace_until: neverMs, speed_mbit: null } as const
  return { id: keys.id, ...toDigests(deps, keys), ...state, owner: deps.sha256('doctor').toHex().slice(0, 16) }
}

/** SHA-256 of nothing that a client can present: a device without keys yet. */
const noDigest = '0'.repeat(64)

/** Until when an ended device reaches the shop; null if it never does. */
const graceEndOf = ({ settings: { graceMs } }: VpnDeps, of: peers.NodePeerRow): number | null =>
  graceMs === 0 || of.disabledAt !== null || of.deletedAt !== null || of.removedAt !== null
    ? null
    : of.expiresAt + graceMs

function toRow(deps: VpnDeps, of: peers.NodePeerRow, isBlocked: boolean): StateRow<NodeDevice> {
  const { id, changedAt } = of
  const keys = openAccessKeys(deps, of)
  const isUp = keys !== undefined && !isBlocked && mayForward(of, deps.clock())
  const shape = {
    id,
    ...(keys ? toDigests(deps, keys) : { vless: noDigest, trojan: noDigest, password: noDigest }),
    state: of.removedAt !== null ? ('gone' as const) : isUp ? ('up' as const) : ('down' as const),
    expires_at: of.expiresAt,
    grace_until: isBlocked ? null : graceEndOf(deps, of),
    speed_mbit: of.speedMegabits,
    owner: ownerName(of.customer, deps.sha256),
    ...(keys && { exits_secret: toExitsSecret(deps.hmac, keys.password) }),
  }
  return { id, changedAt, shape }
}
