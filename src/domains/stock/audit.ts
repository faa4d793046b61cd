import { contains, formatAddress, formatPrefix, type Prefix, readAddress, readPrefix } from '../../core/address.ts'
import type { BoundCases } from '../../core/bind.ts'
import { readCountry } from '../../core/country.ts'
import {
  at,
  type Finding,
  type FindingProblem,
  type FindingSubject,
  found,
  maxFindings,
  problem,
} from '../../core/finding.ts'
import { pageWalk, type TableWalk, wholeWalk } from '../../db/audit-walks.ts'
import type { Reader } from '../../db/transaction.ts'
import type { Fleet } from '../fleet/index.ts'
import {
  covers,
  isAllowedNode,
  isBlock,
  isNormal,
  type MayServe,
  offsetOf,
  type StockRange,
  type Trial,
} from './ranges/rules.ts'
import type * as served from './ranges/served.ts'
import * as rangeStore from './ranges/store.ts'
import { sizeOf, type WalkedLease } from './rules.ts'
import * as store from './store.ts'

const maxShown = 100
const pageSize = 500
/** Each step reads all ranges and their trials once. */
const slotsPerStep = 20_000

export type AuditDeps = {
  /** The next number that a counter gives out. */
  readonly numbers: (reader: Reader, counter: string) => Promise<number>
  readonly fleet: Pick<Fleet, 'everKnown'>
  readonly stock: { readonly ranges: BoundCases<Pick<typeof served, 'judge'>> }
}

/** Checks all slots and leases. `onLeases` checks a page of leases against their proxies. */
export const stockWalks = (
  deps: AuditDeps,
  onLeases: (reader: Reader, leases: readonly WalkedLease[]) => Promise<readonly Finding[]>,
): readonly TableWalk[] => [
  wholeWalk('slots and leases', async (reader, findings) => {
    for (const { id, state } of await store.disagreements(reader, maxShown))
      findings.push(found('lease', at('slot', { id }), 'slot_state', { state }))
    for (const id of await store.overlaps(reader, maxShown))
      findings.push(found('lease', at('slot', { id }), 'slot_overlap'))
    for (const id of await store.misdated(reader, maxShown))
      findings.push(found('lease', at('slot', { id }), 'slot_free_from'))
    for (const address of await store.mixedAddresses(reader, maxShown))
      findings.push(found('stock', at('address', { address }), 'address_two_kinds'))
    for (const address of await store.soldTwice(reader, maxShown))
      findings.push(found('stock', at('address', { address }), 'address_is_exit'))
    const [next, last] = [await deps.numbers(reader, 'slot'), await store.lastSlot(reader)]
    if (last >= next) findings.push(found('counter', at('counter', { name: 'slot' }), 'counter_behind', { next, last }))
  }),
  wholeWalk('ranges', async (reader, findings) => {
    const check = await createServingCheck(reader, deps.fleet, await deps.stock.ranges.judge())
    findings.push(...check.findings)
  }),
  pageWalk({
    name: 'slots',
    start: -1,
    size: slotsPerStep,
    read: store.slotsAfter,
    keyOf: ({ id }: store.SlotRecord): number => id,
    async check(reader, page, findings) {
      const serving = await createServingCheck(reader, deps.fleet, await deps.stock.ranges.judge())
      for (const slot of page) {
        const wrong = problemOfSlot(slot) ?? serving.problemOf(slot)
        if (wrong && findings.length < maxFindings)
          findings.push({ promise: 'stock', where: at('slot', { id: slot.id }), ...wrong })
      }
      return { places: page.length }
    },
  }),
  pageWalk({
    name: 'leases',
    start: { slot: -1, startedAt: -1 },
    size: pageSize,
    read: store.leasesAfter,
    keyOf: (lease: WalkedLease) => lease,
    async check(reader, page, findings) {
      findings.push(...(await onLeases(reader, page)))
      return { leases: page.filter((lease) => lease.endedAt === null).length }
    },
  }),
]

