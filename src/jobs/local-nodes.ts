import { runningSince, type Stalls } from '../core/stall-monitor.ts'
import type { Clock } from '../core/time.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { NodeKind } from '../domains/fleet/rules.ts'
import type { Chore, Transacting } from './chores.ts'

/** Where nodes on this machine find the keys that they may join with, for their owner's eyes alone. */
export type JoinKeys = {
  has(kind: NodeKind): boolean
  /** A reader finds the whole text or the one before. */
  write(kind: NodeKind, text: string): void
}

/** A node that was not heard of for this long may have lost its secret, and finds a new key when it comes back. */
const silentMs = 60_000
/** A key that lies about is replaced well before it expires. */
const renewKeyMs = 12 * 3_600_000
const lookEveryMs = 20_000

const nameOf: Readonly<Record<NodeKind, string>> = { gateway: 'local-gateway', vpn: 'local' }

/**
 * Lets nodes on this machine join by themselves: whoever may read the data folder finds a key there. A node that was
 * heard of lately has joined and needs none. An old secret stays good until a join with the new key replaces it.
 */
export async function admitLocalNodes(
  deps: {
    readonly db: Transacting
    readonly fleet: Fleet
    readonly clock: Clock
    readonly stalls: Stalls
    readonly keys: JoinKeys
  },
  kinds: readonly NodeKind[],
): Promise<readonly Chore[]> {
  const { db, fleet, keys } = deps
  const since = runningSince(deps)

  async function admit(kind: NodeKind, isStart: boolean): Promise<void> {
    const name = nameOf[kind]
    const node =
      (await fleet.findByName(name)) ?? (await db.transact((tx) => fleet.add(tx, { kind, name, location: 'local' })))
    // An operator has shut it out; it is not for this process to let it in again.
    if (node.state === 'closed') return
    const nowMs = deps.clock()
    const isHeard = node.joinedAt !== null && node.lastSeenAt !== null && since(node.lastSeenAt) < silentMs
    if (isHeard) return
    const isGood = node.key !== null && node.key.usedAt === null && node.key.expiresAt - nowMs > renewKeyMs
    if (!isStart && isGood && keys.has(kind)) return
    keys.write(kind, (await fleet.issueKey(name)).text)
  }

  for (const kind of kinds) await admit(kind, true)
  return kinds.map((kind) => ({
    name: `let the ${kind} of this machine join`,
    everyMs: lookEveryMs,
    work: () => admit(kind, false),
    isOwn: true,
  }))
}
