import { readCountry } from '../../../core/country.ts'
import { runningSince } from '../../../core/stall-monitor.ts'
import { readIso, toIso } from '../../../core/time.ts'
import { type Node, type NodeKind, pathsOf } from '../../../domains/fleet/rules.ts'
import { isElsewhere, reasonsOf, retiredIn } from '../../../domains/stock/index.ts'
import { countOf, isServing } from '../../../domains/stock/ranges/rules.ts'
import { orRefuse } from '../../answers.ts'
import { isoOrNull, toWhole } from '../../fields.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import * as shapes from './shapes.ts'

/** The command that runs a node of each kind. */
const roleOf: Readonly<Record<NodeKind, string>> = { gateway: 'gateway', vpn: 'vpn-node' }

export function adminNodeOperations(bind: BindAdmin, deps: AdminDeps) {
  const { fleet } = deps
  const since = runningSince(deps)
  const readClaims = async (): Promise<(node: Node) => shapes.NodeClaims> => {
    const refused = new Map((await deps.traffic.counts.refusals()).map((each) => [each.node, each.bytes]))
    const held = await deps.traffic.leases.held()
    const unproven = await deps.stock.ranges.unproven()
    const earlier = await fleet.earlierFigures()
    const paths = pathsOf(await fleet.nodes('gateway'))
    return (node) => ({
      refused: refused.get(node.id) ?? 0n,
      held: held.get(node.id),
      unprovenRanges: unproven.get(node.id) ?? 0,
      earlier: earlier.get(node.id) ?? { tunnels: 0, totalBytes: 0, hopBytes: 0 },
      paths: paths.filter(({ entry, exit }) => entry.id === node.id || exit.id === node.id),
    })
  }
  const show = async (node: Node) => shapes.toNode(node, (await readClaims())(node), since)
  return [
    bind(shapes.listNodes, async () => {
      const nodes = [...(await fleet.nodes('gateway')), ...(await fleet.nodes('vpn'))]
      const claimsOf = await readClaims()
      return { items: nodes.map((node) => shapes.toNode(node, claimsOf(node), since)) }
    }),
    bind(shapes.showNode, async ({ params }) => {
      const node = orRefuse(await fleet.findByName(params.name), 'node_not_found')
      const host = deps.reach.hosts?.[node.kind] ?? null
      return { node: await show(node), settings_host: host, ...(await triedBy(deps, node)) }
    }),
    bind(shapes.linkNode, async ({ params, body }) => show(await fleet.setLink(params.name, body.link_mbit))),
    bind(shapes.vpnNode, async ({ params, body }) => {
      const node = await fleet.setVpnLinks(params.name, shapes.readLinks(body))
      if (body.group !== undefined) await deps.vpn.recheckGroups()
      return show(node)
    }),
    bind(shapes.endpointNode, async ({ params, body }) => show(await deps.setEndpoint(params.name, body))),
    bind(shapes.entryNode, async ({ params, body }) => show(await fleet.setEntry(params.name, !body.undo))),
    bind(shapes.exitNode, async ({ params, body }) => show(await deps.setExit(params.name, body.via ?? null))),
    bind(shapes.renameNode, async ({ params, body }) => show(await fleet.rename(params.name, body.new_name))),
    bind(shapes.revokeNode, async ({ params }) => show(await fleet.revoke(params.name))),
    bind(shapes.closeNode, async ({ params }) => show(await fleet.close(params.name))),
    bind(shapes.openNode, async ({ params }) => show(await fleet.open(params.name))),
    bind(shapes.removeNode, async ({ params }) => {
      const { id } = await deps.removeNode(params.name)
      return { node_id: id, name: params.name, removed: true }
    }),
    bind(shapes.drainNode, async ({ params, body }) => show(await fleet.drain(params.name, !body.undo))),
    bind(shapes.forgetUsage, async ({ params, body }) => {
      const sinceAt = body.since === undefined ? 0 : (readIso(body.since) ?? 0)
      const { things, bytes } = await deps.forgetUsage(params.name, sinceAt, body.dry_run)
      return { name: params.name, dry_run: body.dry_run, things, bytes: toWhole(bytes) }
    }),
    bind(shapes.seeLostGoods, async () => ({ seen: await fleet.seeLostGoods() })),
    ...historyOperations(bind, deps),
    ...joiningOperations(bind, deps),
  ]
}

function historyOperations(bind: BindAdmin, deps: AdminDeps) {
  return [
    bind(shapes.getNodeHistory, async ({ params, query }) => {
      const { id } = orRefuse(await deps.fleet.findByName(params.name), 'node_not_found')
      const toRounded = (value: number): number => Math.round(value * 100) / 100
      return {
        items: (await deps.fleet.history(id, query.span)).map((each) => ({
          at: toIso(each.at),
          tunnels: each.tunnels,
          lag_ms: each.lagMs,
          bytes_per_second: toRounded(each.bytesPerSecond),
          cpu_percent: each.cpuPercent === null ? null : toRounded(each.cpuPercent),
          errors_per_minute: each.errorsPerMinute === null ? null : toRounded(each.errorsPerMinute),
        })),
      }
    }),
  ]
}

async function triedBy(deps: AdminDeps, node: Node) {
  const overview = await deps.stock.ranges.overview()
  const { ranges, trials } = overview
  const retired = retiredIn(overview)
  return {
    serves: isServing(node, runningSince(deps)),
    ranges: trials
      .filter((each) => each.node === node.id)
      .flatMap((trial) => {
        const range = ranges.find((each) => each.id === trial.range)
        const ofRange = trials.filter((each) => each.range === trial.range)
        if (!range || retired.has(range.id) || isElsewhere(range, trial, ofRange)) return []
        return {
          range: range.prefix,
          can_use: countOf(trial.served),
          problems: reasonsOf(trial, range.prefix, node.name),
          seen_as: trial.seenAs,
          since: toIso(trial.changedAt),
        }
      }),
  }
}

function joiningOperations(bind: BindAdmin, deps: AdminDeps) {
  const toKey = ({ text, node }: { text: string; node: Node }) => {
    const role = roleOf[node.kind]
    const settings = [`TURNPIKE_SHOP_URL=${deps.publicUrl()}`, `TURNPIKE_NODE_KEY=${text}`]
    return {
      node_id: node.id,
      name: node.name,
      kind: node.kind,
      key: text,
      expires_at: isoOrNull(node.key?.expiresAt ?? null),
      joined_at: isoOrNull(node.joinedAt),
      command: `${settings.join(' ')} turnpike ${role}`,
      service_commands: [
        `(umask 077; printf '%s\\n' ${settings.join(' ')} >> /etc/turnpike/turnpike-${role}.env)`,
        `systemctl enable --now turnpike-${role}`,
      ],
    }
  }
  return [
    bind(shapes.addNode, async ({ body }) => {
      const countryCode = body.country === undefined ? undefined : readCountry(body.country)
      const { name } = await deps.addNode({
        kind: body.kind,
        name: body.name,
        location: body.location,
        ...(countryCode !== undefined && { countryCode }),
        ...(body.city !== undefined && { city: body.city }),
        ...(body.endpoint !== undefined && { endpoint: body.endpoint }),
        ...(body.link_mbit !== undefined && { linkMegabits: body.link_mbit }),
      })
      return toKey(await deps.fleet.issueKey(name))
    }),
    bind(shapes.keyNode, async ({ params }) => toKey(await deps.fleet.issueKey(params.name))),
  ]
}
