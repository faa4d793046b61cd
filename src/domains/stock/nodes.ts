import type { Database } from '../../db/transaction.ts'
import { type NodeSide, numberOf } from '../fleet/index.ts'
import type { Ranges } from './ranges/service.ts'
import * as store from './ranges/store.ts'

/** What gateways are told of ranges, and what they say of them once they have tried. */
export function createStockNodes(deps: {
  db: Database
  ranges: Pick<Ranges, 'tried' | 'seen'>
}): NodeSide & Required<Pick<NodeSide, 'tried' | 'seen'>> {
  const { db } = deps
  return {
    kind: 'gateway',

    tables: [
      {
        name: 'ranges',
        async read(after, limit, thereOnly) {
          const position = { changedAt: after.changedAt, id: numberOf(after) }
          const found = await store.changedAfter(db, position, limit, thereOnly)
          return found.map((range) => ({
            id: String(range.id),
            changedAt: range.changedAt,
            shape: { id: range.id, prefix: range.prefix, homes: [...range.homes], gone: range.state === 'gone' },
          }))
        },
      },
    ],

    mark: (sinceAt) => store.changeMark(db, sinceAt),

    parts: [],
    report: async () => undefined,

    tried: (node, body, isLocal) =>
      deps.ranges.tried(
        node,
        body.ranges.map((each) => ({
          range: each.id,
          served: each.served,
          problems: each.problems,
          seenAs: each.seen_as,
        })),
        isLocal,
      ),
    seen: (node, from) => deps.ranges.seen(node, from),

    /** Addresses are not sold by what they carry. */
    forgetUsage: async () => ({ things: 0, bytes: 0n }),

    /** Whose an address is, nodes hear from the product that sold it. */
    touch: () => {},
  }
}
