import type { Log } from '../core/log.ts'
import type { OutageWatch } from '../domains/dedicated/index.ts'
import { lookEveryMs } from '../domains/dedicated/outages/rules.ts'
import type { Chore } from './chores.ts'

/** Begins and ends the outages of what was sold on nodes, and tells the operator when there was one. */
export function outageChores(
  services: { outageWatch: OutageWatch },
  notes: Pick<Log, 'info' | 'warn'>,
): readonly Chore[] {
  return [
    {
      name: 'look for outages',
      everyMs: lookEveryMs,
      async work() {
        const { interrupted, ...over } = await services.outageWatch.look()
        if (interrupted > 0) notes.warn('proxies interrupted', { interrupted })
        if (over.restored + over.replaced + over.moved > 0) notes.info('proxies go on', over)
      },
    },
  ]
}