function problemOfSlot({ address: text, ipv, country }: store.SlotRecord): FindingProblem | undefined {
  const address = readAddress(text)
  if (!address || formatAddress(address) !== text) return problem('address_unreadable', { address: text })
  if (address.version !== (ipv === 6 ? 6 : 4)) return problem('address_kind', { address: text, ipv })
  return readCountry(country) === country ? undefined : problem('country_unknown', { country })
}

/** The address that a node called from is in the range, and the call has a time. */
function isProofSound(prefix: Prefix, { provenFrom, provenAt }: Trial): boolean {
  if (provenFrom === null) return true
  const address = readAddress(provenFrom)
  return address !== undefined && contains(prefix, address) && provenAt !== null
}

type Known = {
  readonly range: StockRange
  readonly prefix: Prefix
  readonly isBlock: boolean
  readonly trials: Trial[]
}

/**
 * Checks that the node that serves a slot has reported the address and may serve it, and that no slot is without a node
 * while one could serve it. Ranges, trials and blocks are checked here, slots by `problemOf`.
 */
async function createServingCheck(reader: Reader, fleet: Pick<Fleet, 'everKnown'>, mayServe: MayServe) {
  const gateways = new Set(await fleet.everKnown('gateway'))
  const findings: Finding[] = []
  const note = (where: FindingSubject, wrong: FindingProblem) => {
    if (findings.length < maxFindings) findings.push({ promise: 'stock', where, ...wrong })
  }
  const ranges = new Map<number, Known>()
  const byPrefix = new Map<string, Known>()
  for (const range of await rangeStore.listRanges(reader)) {
    const prefix = readPrefix(range.prefix)
    if (!prefix || formatPrefix(prefix) !== range.prefix) {
      note(at('range', { id: range.id }), problem('range_prefix', { prefix: range.prefix }))
    } else {
      const known = { range, prefix, isBlock: isBlock(range), trials: [] }
      ranges.set(range.id, known)
      byPrefix.set(range.prefix, known)
    }
  }
  for (const trial of await rangeStore.allTrials(reader)) {
    const known = ranges.get(trial.range)
    const size = known && (known.isBlock ? 1 : Number(sizeOf(known.prefix)))
    const isGood = known && size !== undefined && isAllowedNode(known.range, trial.node) && isNormal(trial.served, size)
    if (isGood && gateways.has(trial.node)) known.trials.push(trial)
    else note(at('range', { id: trial.range }), problem('trial_wrong', { node: trial.node }))
    if (known && !isProofSound(known.prefix, trial)) {
      const proof = { node: trial.node, from: trial.provenFrom }
      note(at('range', { id: trial.range }), problem('trial_proof', proof))
    }
  }
  const isRight = (known: Known, offset: number, servingNode: string | null): boolean => {
    const able = known.trials.filter((trial) => covers(trial.served, offset))
    if (servingNode === null) return !able.some((trial) => mayServe(known.range, trial))
    return able.some((trial) => trial.node === servingNode)
  }
  for (const block of await rangeStore.listBlocks(reader)) {
    const known = byPrefix.get(block.prefix)
    if (!known || !isRight(known, 0, block.serving_node)) {
      note(at('block', { prefix: block.prefix }), problem('serving_node_wrong', { node: block.serving_node }))
    }
  }

  return {
    findings,
    problemOf({ range, address: text, servingNode, knownNode, state }: store.SlotRecord): FindingProblem | undefined {
      const known = range === null ? undefined : ranges.get(range)
      const address = readAddress(text)
      if (knownNode !== null && (state !== 'leased' || !gateways.has(knownNode))) {
        return problem('known_node', { node: knownNode })
      }
      if (range === null) return servingNode === null ? undefined : problem('node_without_range', { node: servingNode })
      if (!known || !address || !contains(known.prefix, address)) return problem('slot_range', { range })
      const offset = known.isBlock ? 0 : offsetOf(known.prefix, address)
      return isRight(known, offset, servingNode) ? undefined : problem('serving_node_wrong', { node: servingNode })
    },
  }
}
