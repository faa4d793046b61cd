import { addressToNumber, contains, formatPrefix, type Prefix, readAddress, readPrefix } from '../../../core/address.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import { type Node, type NodeReach, reachOf } from '../../fleet/rules.ts'
import type { StockDeps } from '../deps.ts'
import { noSuchRange } from '../errors.ts'
import { give } from './prove.ts'
import {
  indexOf,
  inParts,
  isAllowedNode,
  isBlock,
  type JudgedTrial,
  type Planned,
  type PlannedRange,
  proofMs,
  type StockRange,
  sorted,
  split,
  type Trial,
  toPrefixes,
} from './rules.ts'
import { judge, live } from './served.ts'
import * as store from './store.ts'

const anyNode = { nodeIds: [] }

/** Makes ranges for addresses, with ids of their own. */
export async function plan(deps: StockDeps, addresses: Iterable<string>, nodeIds: readonly string[]): Promise<Planned> {
  const numbers: Record<4 | 6, bigint[]> = { 4: [], 6: [] }
  for (const text of addresses) {
    const address = readAddress(text)
    if (address) numbers[address.version].push(addressToNumber(address))
  }
  const prefixes = ([4, 6] as const).flatMap((version) => toPrefixes(version, sorted(numbers[version])))
  const ranges = await makeRanges(deps, prefixes, 'coming', () => nodeIds)
  return { ranges, byAddress: indexOf(ranges) }
}

async function makeRanges(
  deps: StockDeps,
  prefixes: readonly Prefix[],
  state: StockRange['state'],
  nodeIdsAt: (index: number) => readonly string[],
): Promise<PlannedRange[]> {
  const ids = await deps.rangeIds.take(prefixes.length)
  const nowMs = deps.clock()
  return prefixes.map((prefix, index) => {
    const common = { nodeIds: nodeIdsAt(index), state, createdAt: nowMs, changedAt: nowMs }
    return { prefix, range: { id: ids[index] ?? 0, prefix: formatPrefix(prefix), ...common } }
  })
}

/** Takes a range from all nodes that may not stay. `trials` are all of the range. */
function unseat(
  deps: StockDeps,
  tx: Tx,
  range: StockRange,
  trials: readonly Trial[],
  mayStay: (node: string) => boolean,
): void {
  const out = trials.filter((each) => !mayStay(each.node)).map((each) => each.node)
  for (const node of out) {
    store.release(tx, { range: range.id, addresses: 'all' }, node, deps.clock())
    store.releaseBlock(tx, range.prefix, node)
  }
  store.dropTrials(tx, range.id, out)
}

/** Writes planned ranges. Nodes are sent them by `open`. A range that another process has just added is used. */
async function writePart(deps: StockDeps, tx: Tx, ranges: Planned['ranges']): Promise<Planned['ranges']> {
  const planned = ranges.map((each) => each.range)
  store.insertRanges(tx, planned)
  const there = await store.rangesWith(
    tx,
    planned.map((each) => each.prefix),
  )
  await lockNodes(deps, tx, [...new Set(planned.flatMap((each) => each.nodeIds))])
  return ranges.map((each) => ({ ...each, range: there.get(each.range.prefix) ?? each.range }))
}

/** Undoes a failed import. It was never on sale. */
export function cancel(deps: StockDeps, tx: Tx, planned: Planned, begun: Planned): void {
  const mine = new Set(planned.ranges.map((each) => each.range.id))
  const ids = begun.ranges.map((each) => each.range.id).filter((id) => mine.has(id))
  store.deleteSlots(tx, ids)
  store.setState(tx, ids, 'gone', deps.clock())
}

/** Sends ranges to nodes, which try them, again where another process had opened them before. */
async function openPart(deps: StockDeps, tx: Tx, ranges: Planned['ranges']): Promise<void> {
  const ids = ranges.map((each) => each.range.id)
  const trials = await store.trialsByRange(tx, ids)
  for (const { range } of ranges) unseat(deps, tx, range, trials.get(range.id) ?? [], () => false)
  store.setState(tx, ids, 'in', deps.clock())
}

/** Refuses nodes that were removed meanwhile. Locked last: reports of a node do not wait while ranges are locked. */
async function lockNodes(deps: StockDeps, tx: Tx, nodeIds: readonly string[]): Promise<void> {
  for (const id of nodeIds.toSorted()) await deps.fleet.lockPresent(tx, id)
}

/** Splits a range around a part of it. Nodes try the new ranges within seconds. */
async function cut(deps: StockDeps, whole: StockRange, part: Prefix, nodeIds: readonly string[]): Promise<void> {
  const prefix = readPrefix(whole.prefix)
  if (!prefix) return
  const pieces = [part, ...split(prefix, part)]
  const made = await makeRanges(deps, pieces, 'in', (index) => (index === 0 ? nodeIds : whole.nodeIds))
  const nowMs = deps.clock()
  const find = indexOf(made)
  await deps.db.transact(async (tx) => {
    const held = (await store.lockRanges(tx, [whole.id])).get(whole.id)
    if (held?.state !== 'in') throw noSuchRange(formatPrefix(part))
    unseat(deps, tx, held, (await store.trialsByRange(tx, [whole.id])).get(whole.id) ?? [], () => false)
    store.setState(tx, [whole.id], 'gone', nowMs)
    const added = made.map((each) => each.range)
    store.insertRanges(tx, added)
    const addresses = await store.addressesIn(tx, whole.id)
    for (const [id, group] of Map.groupBy(addresses, find)) store.moveInto(tx, id ?? 0, group, nowMs)
    await lockNodes(deps, tx, nodeIds)
  })
}

