import type { Fleet } from './index.ts'
import type { Forgotten, NodeSide } from './nodes.ts'
import type { Node } from './rules.ts'

/** Gives customers back all that a closed node has claimed to have carried for them since a moment. */
export const createForgetting =
  (deps: { readonly fleet: Pick<Fleet, 'loadClosed'>; readonly nodeSides: readonly NodeSide[] }) =>
  async (name: string, sinceAt: number, dryRun: boolean): Promise<Forgotten & { readonly node: Node }> => {
    const node = await deps.fleet.loadClosed(name)
    let [things, bytes] = [0, 0n]
    for (const side of deps.nodeSides.filter((each) => each.kind === node.kind)) {
      const forgotten = await side.forgetUsage(node.id, sinceAt, dryRun)
      things += forgotten.things
      bytes += forgotten.bytes
    }
    return { node, things, bytes }
  }
