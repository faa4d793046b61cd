import { runningSince, type Stalls } from '../core/stall-monitor.ts'
import type { Clock } from '../core/time.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import { localNames, type NodeKind } from '../domains/fleet/rules.ts'
import type { Job, Transacting } from './jobs.ts'

/** The files from which nodes on this machine read their join keys; readable by their owner only. */
export type JoinKeys = {
  has(kind: NodeKind): boolean
  /** Replaces the file atomically. */
  write(kind: NodeKind, text: string): void
}

/** A node silent for this long may have lost its secret and gets a new join key. */
const silentMs = 60_000
/** An unused key is replaced this long before it expires. */
const renewKeyMs = 12 * 3_600_000

/**
 * Lets nodes on this machine join without the operator: a process that can read the data folder finds a join key there.
 * A node that reported recently needs none. An old secret stays valid until a join with the new key replaces it.
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
): Promise<readonly Job[]> {
  const { db, fleet, keys } = deps
  const since = runningSince(deps)

  async function admit(kind: NodeKind, isStart: boolean): Promise<void> {
    const name = localNames[kind]
    const node =
      (await fleet.findByName(name)) ?? (await db.transact((tx) => fleet.add(tx, { kind, name, location: 'local' })))
    // An operator closed the node; only an operator opens it again.
    if (node.state === 'closed') return
    const nowMs = deps.clock()
    if (node.joinedAt !== null && node.lastSeenAt !== null && since(node.lastSeenAt) < silentMs) return
    const isValid = node.key !== null && node.key.usedAt === null && node.key.expiresAt - nowMs > renewKeyMs
    if (!isStart && isValid && keys.has(kind)) return
    keys.write(kind, (await fleet.issueKey(name)).text)
  }

  for (const kind of kinds) await admit(kind, true)
  return kinds.map((kind) => ({
    name: `let the ${kind} of this machine join`,
    everyMs: 20_000,
    work: () => admit(kind, false),
    isOwn: true,
  }))
}
