import type { Node } from '../../fleet/rules.ts'
import type { StockDeps } from '../deps.ts'
import { hasLatelyServed, isProven, isServing, type MayServe, type UnservedPosition } from './rules.ts'
import * as store from './store.ts'

/** Gateways that were silent for this long, with their last report, by id. */
async function silent(deps: StockDeps, forMs: number): Promise<{ id: string; heardAt: number }[]> {
  return (await deps.fleet.nodes('gateway'))
    .filter((node) => !isServing(node, deps.since))
    .map((node) => ({ id: node.id, heardAt: node.lastSeenAt ?? node.createdAt }))
    .filter((node) => deps.since(node.heardAt) >= forMs)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** A page of leases not served for `forMs` while this process ran, with when they last were. `next` null: the end. */
export async function unserved(deps: StockDeps, at: UnservedPosition, limit: number, forMs: number) {
  const silentNodes = [{ id: '', heardAt: 0 }, ...(await silent(deps, forMs))].filter((each) => each.id >= at.node)
  const [silentNode, following] = silentNodes
  if (!silentNode) return { leases: [], next: null }
  const after = silentNode.id === at.node ? at.slot : 0
  const page = await store.leasedBy(deps.db, silentNode.id === '' ? null : silentNode.id, after, limit)
  const last = page.at(-1)
  const isLast = !last || page.length < limit
  const next = isLast ? following && { node: following.id, slot: 0 } : { node: silentNode.id, slot: last.slot }
  const leases = page.flatMap(({ proxy, lostAt }) => {
    // A node that lost the slot to another node, which lost it too, has not served it since.
    const servedAt = silentNode.id === '' ? lostAt : Math.max(silentNode.heardAt, lostAt ?? 0)
    return servedAt !== null && deps.since(servedAt) >= forMs ? [{ proxy, servedAt }] : []
  })
  return { leases, next: next ?? null }
}

/** Those slots that are served now. */
export async function servedAmong(deps: StockDeps, slots: readonly number[]): Promise<ReadonlySet<number>> {
  const [servingNodes, liveNodes] = await Promise.all([store.servingNodesOf(deps.db, slots), live(deps)])
  return new Set([...servingNodes].filter(([, node]) => liveNodes.includes(node)).map(([slot]) => slot))
}

/** Leased slots whose serving node is not the one that their holders know. */
export const moved = async (deps: StockDeps, after: number, limit: number) =>
  store.movedSlots(deps.db, await live(deps), after, limit)

/** The names of the nodes that serve these slots, or did last. */
export async function servingNodeNames(deps: StockDeps, slots: readonly number[]): Promise<Map<number, string>> {
  const [servingNodes, nodes] = await Promise.all([
    store.lastServingNodesOf(deps.db, slots),
    deps.fleet.nodes('gateway'),
  ])
  const names = new Map<string, string>(nodes.map((node) => [node.id, node.name]))
  return new Map([...servingNodes].map(([slot, node]) => [slot, names.get(node) ?? node]))
}

/**
 * The gateways that serve now, at most half a second old, those of them that sell because they are not being drained,
 * and those that have lately served and are likely to come back. All are of one read: a gateway that reports meanwhile
 * is in one of them.
 */
export async function gateways(deps: StockDeps): Promise<{ serving: Node[]; selling: Node[]; away: string[] }> {
  const all = await deps.fleet.nodes('gateway')
  const serving = all.filter((node) => isServing(node, deps.since) && !node.awaitsState)
  const away = all.filter((node) => !serving.includes(node) && hasLatelyServed(node, deps.since))
  const selling = serving.filter((node) => node.drainedAt === null)
  return { serving, selling, away: away.map((node) => node.id) }
}

export const live = async (deps: StockDeps): Promise<string[]> => (await gateways(deps)).serving.map((node) => node.id)

/** The gateways whose free addresses are sold. */
export const selling = async (deps: StockDeps): Promise<string[]> =>
  (await gateways(deps)).selling.map((node) => node.id)

/** A gateway serves a range that names it, or that it has proven. A sandbox asks for no proof. */
export async function judge(deps: StockDeps): Promise<MayServe> {
  const isProduction = (await deps.customers.mode()) === 'production'
  const nowMs = deps.clock()
  return (range, trial) => !isProduction || isProven(range, trial, nowMs)
}

/** How many ranges each live gateway claims without a proof, at most five seconds old. */
export async function unproven(deps: StockDeps): Promise<ReadonlyMap<string, number>> {
  const found = await deps.claims.get(undefined)
  if (found.size === 0) return found
  const there = await live(deps)
  return new Map([...found].filter(([node]) => there.includes(node)))
}

/** Now, if a live gateway claims a range without a proof: queries then check proofs. */
export const unprovenAt = async (deps: StockDeps): Promise<number | undefined> =>
  (await unproven(deps)).size > 0 ? deps.clock() : undefined
