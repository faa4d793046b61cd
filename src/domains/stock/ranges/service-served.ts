import { runningSince, type Stalls } from '../../../core/stall-monitor.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database, Reader, Tx } from '../../../db/transaction.ts'
import type { Fleet } from '../../fleet/index.ts'
import { isServing, type UnservedPosition } from './rules.ts'
import * as store from './store.ts'

type Unserved = {
  readonly leases: readonly { readonly proxy: number; readonly servedAt: number }[]
  /** Where to go on; null after the last page. */
  readonly next: UnservedPosition | null
}

/** Which of what is sold is served now, by whom, and since when it is not. */
export function createServed(deps: { db: Database; clock: Clock; stalls: Stalls; fleet: Pick<Fleet, 'nodes'> }) {
  const { db } = deps
  const since = runningSince(deps)

  async function live(): Promise<string[]> {
    return (await deps.fleet.nodes('gateway')).filter((node) => isServing(node, since)).map((node) => node.id)
  }

  /** Gateways that do not serve and were silent for this long, with when each was last heard of, ordered by id. */
  async function silent(forMs: number): Promise<{ id: string; heardAt: number }[]> {
    return (await deps.fleet.nodes('gateway'))
      .filter((node) => !isServing(node, since))
      .map((node) => ({ id: node.id as string, heardAt: node.lastSeenAt ?? node.createdAt }))
      .filter((node) => since(node.heardAt) >= forMs)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }

  return {
    /**
     * A page of what is sold and was not served for this long: whose it is, and when it was last served. Time in which
     * this process did not run is left out: whichever gateway served it then could not say so.
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
        // One that lost it to another which lost it too has not served it since.
        const servedAt = carrier.id === '' ? lostAt : Math.max(carrier.heardAt, lostAt ?? 0)
        return servedAt !== null && since(servedAt) >= forMs ? [{ proxy, servedAt }] : []
      })
      return { leases, next: next ?? null }
    },

    /** Which of these places somebody serves now. */
    async servedAmong(places: readonly number[]): Promise<ReadonlySet<number>> {
      const [carriers, serving] = await Promise.all([store.carriersOf(db, places), live()])
      return new Set([...carriers].filter(([, node]) => serving.includes(node)).map(([place]) => place))
    },

    /** Which node carries each of these places, whether it is there or not. */
    carriersAmong: (reader: Reader, places: readonly number[]): Promise<ReadonlyMap<number, string>> =>
      store.carriersOf(reader, places),

    /** Which of these places the operator has taken off sale: those that retire, and those in quarantine. */
    withdrawnAmong: (reader: Reader, places: readonly number[]): Promise<ReadonlySet<number>> =>
      store.withdrawnAmong(reader, places),

    /** Sold places that another node carries than their holders know of. */
    moved: async (after: number, limit: number): Promise<store.Moved[]> =>
      store.movedPlaces(db, await live(), after, limit),

    /** Its holder is told in this transaction. False if he was already. */
    tellMoved: (tx: Tx, place: number): Promise<boolean> => store.setKnown(tx, place),

    /** The name of the node that carries each of these places, or did last. */
    async carrierNames(places: readonly number[]): Promise<Map<number, string>> {
      const [carriers, nodes] = await Promise.all([store.lastCarriersOf(db, places), deps.fleet.nodes('gateway')])
      const names = new Map(nodes.map((node) => [node.id as string, node.name]))
      return new Map([...carriers].map(([place, node]) => [place, names.get(node) ?? node]))
    },
  }
}
