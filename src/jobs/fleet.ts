import type { Log } from '../core/log.ts'
import { runningSince, type Stalls } from '../core/stall-monitor.ts'
import type { Clock } from '../core/time.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { Node, NodeKind } from '../domains/fleet/rules.ts'
import type { Chore } from './chores.ts'

const lookEveryMs = 5_000
/** A node reports every second. Silence excludes time in which this process did not run. */
const silentMs = 15_000
const kinds: readonly NodeKind[] = ['gateway', 'vpn']

/** Tells the operator of nodes that go, and of those that come. A node that never joined is not missed. */
export function fleetChores(
  deps: { readonly fleet: Pick<Fleet, 'nodes'>; readonly clock: Clock; readonly stalls: Stalls },
  notes: Pick<Log, 'info' | 'warn'>,
): readonly Chore[] {
  const since = runningSince(deps)
  const there = new Map<string, boolean>()

  function look(node: Node): void {
    if (node.lastSeenAt === null || node.joinedAt === null) return
    const isThere = node.state === 'open' && since(node.lastSeenAt) <= silentMs
    const was = there.get(node.id)
    there.set(node.id, isThere)
    const fields = { node: node.id, name: node.name, kind: node.kind }
    if (isThere && was !== true) notes.info('node came', { ...fields, version: node.version ?? '' })
    if (isThere || was === false) return
    notes.warn('node gone', { ...fields, state: node.state, silent_ms: since(node.lastSeenAt) })
  }

  return [
    {
      name: 'tell of nodes',
      everyMs: lookEveryMs,
      async work() {
        for (const kind of kinds) for (const node of await deps.fleet.nodes(kind)) look(node)
      },
    },
  ]
}
