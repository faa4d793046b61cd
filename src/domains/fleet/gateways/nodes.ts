import type { NodeId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/time.ts'
import type { Database } from '../../../db/transaction.ts'
import type { NodeGateway } from '../../../node-protocol/state.ts'
import type { NodeSide, Told } from '../nodes.ts'
import type { Endpoint } from '../rules.ts'
import * as store from '../store.ts'

/**
 * What gateways are told of one another, so that each can ask the others for exits of theirs: where they are and the
 * key that they sign with. Each says its own key with every report.
 */
export function createGatewaySide(deps: { db: Database; clock: Clock; usualEndpoint: Endpoint }): NodeSide {
  const { db } = deps

  /** One that is shut out, or has no key yet, is nobody to the others. */
  function tell({ node, hopKey, changedAt }: store.ChangedGateway): Told<NodeGateway> {
    const isThere = node.state === 'open' && node.joinedAt !== null && hopKey !== null
    const { host, port } = node.endpoint ?? deps.usualEndpoint
    return {
      id: node.id,
      changedAt,
      shape: { id: node.id, name: node.name, host, port, key: hopKey ?? '', state: isThere ? 'open' : 'gone' },
    }
  }

  return {
    kind: 'gateway',

    tables: [
      {
        name: 'gateways',
        async read(after, limit, thereOnly) {
          return (await store.gatewaysChangedAfter(db, after, limit, thereOnly)).map(tell)
        },
      },
    ],

    mark: (sinceAt) => store.gatewayMark(db, sinceAt),

    parts: [],

    async report(node, { hop_key: key }) {
      if (key !== undefined && (await store.findHopKey(db, node as NodeId)) !== key) {
        await db.transact((tx) => store.writeHopKey(tx, node as NodeId, key, deps.clock()))
      }
      return undefined
    },

    forgetUsage: async () => ({ things: 0, bytes: 0n }),

    touch: () => {},
  }
}
