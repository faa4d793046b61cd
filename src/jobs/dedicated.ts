import type { DedicatedUpkeep } from '../domains/dedicated/index.ts'
import type { Stock } from '../domains/stock/index.ts'
import type { Chore } from './chores.ts'

const atOnce = 200

/** Ends what is over, renews what asks for it, and puts rested addresses up for sale again. */
export function dedicatedChores(services: { dedicatedUpkeep: DedicatedUpkeep; stock: Stock }): readonly Chore[] {
  return [
    { name: 'release proxies', everyMs: 5_000, work: () => untilFewer(() => services.dedicatedUpkeep.release(atOnce)) },
    { name: 'end rest', everyMs: 60_000, work: () => untilFewer(() => services.stock.endRest(atOnce)) },
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
