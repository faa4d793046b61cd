import type { NodeSide, Position, StateRow } from '../../src/domains/fleet/index.ts'
import type { ReportBody } from '../../src/node-protocol/report.ts'
import type { StatePart, StateParts } from '../../src/node-protocol/state.ts'

/**
 * All rows of one table that a product publishes to its nodes, page by page: changes since a time, or the current
 * state.
 */
export async function toldOf<Part extends StatePart>(
  side: NodeSide,
  name: Part,
  { since, limit = 1000 }: { readonly since?: number; readonly limit?: number } = {},
): Promise<StateRow<StateParts[Part]>[]> {
  const table = side.tables.find((each) => each.name === name)
  if (!table) throw new Error(`no node table is called ${name}`)
  const rows: StateRow<StateParts[Part]>[] = []
  for (let after: Position = { changedAt: since ?? 0, id: '' }; ; ) {
    const page = (await table.read(after, limit, since === undefined)) as readonly StateRow<StateParts[Part]>[]
    rows.push(...page)
    const last = page.at(-1)
    if (!last || page.length < limit) return rows
    after = last
  }
}

/** A report with only the given parts. */
export const reportOf = (parts: Partial<ReportBody> & { readonly boot: string }): ReportBody => ({
  version: 'test',
  proxies: [],
  subusers: [],
  peers: [],
  wishes: [],
  hosts: [],
  sources: [],
  ...parts,
})
