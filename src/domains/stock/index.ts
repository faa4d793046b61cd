import { bind } from '../../core/bind.ts'
import { withCaches } from './deps.ts'
import { createStockNodes } from './nodes.ts'
import * as assign from './ranges/assign.ts'
import { seen, tried } from './ranges/prove.ts'
import * as unfinished from './ranges/resume.ts'
import * as liveness from './ranges/served.ts'
import * as served from './ranges/served.ts'
import { leasedBy, servingNodesOf, setKnown, withdrawnAmong } from './ranges/store.ts'
import * as slots from './take.ts'

export { NoGateway } from './errors.ts'
export { createStockOperator, type StockOperator } from './operate.ts'
export { isElsewhere, lookAtRanges, reasonsOf, retiredIn } from './ranges/overview.ts'
export type { Readiness } from './take.ts'

const { lease, release, blockAround, ...ofSlots } = slots

export type Stock = ReturnType<typeof createStock>

export function createStock(given: Parameters<typeof withCaches>[0]) {
  const deps = withCaches(given)
  /** The nodes that the operator assigns to ranges, and the nodes that serve them. */
  const ranges = {
    ...bind(deps, assign),
    ...bind(deps, liveness),
    ...bind(deps, { tried, seen }),
    /** Imports that were broken off by a kill, a reboot or a lost database. */
    unfinished: bind(deps, unfinished),
  }
  return {
    ...bind(deps, ofSlots),
    lease,
    release,
    blockAround,
    ranges,
    /** Which leased slots are served now, by which node, and since when the others are not. */
    served: {
      ...bind(deps, served),
      /** The serving nodes of these slots, live or not. */
      servingNodesOf,
      leasedBy,
      withdrawnAmong,
      /** Marks the serving node as known to the holder. False if it was. */
      tellMoved: setKnown,
    },
    nodes: createStockNodes(deps),
  }
}
