import { type NodeSide, numberOf } from '../fleet/index.ts'
import type { StockDeps } from './deps.ts'
import { assertLeft, leave, seen, tried } from './ranges/prove.ts'
import * as store from './ranges/store.ts'

/** Sends ranges to gateways and takes the results of their trials. */
export const createStockNodes = (deps: StockDeps): NodeSide & Required<Pick<NodeSide, 'tried' | 'seen'>> => ({
  kind: 'gateway',

  tables: [
    {
      name: 'ranges',
      async read(after, limit, thereOnly) {
        const position = { changedAt: after.changedAt, id: numberOf(after) }
        const found = await store.changedAfter(deps.db, position, limit, thereOnly)
        return found.map((range) => ({
          id: String(range.id),
          changedAt: range.changedAt,
          shape: { id: range.id, prefix: range.prefix, node_ids: [...range.nodeIds], gone: range.state === 'gone' },
        }))
      },
    },
  ],

  mark: (sinceAt) => store.changeMark(deps.db, sinceAt),
  parts: [],
  report: async () => undefined,

  tried(node, body, isLocal) {
    const reports = body.ranges.map(({ id: range, served, problems, seen_as: seenAs }) => {
      return { range, served, problems, seenAs }
    })
    return tried(deps, node, reports, isLocal)
  },
  seen: (node, from) => seen(deps, node, from),
  leave: (node) => leave(deps, node),
  assertLeft,

  /** Addresses are not billed by traffic. */
  forgetUsage: async () => ({ things: 0, bytes: 0n }),

  /** The product that sold an address sends its holder to the nodes. */
  touch: () => {},
})
