import { bytesInGigabyte } from '../../core/bytes.ts'
import type { Clock } from '../../core/time.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import type { Node } from '../fleet/rules.ts'
import type { Pricing } from '../pricing/index.ts'
import type { Traffic } from '../traffic/index.ts'
import { countSubjectsOf, deviceOfSubject, type SubscriptionId } from './rules.ts'
import * as store from './store.ts'
import * as peers from './store-peers.ts'

const pageSize = 100

type GroupDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly pricing: Pick<Pricing, 'find'>
  readonly fleet: Pick<Fleet, 'nodes'>
  readonly traffic: Pick<Traffic, 'counts'>
}

/** Nodes of which a subscription may use only a part of its traffic, and the gigabytes of a month. */
export type NodeGroup = { readonly name: string; readonly gigabytes: number; readonly nodes: readonly Node[] }

/** The part of a subscription's traffic for a group of nodes. */
export type TrafficPart = NodeGroup & { readonly limit: bigint; readonly used: bigint }

/** The groups of the price list, with their nodes of both kinds. Read before a transaction. */
export async function loadGroups(deps: GroupDeps): Promise<NodeGroup[]> {
  const groups = (await deps.pricing.find())?.vpn?.groups
  if (!groups || groups.size === 0) return []
  const nodes = [...(await deps.fleet.nodes('vpn')), ...(await deps.fleet.nodes('gateway'))]
  return [...groups].map(([name, gigabytes]) => ({
    name,
    gigabytes,
    nodes: nodes.filter(({ vpnLinks }) => vpnLinks.group === name),
  }))
}

/** The parts of subscriptions: a month of any term brings its gigabytes, as with the traffic of the whole. */
export async function partsOf(
  deps: GroupDeps,
  reader: Reader,
  groups: readonly NodeGroup[],
  uuids: readonly SubscriptionId[],
): Promise<Map<SubscriptionId, TrafficPart[]>> {
  if (groups.length === 0 || uuids.length === 0) return new Map()
  const terms = Map.groupBy(await store.listTerms(reader, uuids), (term) => term.subscription)
  const owners = new Map<string, SubscriptionId>(await peers.listIds(reader, uuids))
  const subjects = [...owners.keys()].flatMap(countSubjectsOf)
  const parts = new Map<SubscriptionId, TrafficPart[]>(uuids.map((uuid) => [uuid, []]))
  for (const group of groups) {
    const used = new Map<SubscriptionId, bigint>()
    const nodes = group.nodes.map(({ id }) => id)
    for (const { subject, bytes } of await deps.traffic.counts.atNodes(reader, nodes, subjects)) {
      const uuid = owners.get(deviceOfSubject(subject))
      if (uuid !== undefined) used.set(uuid, (used.get(uuid) ?? 0n) + bytes)
    }
    for (const uuid of uuids) {
      const months = (terms.get(uuid) ?? []).reduce((sum, term) => sum + term.months, 0)
      const limit = BigInt(group.gigabytes) * BigInt(months) * bytesInGigabyte
      parts.get(uuid)?.push({ ...group, limit, used: used.get(uuid) ?? 0n })
    }
  }
  return parts
}

/**
 * Writes which groups of nodes subscriptions have used up, and makes nodes read the devices again if that has changed.
 * The caller has locked the subscriptions.
 */
export async function refreshUsedUp(
  deps: GroupDeps,
  tx: Tx,
  groups: readonly NodeGroup[],
  subscriptions: readonly { readonly uuid: SubscriptionId; readonly usedUpGroups: string | null }[],
): Promise<void> {
  const parts = await partsOf(
    deps,
    tx,
    groups,
    subscriptions.map(({ uuid }) => uuid),
  )
  for (const { uuid, usedUpGroups } of subscriptions) {
    const names = (parts.get(uuid) ?? []).filter(({ used, limit }) => used >= limit).map(({ name }) => name)
    const usedUp = names.length > 0 ? names.toSorted().join(' ') : null
    if (usedUp === usedUpGroups) continue
    store.writeUsedUpGroups(tx, uuid, usedUp)
    peers.touchPeers(tx, uuid, deps.clock())
  }
}

/** Recomputes the subscriptions that have used up a group, after a change of the price list or of a node's group. */
export async function recheckGroups(deps: GroupDeps): Promise<void> {
  const groups = await loadGroups(deps)
  for (let after = ''; ; ) {
    const page = await store.listUsedUp(deps.db, after, pageSize)
    const last = page.at(-1)
    if (last === undefined) return
    await deps.db.transact(async (tx) => refreshUsedUp(deps, tx, groups, await store.lockMany(tx, page)))
    after = last
  }
}

/** The nodes that a subscription may not use now. */
export const closedNodes = (usedUpGroups: string | null, groups: readonly NodeGroup[]): string[] => {
  const names = new Set(usedUpGroups?.split(' '))
  return groups.filter(({ name }) => names.has(name)).flatMap(({ nodes }) => nodes.map(({ id }) => id))
}
