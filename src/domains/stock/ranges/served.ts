import { runningSince, type Stalls } from '../../../core/stall-monitor.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Fleet } from '../../fleet/index.ts'
import { isServing, type UnservedPosition } from './rules.ts'
import * as store from './store.ts'

type Unserved = {
  readonly leases: readonly { readonly proxy: number; readonly servedAt: number }[]
  /** The next page; null after the last. */
  readonly next: UnservedPosition | null
}

/** Which leased slots are served now, by which node, and since when the others are not. */
export function createServed(deps: { db: Database; clock: Clock; stalls: Stalls; fleet: Pick<Fleet, 'nodes'> }) {
  const { db } = deps
  const since = runningSince(deps)

  async function live(): Promise<string[]> {
    return (await deps.fleet.nodes('gateway')).filter((node) => isServing(node, since)).map((node) => node.id)
  }

  /** Gateways that were silent for this long, with their last report, by id. */
  async function silent(forMs: number): Promise<{ id: string; heardAt: number }[]> {
    return (await deps.fleet.nodes('gateway'))
      .filter((node) => !isServing(node, since))
      .map((node) => ({ id: node.id, heardAt: node.lastSeenAt ?? node.createdAt }))
      .filter((node) => since(node.heardAt) >= forMs)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  return {
    /**
     * A page of leases that were not served for this long, with when they last were. Time in which this process did not
     * run is not counted.
     */
    async unserved(at: UnservedPosition, limit: number, forMs: number): Promise<Unserved> {
      const carriers = [{ id: '', heardAt: 0 }, ...(await silent(forMs))].filter((each) => each.id >= at.carrier)
      const [carrier, following] = carriers
      if (!carrier) return { leases: [], next: null }
      const after = carrier.id === at.carrier ? at.place : 0
      const page = await store.leasedBy(db, carrier.id === '' ? null : carrier.id, after, limit)
      const last = page.at(-1)
      const isLast = !last || page.length < limit
      const next = isLast
        ? following && { carrier: following.id, place: 0 }
        : { carrier: carrier.id, place: last.place }
      const leases = page.flatMap(({ proxy, lostAt }) => {
        // A node that lost the slot to another node, which lost it too, has not served it since.
        const servedAt = carrier.id === '' ? lostAt : Math.max(carrier.heardAt, lostAt ?? 0)
        return servedAt !== null && since(servedAt) >= forMs ? [{ proxy, servedAt }] : []
      })
      return { leases, next: next ?? null }
    },

    /** Those slots that are served now. */
    async servedAmong(places: readonly number[]): Promise<ReadonlySet<number>> {
      const [carriers, serving] = await Promise.all([store.carriersOf(db, places), live()])
      return new Set([...carriers].filter(([, node]) => serving.includes(node)).map(([place]) => place))
    },

    /** The carriers of these slots, live or not. */
    carriersAmong: (reader: Reader, places: readonly number[]): Promise<ReadonlyMap<number, string>> =>
      store.carriersOf(reader, places),

    withdrawnAmong: (reader: Reader, places: readonly number[]): Promise<ReadonlySet<number>> =>
      store.withdrawnAmong(reader, places),

    /** Leased slots whose carrier is not the one that their holders know. */
    moved: async (after: number, limit: number): Promise<store.MovedSlot[]> =>
      store.movedSlots(db, await live(), after, limit),

    /** Marks the carrier as known to the holder. False if it was. */
    tellMoved: (tx: Tx, place: number): Promise<boolean> => store.setKnown(tx, place),

    /** The names of the nodes that serve these slots, or did last. */
    async carrierNames(places: readonly number[]): Promise<Map<number, string>> {
      const [carriers, nodes] = await Promise.all([store.lastCarriersOf(db, places), deps.fleet.nodes('gateway')])
      const names = new Map<string, string>(nodes.map((node) => [node.id, node.name]))
      return new Map([...carriers].map(([place, node]) => [place, names.get(node) ?? node]))
    },
  }
}
