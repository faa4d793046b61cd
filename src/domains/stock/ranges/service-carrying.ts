import { formatAddress, readPrefix } from '../../../core/address.ts'
import type { Tx } from '../../../db/transaction.ts'
import { mostWrittenOut, sizeOf } from '../rules.ts'
import { addressesOf, isWhole, type Range, type Run } from './rules.ts'
import * as store from './store.ts'

/** A range that is kept as one row of stock. */
export function isBlock(range: Range): boolean {
  const prefix = readPrefix(range.prefix)
  return prefix !== undefined && sizeOf(prefix) > mostWrittenOut
}

/** The places at some addresses of a range. */
export function placesOf(range: Range, runs: readonly Run[]): store.Which | undefined {
  const prefix = readPrefix(range.prefix)
  if (!prefix) return undefined
  const isAll = isBlock(range) || isWhole(runs, Number(sizeOf(prefix)))
  return { range: range.id, addresses: isAll ? 'all' : [...addressesOf(prefix, runs)].map(formatAddress) }
}

/** Gives addresses of a range to a node, but for those that another one carries which is there. */
export function give(tx: Tx, range: Range, runs: readonly Run[], node: string, alive: readonly string[]): void {
  const which = placesOf(range, runs)
  if (!which || runs.length === 0) return
  store.claim(tx, which, node, alive)
  if (isBlock(range)) store.claimBlock(tx, range.prefix, node, alive)
}
