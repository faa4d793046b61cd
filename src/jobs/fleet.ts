import type { Log } from '../core/log.ts'
import { runningSince, type Stalls } from '../core/stall-monitor.ts'
import type { Clock } from '../core/time.ts'
import type { Fleet } from '../domains/fleet/index.ts'
import type { Node, NodeKind } from '../domains/fleet/rules.ts'
import type { Job } from './jobs.ts'

/** A node reports every second. Silence excludes time in which this process did not run. */
const silentMs = 15_000
const kinds: readonly NodeKind[] = ['gateway', 'vpn']

/** Logs nodes that appear and disappear. A node that never joined is ignored. */
export function fleetJobs(
  deps: { readonly fleet: Pick<Fleet, 'nodes'>; readonly clock: Clock; readonly stalls: Stalls },
  log: Pick<Log, 'info' | 'warn'>,
): readonly Job[] {
  const since = runningSince(deps)
  const there = new Map<string, boolean>()

  function look(node: Node): void {
    if (node.lastSeenAt === null || node.joinedAt === null) return
    const isThere = node.state === 'open' && since(node.lastSeenAt) <= silentMs
    const was = there.get(node.id)
    there.set(node.id, isThere)
    const fields = { node: node.id, name: node.name, kind: node.kind }
    if (isThere && was !== true) log.info('node came', { ...fields, version: node.version ?? '' })
    if (isThere || was === false) return
    log.warn('node gone', { ...fields, state: node.state, silent_ms: since(node.lastSeenAt) })
  }

  async function work(): Promise<void> {
    for (const kind of kinds) for (const node of await deps.fleet.nodes(kind)) look(node)
  }
  return [{ name: 'tell of nodes', everyMs: 5_000, work }]
}
