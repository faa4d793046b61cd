import type { Clock } from '../core/time.ts'
import type { Traffic } from '../domains/traffic/index.ts'
import type { Chore, Notes } from './chores.ts'

const minuteMs = 60_000

/**
 * Tells the operator of nodes that claim what they cannot have carried, or hold as much of accounts as one node may,
 * once a minute while they do.
 */
export function trafficChores(
  {
    traffic,
    clock,
  }: {
    traffic: {
      readonly counts: Pick<Traffic['counts'], 'refusals'>
      readonly leases: Pick<Traffic['leases'], 'held'>
    }
    clock: Clock
  },
  notes: Notes,
): readonly Chore[] {
  let toldUntilAt = clock()
  return [
    {
      name: 'tell of claims',
      everyMs: minuteMs,
      async work() {
        for (const { node, bytes, at } of await traffic.counts.refusals(toldUntilAt)) {
          notes.error('a node claims what it cannot have carried', { node, refused_bytes: Number(bytes) })
          toldUntilAt = Math.max(toldUntilAt, at)
        }
        for (const [node, { bytes, accountsAtLimit }] of await traffic.leases.held()) {
          if (accountsAtLimit === 0) continue
          const fields = { node, held_bytes: Number(bytes), accounts_at_limit: accountsAtLimit }
          notes.error('a node holds as much of accounts as one node may', fields)
        }
      },
    },
  ]
}
