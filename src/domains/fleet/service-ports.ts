import type { Tx } from '../../db/transaction.ts'
import type { Clock } from '../../kernel/time.ts'
import { portsUsedUp } from './errors.ts'
import * as store from './store-ports.ts'

/** A port stands for nobody this long before it stands for somebody else: no gateway remembers the one before. */
const portRestMs = 7 * 86_400_000

export type Ports = ReturnType<typeof createPorts>

/**
 * Ports of the gateways. Each stands for one thing of one customer, so that a source address which two customers share
 * still means one of them.
 */
export function createPorts(deps: { clock: Clock; range: { readonly first: number; readonly last: number } }) {
  const { first, last } = deps.range
  return {
    /** So many ports, all or none: those that have rested, then such as nobody has had. */
    async take(tx: Tx, count: number): Promise<number[]> {
      const rested = await store.takeRested(tx, { first, last, restedBefore: deps.clock() - portRestMs, most: count })
      const missing = count - rested.length
      if (missing === 0) return rested
      const fresh = await store.takeFresh(tx, first, missing)
      if (fresh + missing - 1 > last) throw portsUsedUp()
      return [...rested, ...Array.from({ length: missing }, (_, index) => fresh + index)]
    },

    /** They stand for nobody any more. */
    free: (tx: Tx, ports: readonly number[]): void => store.rest(tx, ports, deps.clock()),
  }
}
