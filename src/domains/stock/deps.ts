import type { RandomBytes } from '../../core/ids.ts'
import { runningSince, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, IdCounter } from '../../db/transaction.ts'
import type { Customers } from '../customers/index.ts'
import type { Fleet } from '../fleet/index.ts'
import type { UnderWay } from './ranges/rules.ts'
import { countUnproven } from './ranges/store.ts'

/** An expired proof stops sales this much later at most. */
const unprovenTtlMs = 5_000

type Given = {
  db: Database
  clock: Clock
  stalls: Stalls
  random: RandomBytes
  fleet: Pick<Fleet, 'nodes' | 'findByName' | 'lockPresent'>
  customers: Pick<Customers, 'mode'>
  /** The life of the database that this process knows. */
  life: () => number
  slotIds: IdCounter
  rangeIds: IdCounter
}

export type StockDeps = ReturnType<typeof withCaches>

export const withCaches = (given: Given) => ({
  ...given,
  since: runningSince(given),
  /** The slot of the last sale of each kind and node, where the next search begins. */
  cursors: new Map<string, number>(),
  counts: new Map<string, { count: Promise<number>; countedAt: number }>(),
  /** Free slots of each gateway by kind, for the draw of a sale's gateway. */
  freeOfNodes: new Map<string, { counts: Promise<ReadonlyMap<string, number>>; countedAt: number }>(),
  /** Each unfinished import at its last progress. */
  imports: new Map<number, { readonly import: UnderWay; readonly sinceAt: number }>(),
  /** How many ranges each gateway claims without a proof. */
  claims: createTtlCache({
    load: async (): Promise<ReadonlyMap<string, number>> =>
      (await given.customers.mode()) === 'production' ? countUnproven(given.db, given.clock()) : new Map(),
    clock: given.clock,
    ttlMs: unprovenTtlMs,
    maxEntries: 1,
  }),
})
