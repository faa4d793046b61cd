import type { DedicatedUpkeep } from '../../domains/dedicated/index.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { Vpn } from '../../domains/vpn/index.ts'
import type { Row, Table } from './feed.ts'
import { toNodeExit, toNodePeer, toNodeProxy, toNodeSubuser } from './shape.ts'

/** Where nodes' desired state comes from. */
export type Sources = {
  readonly dedicatedUpkeep: Pick<DedicatedUpkeep, 'desired' | 'changeMark'>
  readonly premium: { readonly nodes: Pick<Premium['nodes'], 'changes' | 'exits' | 'changeMark'> }
  readonly vpn: Pick<Vpn, 'desiredPeers' | 'changeMark'>
}

function toRows<Of extends { readonly id: string | number; readonly changedAt: number }>(
  found: readonly Of[],
  to: (of: Of) => unknown,
): Row[] {
  return found.map((each) => ({ id: String(each.id), changedAt: each.changedAt, shape: to(each) }))
}

/** What a node of each kind reads, and how to tell cheaply whether any of it changed. */
export function tablesOf(
  kind: NodeKind,
  { dedicatedUpkeep, premium, vpn }: Sources,
): { readonly tables: readonly Table[]; readonly mark: (since: number) => Promise<string> } {
  if (kind === 'vpn') {
    return {
      tables: [{ name: 'peers', read: async (...at) => toRows(await vpn.desiredPeers(...at), toNodePeer) }],
      mark: vpn.changeMark,
    }
  }
  return {
    tables: [
      { name: 'exits', read: async (...at) => toRows(await premium.nodes.exits(...at), toNodeExit) },
      { name: 'subusers', read: async (...at) => toRows(await premium.nodes.changes(...at), toNodeSubuser) },
      {
        name: 'proxies',
        async read(since, after, limit, thereOnly) {
          const position = after && { changedAt: after.changedAt, id: Number(after.id) }
          return toRows(await dedicatedUpkeep.desired(since, position, limit, thereOnly), toNodeProxy)
        },
      },
    ],
    mark: async (since) =>
      (await Promise.all([dedicatedUpkeep.changeMark(since), premium.nodes.changeMark(since)])).join(' '),
  }
}
