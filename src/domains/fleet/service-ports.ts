import { runningSince, type Stalls } from '../../core/stall-monitor.ts'
import type { Clock } from '../../core/time.ts'
import type { Tx } from '../../db/transaction.ts'
import { portsUsedUp, tooManyPorts } from './errors.ts'
import { commonPortRoom, isLive, mostPortsOfCustomer } from './rules.ts'
import type { Fleet } from './service.ts'
import * as store from './store-ports.ts'

/** A port stands for nobody this long before it stands for somebody else: no gateway remembers the one before. */
const portRestMs = 7 * 86_400_000

export type Ports = ReturnType<typeof createPorts>

/** How many ports may stand for somebody at once, and for one customer's things of a kind. */
export type PortRoom = { readonly all: number; readonly perCustomer: number }

/**
 * Ports of the gateways. Each stands for one thing of one customer, so that a source address which two customers share
 * still means one of them.
 */
export function createPorts(deps: {
  clock: Clock
  stalls: Stalls
  fleet: Pick<Fleet, 'nodes'>
  range: { readonly first: number; readonly last: number }
}) {
  const { first, last } = deps.range
  const since = runningSince(deps)
  return {
    /** What the gateways have room for, since all of them listen on every port. Asked before a transaction begins. */
    async room(): Promise<PortRoom> {
      const live = (await deps.fleet.nodes('gateway')).filter((node) => isLive(node, since))
      const range = last - first + 1
      const common = commonPortRoom(live.map((node) => node.health?.mostPorts ?? null))
      return { all: Math.min(range, common), perCustomer: mostPortsOfCustomer(common) }
    },

    /**
     * So many ports for a customer who holds `held`, all or none: those that have rested, then such as nobody has had.
     */
    async take(tx: Tx, count: number, held: number, room: PortRoom): Promise<number[]> {
      const free = Math.max(0, room.perCustomer - held)
      if (count > free) throw tooManyPorts(room.perCustomer, free)
      const rested = await store.takeRested(tx, { first, last, restedBefore: deps.clock() - portRestMs, most: count })
      const missing = count - rested.length
      const fresh = missing === 0 ? first : await store.takeFresh(tx, first, missing)
      if (fresh + missing - 1 > last) throw portsUsedUp()
      if ((await store.countInUse(tx, first, last)) > room.all) throw portsUsedUp()
      return [...rested, ...Array.from({ length: missing }, (_, index) => fresh + index)]
    },

    /** They stand for nobody any more. */
    free: (tx: Tx, ports: readonly number[]): void => store.rest(tx, ports, deps.clock()),
  }
}
