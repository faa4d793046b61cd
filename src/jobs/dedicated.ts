import { toIso } from '../core/time.ts'
import type { DedicatedUpkeep } from '../domains/dedicated/index.ts'
import type { Stock } from '../domains/stock/index.ts'
import type { Chore, Notes } from './chores.ts'

const atOnce = 200

/** Ends what is over, renews what asks for it, and puts up for sale what has rested or was left half added. */
export function dedicatedChores(
  services: { dedicatedUpkeep: DedicatedUpkeep; stock: Stock },
  notes: Pick<Notes, 'info'>,
): readonly Chore[] {
  return [
    { name: 'release proxies', everyMs: 5_000, work: () => untilFewer(() => services.dedicatedUpkeep.release(atOnce)) },
    { name: 'end rest', everyMs: 60_000, work: () => untilFewer(() => services.stock.endRest(atOnce)) },
    {
      name: 'adopt stock',
      everyMs: 60_000,
      async work() {
        for (const { begunAt, places, prefix } of await services.stock.ranges.unfinished.adoptStill()) {
          notes.info('half added stock is sold', { begun_at: toIso(begunAt), places, first_range: prefix })
        }
      },
    },
    {
      name: 'renew proxies',
      everyMs: 30_000,
      async work() {
        await services.dedicatedUpkeep.renew(atOnce)
      },
    },
  ]
}

/** Batch after batch, with a breath between them, until there is no more. */
async function untilFewer(batch: () => Promise<number>): Promise<void> {
  while ((await batch()) === atOnce) await Bun.sleep(20)
}
