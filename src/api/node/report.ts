import type { Clock } from '../../core/time.ts'
import type { Fleet, NodeSide } from '../../domains/fleet/index.ts'
import type { Health, Node } from '../../domains/fleet/rules.ts'
import { type ReportAnswer, type ReportBody, reportParts } from '../../node-protocol/report.ts'
import { wrongKind } from './refusals.ts'

export type ReportDeps = {
  readonly fleet: Pick<Fleet, 'seen'>
  readonly nodeSides: readonly NodeSide[]
  readonly clock: Clock
}

/**
 * Takes what a node has carried. Each product's part is a transaction of its own and may come again, so one that fails
 * is mended by the next report. What a node of this kind cannot have carried is refused before anything is taken.
 */
export async function takeReport(deps: ReportDeps, node: Node, body: ReportBody): Promise<ReportAnswer> {
  const sides = deps.nodeSides.filter((side) => side.kind === node.kind)
  const parts = sides.flatMap((side) => side.parts)
  if (reportParts.some((part) => body[part].length > 0 && !parts.includes(part))) throw wrongKind(node.kind)
  let answer: Omit<ReportAnswer, 'now'> = { replaced: false, allowances: [] }
  for (const side of sides) answer = (await side.report(node.id, body)) ?? answer
  // One that carries its last tunnels to their end takes nobody in: by its word alone nothing of the node is sold.
  if (body.leaving !== true) {
    await deps.fleet.seen(node.id, {
      version: body.version,
      health: body.health && toHealth(body, body.health),
    })
  }
  return { now: deps.clock(), ...answer }
}

const toHealth = (body: ReportBody, said: NonNullable<ReportBody['health']>): Health => ({
  boot: body.boot,
  tunnels: said.tunnels,
  lagMs: said.lag_ms,
  carried: said.carried,
  relayed: said.relayed ?? 0,
  isStopping: said.stopping ?? false,
  mostPorts: body.most_ports ?? null,
})
