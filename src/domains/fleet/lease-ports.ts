import type { BoundCases } from '../../core/bind.ts'
import { Refusal } from '../../core/refusal.ts'
import { runningSince, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import { portsUsedUp } from './errors.ts'
import type * as cases from './join.ts'
import { commonPortRoom, isLive, isServing, maxPortsOfCustomer, type TlsEndpoint } from './rules.ts'
import * as store from './store.ts'

/** Quarantine of a port between two customers, so that no gateway still knows the one before. */
const portRestMs = 7 * 86_400_000

export type EntryPorts = ReturnType<typeof createEntryPorts>

/** How many ports may be leased at once, and for one customer's things of a kind. */
export type PortRoom = { readonly all: number; readonly perCustomer: number }

/** Ports of the gateways, each leased for one thing of one customer, so that a shared source address is unambiguous. */
export function createEntryPorts(deps: {
  clock: Clock
  stalls: Stalls
  fleet: BoundCases<Pick<typeof cases, 'nodes'>>
  range: { readonly first: number; readonly last: number }
}) {
  const { first, last } = deps.range
  const since = runningSince(deps)
  return {
    /** The ports that all live gateways have room for. Called before a transaction begins. */
    async room(): Promise<PortRoom> {
      const live = (await deps.fleet.nodes('gateway')).filter((node) => isLive(node, since))
      const range = last - first + 1
      const common = commonPortRoom(live.map((node) => node.health?.maxPorts ?? null))
      return { all: Math.min(range, common), perCustomer: maxPortsOfCustomer(common) }
    },

    /** Where a gateway that sells accepts proxies over TLS, if possible one that browsers can use too. */
    async findTls(): Promise<TlsEndpoint | undefined> {
      const serving = (await deps.fleet.nodes('gateway')).filter((node) => isServing(node, since))
      const all = serving.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap((node) => node.health?.tls ?? [])
      return all.find(({ browserHost }) => browserHost !== null) ?? all[0]
    },

    /** Leases ports to a customer who holds `held`, all or none: rested ones first, then unused ones. */
    async take(tx: Tx, count: number, held: number, room: PortRoom): Promise<number[]> {
      const free = Math.max(0, room.perCustomer - held)
      if (count > free) {
        const limit = room.perCustomer
        throw new Refusal('port_limit', { max: limit, free }, { limit, available: free })
      }
      const rested = await store.takeRested(tx, { first, last, restedBefore: deps.clock() - portRestMs, max: count })
      const missing = count - rested.length
      const fresh = missing === 0 ? first : await store.takeFresh(tx, first, missing)
      if (fresh + missing - 1 > last) throw portsUsedUp()
      if ((await store.countInUse(tx, first, last)) > room.all) throw portsUsedUp()
      return [...rested, ...Array.from({ length: missing }, (_, index) => fresh + index)]
    },

    free: (tx: Tx, ports: readonly number[]): void => store.restPorts(tx, ports, deps.clock()),
  }
}
