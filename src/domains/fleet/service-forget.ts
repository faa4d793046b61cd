import type { NodeId } from '../../core/ids.ts'
import type { NodeSide } from './nodes.ts'
import type { Node } from './rules.ts'
import type { Fleet } from './service.ts'

/** Gives customers back all that a node, which is shut out, has claimed to have carried for them. */
export const createForgetting =
  (deps: { readonly fleet: Pick<Fleet, 'loadClosed'>; readonly nodeSides: readonly NodeSide[] }) =>
  async (
    name: string,
    sinceAt: number,
    dryRun: boolean,
  ): Promise<{ readonly node: Node & { readonly id: NodeId }; readonly things: number; readonly bytes: bigint }> => {
    const node = await deps.fleet.loadClosed(name)
    let [things, bytes] = [0, 0n]
    for (const side of deps.nodeSides.filter((each) => each.kind === node.kind)) {
      const forgotten = await side.forgetUsage(node.id, sinceAt, dryRun)
      things += forgotten.things
      bytes += forgotten.bytes
    }
    return { node, things, bytes }
  }
