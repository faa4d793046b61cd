import type { Node } from '../../fleet/rules.ts'
import type { StockDeps } from '../deps.ts'
import { isAway, isProven, isServing, type MayServe } from './rules.ts'

/** The gateways that serve now, at most half a second old. */
export async function serving(deps: StockDeps): Promise<Node[]> {
  return (await deps.fleet.nodes('gateway')).filter((node) => isServing(node, deps.since))
}

/** The gateways that have lately served and are likely to come back. */
export async function away(deps: StockDeps): Promise<string[]> {
  return (await deps.fleet.nodes('gateway')).filter((node) => isAway(node, deps.since)).map((node) => node.id)
}

export const live = async (deps: StockDeps): Promise<string[]> => (await serving(deps)).map((node) => node.id)

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
