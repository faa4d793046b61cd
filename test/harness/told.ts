import type { NodeSide, Position, StateRow } from '../../src/domains/fleet/index.ts'
import type { ReportBody } from '../../src/node-protocol/report.ts'
import type { StatePart, StateParts } from '../../src/node-protocol/state.ts'

/**
 * All that a product tells its nodes of one sort of thing, page by page: changes since a moment, or the whole without
 * what is gone.
 */
export async function toldOf<Part extends StatePart>(
  side: NodeSide,
  name: Part,
  { since, limit = 1000 }: { readonly since?: number; readonly limit?: number } = {},
): Promise<StateRow<StateParts[Part]>[]> {
  const table = side.tables.find((each) => each.name === name)
  if (!table) throw new Error(`nobody is told of ${name} here`)
  const told: StateRow<StateParts[Part]>[] = []
  for (let after: Position = { changedAt: since ?? 0, id: '' }; ; ) {
    const page = (await table.read(after, limit, since === undefined)) as readonly StateRow<StateParts[Part]>[]
    told.push(...page)
    const last = page.at(-1)
    if (!last || page.length < limit) return told
    after = last
  }
}

/** A report that says nothing but what is given. */
export const reportOf = (said: Partial<ReportBody> & { readonly boot: string }): ReportBody => ({
  version: 'test',
  proxies: [],
  subusers: [],
  peers: [],
  wishes: [],
  hosts: [],
  sources: [],
  ...said,
})
