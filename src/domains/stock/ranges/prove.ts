import { type Address, formatAddress, formatPrefix, readPrefix } from '../../../core/address.ts'
import { Refusal } from '../../../core/refusal.ts'
import type { Reader, Tx } from '../../../db/transaction.ts'
import type { StockDeps } from '../deps.ts'
import { sizeOf } from '../rules.ts'
import {
  type AddressRun,
  addressesOf,
  inParts,
  isAllowedNode,
  isBlock,
  isNormal,
  isProofDue,
  isWhole,
  leasedWithinMs,
  type MayServe,
  prefixesAround,
  proofMs,
  type StockRange,
  type Trial,
  type Tried,
  within,
  without,
} from './rules.ts'
import { judge, live } from './served.ts'
import * as store from './store.ts'

/** The slots of some addresses of a range. */
function slotsOf(range: StockRange, runs: readonly AddressRun[]): store.RangeSlots | undefined {
  const prefix = readPrefix(range.prefix)
  if (!prefix) return undefined
  const isAll = isBlock(range) || isWhole(runs, Number(sizeOf(prefix)))
  return { range: range.id, addresses: isAll ? 'all' : [...addressesOf(prefix, runs)].map(formatAddress) }
}

/** Gives addresses of a range to a node, except those that a live node serves. */
export function give(
  tx: Tx,
  range: StockRange,
  runs: readonly AddressRun[],
  node: string,
  alive: readonly string[],
): void {
  const slots = slotsOf(range, runs)
  if (!slots || runs.length === 0) return
  store.claim(tx, slots, node, alive)
  if (isBlock(range)) store.claimBlock(tx, range.prefix, node, alive)
}

/** Applies a node's report about a range. True if the caller is to claim all its slots, for many ranges at once. */
function apply(
  deps: StockDeps,
  tx: Tx,
  range: StockRange,
  reported: Tried,
  before: readonly Trial[],
  { node, alive, mayServe }: { node: string; alive: readonly string[]; mayServe: MayServe },
): boolean {
  const own = before.find((each) => each.node === node)
  const others = before.filter((each) => each.node !== node)
  const there = entitled(range, others, alive, mayServe)
  const lost = without(own?.served ?? [], reported.served)
  const slots = slotsOf(range, lost)
  if (slots && lost.length > 0) {
    store.release(tx, slots, node, deps.clock())
    if (isBlock(range)) store.releaseBlock(tx, range.prefix, node)
    for (const other of others) {
      if (mayServe(range, other)) give(tx, range, within(lost, other.served), other.node, there)
    }
  }
  if (!mayServe(range, own)) return false
  const gained = others.length > 0 ? reported.served : without(reported.served, own?.served ?? [])
  const isPlain = !isBlock(range) && there.length === alive.length
  if (isPlain && slotsOf(range, gained)?.addresses === 'all') return true
  give(tx, range, gained, node, there)
  return false
}

/** Takes reports about as many ranges as fit one transaction. */
async function takeReports(deps: StockDeps, node: string, reported: readonly Tried[], alive: readonly string[]) {
  if (await isKnown(deps, node, reported)) return
  const ids = reported.map((each) => each.range)
  const by = { node, alive: [...alive, node], mayServe: await judge(deps) }
  await deps.db.transactLong(async (tx) => {
    const ranges = await store.lockRanges(tx, ids)
    const trials = await store.trialsByRange(tx, ids)
    const nowMs = deps.clock()
    const written: Parameters<typeof store.writeTrials>[1][number][] = []
    const wholly: number[] = []
    for (const each of reported) {
      const range = ranges.get(each.range)
      if (range?.state !== 'in' || !isAllowedNode(range, node) || !fits(range, each.served)) continue
      const before = trials.get(range.id) ?? []
      if (apply(deps, tx, range, each, before, by)) wholly.push(range.id)
      const own = before.find((trial) => trial.node === node)
      if (!own || !isSameReport(own, each)) written.push({ node, ...each, changedAt: nowMs })
    }
    store.claimAll(tx, wholly, node, by.alive)
    store.writeTrials(tx, written)
  })
}

/** Whether a report is known and no other node has the ranges. Most reports end here. */
async function isKnown(deps: StockDeps, node: string, reported: readonly Tried[]): Promise<boolean> {
  const ids = reported.map((each) => each.range)
  const byRange = await store.trialsByRange(deps.db, ids)
  return reported.every((each) => {
    const [own, ...others] = (byRange.get(each.range) ?? []).toSorted((a) => (a.node === node ? -1 : 1))
    return own?.node === node && others.length === 0 && isSameReport(own, each)
  })
}

/**
 * Whether only the node itself can have called from this address. A leased address is also used by its customer, who
 * may run a hostile node. Then the call counts only for the serving node of the address, and only while no other live
 * node claims the range: a customer of that node could have called.
 */