export async function begin(deps: StockDeps, { ranges }: Planned): Promise<Planned> {
  const begun: PlannedRange[] = []
  for (const part of inParts(ranges)) begun.push(...(await deps.db.transactLong((tx) => writePart(deps, tx, part))))
  return { ranges: begun, byAddress: indexOf(begun) }
}

export async function open(deps: StockDeps, { ranges }: Planned): Promise<void> {
  for (const part of inParts(ranges)) await deps.db.transactLong((tx) => openPart(deps, tx, part))
}

/** The range of a large block. */
export async function addBlock(deps: StockDeps, tx: Tx, prefix: Prefix, id: number, nodeIds: readonly string[]) {
  const nowMs = deps.clock()
  const text = formatPrefix(prefix)
  store.insertRanges(tx, [{ id, prefix: text, nodeIds, state: 'in', createdAt: nowMs, changedAt: nowMs }])
  await lockNodes(deps, tx, nodeIds)
}

export const nextId = async (deps: StockDeps): Promise<number> => (await deps.rangeIds.take(1))[0] ?? 0

/** The ids of gateways with these names. */
export async function nodeIdsOf(deps: StockDeps, names: readonly string[]): Promise<string[]> {
  const nodeIds: string[] = []
  for (const name of names) {
    const node = await deps.fleet.findByName(name)
    if (node?.kind !== 'gateway') throw new Refusal('gateway_not_found', { name })
    nodeIds.push(node.id)
  }
  return nodeIds
}

/**
 * Assigns all addresses of a prefix to these nodes; none: any. A range that is partly within is split. Other nodes
 * lose the addresses at once. Returns how many ranges changed.
 */
export async function assign(deps: StockDeps, prefix: Prefix, nodeIds: readonly string[]): Promise<number> {
  const all = await store.listRanges(deps.db)
  const inside = all.filter((each) => isWithin(each, prefix))
  const around = all.find((each) => isAround(each, prefix))
  if (inside.length === 0 && !around) throw noSuchRange(formatPrefix(prefix))
  if (around) await cut(deps, around, prefix, nodeIds)
  const [alive, mayServe] = await Promise.all([live(deps), judge(deps)])
  const mayStay = (node: string): boolean => isAllowedNode({ nodeIds }, node)
  const isThere = (node: string): number => Number(alive.includes(node))
  await deps.db.transactLong(async (tx) => {
    const ids = inside.map((each) => each.id)
    const ranges = await store.lockRanges(tx, ids)
    const trials = await store.trialsByRange(tx, ids)
    const nowMs = deps.clock()
    for (const range of ranges.values()) {
      store.setNodeIds(tx, range.id, nodeIds, nowMs)
      const ofRange = trials.get(range.id) ?? []
      unseat(deps, tx, range, ofRange, mayStay)
      // The operator's earlier assignment counts as long as a proof does.
      const isVouched = nodeIds.length === 0 && range.nodeIds.length > 0
      if (isVouched) store.vouch(tx, range.id, nowMs + proofMs)
      const staying = ofRange
        .filter((each) => mayStay(each.node) && (isVouched || mayServe({ nodeIds }, each)))
        .toSorted((a, b) => isThere(b.node) - isThere(a.node))
      for (const { node, served } of staying) give(tx, range, served, node, alive)
    }
    await lockNodes(deps, tx, nodeIds)
  })
  return inside.length + (around ? 1 : 0)
}

/** Where customers reach these slots. */
export async function reachesOf(deps: StockDeps, slots: readonly number[]): Promise<Map<number, NodeReach>> {
  const [servingNodes, nodes] = await Promise.all([store.servingNodesOf(deps.db, slots), deps.fleet.nodes('gateway')])
  const byId = new Map<string, Node>(nodes.map((node) => [node.id, node]))
  return new Map([...servingNodes].map(([slot, node]) => [slot, reachOf(byId.get(node), nodes)]))
}

/** Every range with its trials and how many of its slots each node serves. */
export async function overview(deps: StockDeps) {
  const mayServe = await judge(deps)
  return deps.db.snapshot(async (reader: Reader) => {
    const ranges = await store.listRanges(reader)
    const byId = new Map(ranges.map((each) => [each.id, each]))
    const needsProof = !mayServe(anyNode, undefined)
    const judged = (trial: Trial): JudgedTrial => {
      const range = byId.get(trial.range) ?? anyNode
      const isDue = needsProof && range.nodeIds.length === 0 && trial.provenAt === null
      return { ...trial, proof: !mayServe(range, trial) ? 'none' : isDue ? 'due' : 'given' }
    }
    return {
      ranges,
      blocks: await store.listBlocks(reader),
      trials: (await store.allTrials(reader)).map(judged),
      slotCounts: await store.countByServingNode(reader),
    }
  })
}

function isWithin(range: StockRange, prefix: Prefix): boolean {
  const own = readPrefix(range.prefix)
  return own !== undefined && own.length >= prefix.length && contains(prefix, own.base)
}

/** A large block is one row and is not split. */
function isAround(range: StockRange, prefix: Prefix): boolean {
  const own = readPrefix(range.prefix)
  return own !== undefined && own.length < prefix.length && contains(own, prefix.base) && !isBlock(range)
}
