import type { NodeSide, ToldTable } from '../../domains/fleet/index.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import type { StatePart } from '../../node-protocol/state.ts'

/**
 * In which order a page is filled: ranges first, which take time to try; gateways before exits of theirs, and exits
 * before those who leave through them. Cursors that nodes hold count on it.
 */
const order: readonly StatePart[] = ['ranges', 'gateways', 'exits', 'subusers', 'proxies', 'peers']

/** What a node of a kind reads, and how to tell cheaply whether any of it changed. */
export function tablesOf(
  kind: NodeKind,
  sides: readonly NodeSide[],
): { readonly tables: readonly ToldTable[]; readonly mark: (sinceAt: number) => Promise<string> } {
  const mine = sides.filter((side) => side.kind === kind)
  const tables = mine.flatMap((side) => side.tables)
  return {
    tables: tables.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)),
    mark: async (sinceAt) => (await Promise.all(mine.map((side) => side.mark(sinceAt)))).join(' '),
  }
}