async function isOwnCall(
  deps: StockDeps,
  node: string,
  from: string,
  trials: ReadonlyMap<number, readonly Trial[]>,
  alive: readonly string[],
): Promise<boolean> {
  const servingNodes = await store.leasedServingNodes(deps.db, from, deps.clock() - leasedWithinMs)
  if (servingNodes.length === 0) return true
  const isElsewhere = (each: Trial) => each.node !== node && each.served.length > 0 && alive.includes(each.node)
  return servingNodes.every((each) => each === node) && ![...trials.values()].flat().some(isElsewhere)
}

/** Writes proofs of ranges without named gateways and gives the node its claims. `from` null: the shop's own socket. */
async function prove(deps: StockDeps, node: string, ids: readonly number[], from: string | null): Promise<void> {
  const mayServe = await judge(deps)
  // A sandbox asks for no proof and keeps none.
  if (mayServe({ nodeIds: [] }, undefined)) return
  const ownOf = (trials: readonly Trial[] | undefined) => trials?.find((each) => each.node === node)
  const known = await store.trialsByRange(deps.db, ids)
  const due = ids.filter((id) => isProofDue(ownOf(known.get(id)), from, deps.clock()))
  if (due.length === 0) return
  const alive = await live(deps)
  if (from !== null && !(await isOwnCall(deps, node, from, known, alive))) return
  await deps.db.transactLong(async (tx) => {
    const ranges = [...(await store.lockRanges(tx, due)).values()].filter(hasNoNamedNode)
    const trials = await store.trialsByRange(tx, due)
    const nowMs = deps.clock()
    const proven = ranges.map((each) => each.id)
    store.writeProofs(tx, node, proven, { from, provenAt: nowMs, endsAt: nowMs + proofMs })
    for (const range of ranges) {
      const reported = trials.get(range.id) ?? []
      const own = ownOf(reported)
      if (!own || mayServe(range, own)) continue
      const others = reported.filter((each) => each !== own)
      give(tx, range, own.served, node, entitled(range, others, [...alive, node], mayServe))
    }
  })
}

/**
 * Takes a node's reports about ranges. Ranges of other nodes are ignored, and slots of a live node stay with it, so
 * a lying node takes nothing from others. Ranges without named gateways need a proof first; a node at the shop's
 * own socket runs as the shop's user, which is its proof.
 */
export async function tried(deps: StockDeps, node: string, reported: readonly Tried[], isLocal = false): Promise<void> {
  const alive = await live(deps)
  const claimed = reported.filter((each) => isLocal && each.served.length > 0).map((each) => each.range)
  for (const part of inParts(claimed)) await prove(deps, node, part, null)
  for (const part of inParts(reported)) await takeReports(deps, node, part, alive)
}

/**
 * Takes a closed node off all ranges: another node that can use an address gets it. Refuses while a range names the
 * node, or while an address that it served is leased.
 */
export async function leave(deps: StockDeps, node: string): Promise<void> {
  await assertLeft(deps.db, node)
  const own = (await store.allTrials(deps.db)).filter((each) => each.node === node)
  const nothing = { served: [], problems: [], seenAs: null }
  await tried(
    deps,
    node,
    own.map((each) => ({ range: each.range, ...nothing })),
  )
  await deps.db.transact(async (tx) => {
    for (const { range } of own) store.dropTrials(tx, range, [node])
  })
}

export async function assertLeft(reader: Reader, node: string): Promise<void> {
  const named = (await store.listRanges(reader)).filter((each) => each.nodeIds.includes(node)).length
  if (named > 0) throw new Refusal('node_has_ranges', { count: named })
  const leased = await store.countLeasedBy(reader, node)
  if (leased > 0) throw new Refusal('node_has_proxies', { count: leased })
}

/** A call from an address proves its range, unless a customer could have made the call. */
export async function seen(deps: StockDeps, node: string, from: Address): Promise<void> {
  const found = await store.rangesWith(deps.db, prefixesAround(from).map(formatPrefix))
  const ids = [...found.values()].filter(hasNoNamedNode).map((each) => each.id)
  if (ids.length > 0) await prove(deps, node, ids, formatAddress(from))
}

/** On sale, and on no named gateway. */
const hasNoNamedNode = (range: StockRange): boolean => range.state === 'in' && range.nodeIds.length === 0

/** The live nodes without those that claim a range without a proof, which keep it from no other node. */
function entitled(
  range: StockRange,
  others: readonly Trial[],
  alive: readonly string[],
  mayServe: MayServe,
): readonly string[] {
  const unproven = others.filter((each) => !mayServe(range, each)).map((each) => each.node)
  return unproven.length === 0 ? alive : alive.filter((node) => !unproven.includes(node))
}

/** Whether a report is about addresses of the range. */
function fits(range: StockRange, served: readonly AddressRun[]): boolean {
  const prefix = readPrefix(range.prefix)
  return prefix !== undefined && isNormal(served, isBlock(range) ? 1 : Number(sizeOf(prefix)))
}

const isSameReport = (trial: Trial, reported: Tried): boolean =>
  trial.seenAs === reported.seenAs &&
  JSON.stringify([trial.served, trial.problems]) === JSON.stringify([reported.served, reported.problems])
