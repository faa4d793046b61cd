import type { DedicatedUpkeep } from '../../domains/dedicated/index.ts'
import type { Fleet } from '../../domains/fleet/index.ts'
import type { Node } from '../../domains/fleet/rules.ts'
import type { Premium } from '../../domains/premium/index.ts'
import type { Vpn } from '../../domains/vpn/index.ts'
import { bytes } from '../../kernel/bytes.ts'
import { type PeerId, readId, type SubuserId } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/time.ts'
import type { ReportAnswer, ReportBody } from '../../wire/node/report.ts'
import { wrongKind } from './refusals.ts'

export type ReportDeps = {
  readonly fleet: Pick<Fleet, 'seen'>
  readonly dedicatedUpkeep: Pick<DedicatedUpkeep, 'takeCounts'>
  readonly premium: {
    readonly intake: Pick<Premium['intake'], 'report'>
    readonly nodes: Pick<Premium['nodes'], 'knownAmong'>
  }
  readonly vpn: Pick<Vpn, 'takeReport'>
  readonly clock: Clock
}

const poolPattern = /^[a-z][a-z0-9_]{0,30}$/

/**
 * Takes what a node has carried. Each part is a transaction of its own and may come again, so one that fails is mended by the next
 * report. What a node of this kind cannot have carried is refused before anything is taken.
 */
export async function takeReport(deps: ReportDeps, node: Node, body: ReportBody): Promise<ReportAnswer> {
  const isGateway = node.kind === 'gateway'
  const foreign = isGateway ? [body.peers] : [body.proxies, body.subusers, body.wishes, body.hosts, body.sources]
  if (foreign.some((part) => part.length > 0)) throw wrongKind(node.kind)
  const answer = isGateway ? await takeGateway(deps, node, body) : { replaced: false, allowances: [] }
  if (!isGateway) await takePeers(deps, node, body)
  const { tunnels, lag_ms, carried } = body.health ?? { tunnels: 0, lag_ms: 0, carried: 0 }
  await deps.fleet.seen(node.id, {
    version: body.version,
    health: body.health && { boot: body.boot, tunnels, lagMs: lag_ms, carried },
  })
  return { now: deps.clock(), ...answer }
}

/** What is said of a sub-user that was never there is ignored: it may be of a database that was put back since. */
async function takeGateway(deps: ReportDeps, node: Node, body: ReportBody): Promise<Omit<ReportAnswer, 'now'>> {
  const named = [body.subusers, body.wishes, body.hosts, body.sources].flatMap((part) => part.map((each) => each.id))
  const known = await deps.premium.nodes.knownAmong(named.filter((id) => readId('subuser', id) !== undefined))
  const ofKnown = <Of extends { id: string; pool?: string }>(part: readonly Of[]) =>
    part
      .filter((each) => known.has(each.id) && (each.pool === undefined || poolPattern.test(each.pool)))
      .map(({ id, ...rest }) => ({ ...rest, subuser: id as SubuserId }))
  const toCounts = <Of extends { received: number; sent: number }>(each: Of) => ({
    ...each,
    received: BigInt(each.received),
    sent: BigInt(each.sent),
  })
  const { replaced, allowances } = await deps.premium.intake.report({
    node: node.id,
    boot: body.boot,
    counts: ofKnown(body.subusers).map(toCounts),
    wishes: ofKnown(body.wishes).map((wish) => ({ ...wish, moving: BigInt(wish.moving ?? 0) })),
    hosts: ofKnown(body.hosts).map(toCounts),
    sources: ofKnown(body.sources),
  })
  if (body.proxies.length > 0) await deps.dedicatedUpkeep.takeCounts(node.id, body.boot, body.proxies.map(toCounts))
  return {
    replaced,
    allowances: allowances.map((each) => ({ id: each.subuser, pool: each.pool, upto: Number(each.upto) })),
  }
}

/** A node's clock may be ahead; a handshake in the future would never be overtaken. */
async function takePeers(deps: ReportDeps, node: Node, body: ReportBody): Promise<void> {
  const nowMs = deps.clock()
  await deps.vpn.takeReport({
    node: node.id,
    boot: body.boot,
    counts: body.peers.map((each) => ({
      subject: each.id as PeerId,
      received: bytes(BigInt(each.received)),
      sent: bytes(BigInt(each.sent)),
      lastHandshakeAt: each.handshake_at === null ? null : Math.min(each.handshake_at, nowMs),
    })),
  })
}
