import {
  type Address,
  addressFromNumber,
  addressToNumber,
  contains,
  type Prefix,
  readAddress,
  readPrefix,
} from '../../../core/address.ts'
import type { RunningSince } from '../../../core/stall-monitor.ts'
import { isOnline, onlineWithinMs, type ReportingNode } from '../../fleet/rules.ts'
import { maxWrittenOut, sizeOf } from '../rules.ts'

/** Consecutive addresses of a range: the offset of the first, and how many. */
export type AddressRun = readonly [first: number, count: number]

/** A node's problem with addresses of a range, as a code. */
export type AddressProblem = { readonly first: number; readonly count: number; readonly problem: string }

/** Addresses and the nodes that they are on. Without named nodes, any gateway that proves the range serves it. */
export const rangeStates = ['coming', 'in', 'gone'] as const

export type StockRange = {
  readonly id: number
  readonly prefix: string
  readonly nodeIds: readonly string[]
  readonly state: (typeof rangeStates)[number]
  readonly createdAt: number
  readonly changedAt: number
}

/** An unfinished import: how much of it is written, and one of its prefixes to name it by. */
export type UnderWay = {
  readonly begunAt: number
  readonly ranges: number
  readonly slots: number
  readonly prefix: string
}

/** Whether an import made no progress between two looks. */
export const isStalled = (before: UnderWay | undefined, now: UnderWay): boolean =>
  before?.ranges === now.ranges && before.slots === now.slots

/** A node's whole report about a range, so that repeating it changes nothing. */
export type Tried = {
  readonly range: number
  readonly served: readonly AddressRun[]
  readonly problems: readonly AddressProblem[]
  readonly seenAs: string | null
}

/** A node's last report about a range, and until when its proof counts. */
export type Trial = Tried & {
  readonly node: string
  readonly changedAt: number
  /** The address of the range that the node last called the shop from. */
  readonly provenFrom: string | null
  /** When it was last proven; null if never, though `proofUntil` may be in the future. */
  readonly provenAt: number | null
  readonly proofUntil: number
}

/** A trial and its proof: `due` counts for a time and was never given. */
export type JudgedTrial = Trial & { readonly proof: 'none' | 'due' | 'given' }

/** How long a call from an address proves its range. Gateways call from 180,000 addresses in this time. */
export const proofMs = 3_600_000
/** A proof is written again once it is this old, so that most calls write nothing. */
export const proofRenewedMs = 900_000

/** A call from an address that was leased within this time may come from its customer, through a gateway. */
export const leasedWithinMs = 86_400_000

/** Whether a node may be given slots of a range. */
export type MayServe = (range: Pick<StockRange, 'nodeIds'>, trial: Pick<Trial, 'proofUntil'> | undefined) => boolean

/** The operator named the nodes of a range, or the node has a valid proof. */
export const isProven = (
  range: Pick<StockRange, 'nodeIds'>,
  trial: Pick<Trial, 'proofUntil'> | undefined,
  nowMs: number,
): boolean => range.nodeIds.length > 0 || (trial !== undefined && trial.proofUntil > nowMs)

/** Whether a call from this address, or a report over the shop's own socket (null), is written as a proof. */
export const isProofDue = (trial: Trial | undefined, from: string | null, nowMs: number): boolean =>
  trial === undefined ||
  trial.proofUntil - nowMs <= proofMs - proofRenewedMs ||
  (trial.provenFrom === null && from !== null)

/** Nothing is sold on a gateway after this silence, less time in which the shop did not run. */
export const servingWithinMs = onlineWithinMs.gateway

/** Whether goods of a gateway are sold. */
export const isServing = (node: ReportingNode, since: RunningSince): boolean =>
  node.kind === 'gateway' && isOnline(node, since)

/** A gateway that is silent for less than this is likely to come back. */
export const awayWithinMs = 10 * 60_000

export const hasLatelyServed = (node: ReportingNode, since: RunningSince): boolean =>
  node.state === 'open' && node.lastSeenAt !== null && since(node.lastSeenAt) <= awayWithinMs

/** Keyset position in the slots that are not served: the serving node ('' for none, which is first) and the slot. */
export type UnservedPosition = { readonly node: string; readonly slot: number }
export const firstUnserved: UnservedPosition = { node: '', slot: 0 }

export const isAllowedNode = (range: Pick<StockRange, 'nodeIds'>, node: string): boolean =>
  range.nodeIds.length === 0 || range.nodeIds.includes(node)

/** Whether runs are in order and within the range, without overlap, none touching the next. */
export function isNormal(runs: readonly AddressRun[], size: number): boolean {
  let end = -1
  for (const [first, count] of runs) {
    if (first <= end || count < 1 || first + count > size) return false
    end = first + count
  }
  return true
}

export const covers = (runs: readonly AddressRun[], offset: number): boolean =>
  runs.some(([first, count]) => offset >= first && offset < first + count)

export const countOf = (runs: readonly AddressRun[]): number => runs.reduce((sum, [, count]) => sum + count, 0)

export const isWhole = (runs: readonly AddressRun[], size: number): boolean => runs[0]?.[0] === 0 && runs[0][1] === size

/** The difference of two normal lists of runs, which is normal too. */
export function without(runs: readonly AddressRun[], others: readonly AddressRun[]): AddressRun[] {
  const left: AddressRun[] = []
  let at = 0
  for (const [first, count] of runs) {
    let from = first
    const end = first + count
    while (at < others.length && (others[at]?.[0] ?? 0) + (others[at]?.[1] ?? 0) <= from) at += 1
    for (let index = at; index < others.length && (others[index]?.[0] ?? end) < end; index += 1) {
      const [begins, many] = others[index] ?? [end, 0]
      if (begins > from) left.push([from, begins - from])
      from = Math.max(from, begins + many)
    }
    if (from < end) left.push([from, end - from])
  }
  return left
}

/** The intersection. */
export const within = (runs: readonly AddressRun[], others: readonly AddressRun[]): AddressRun[] =>
  without(runs, without(runs, others))

export const offsetOf = (prefix: Prefix, address: Address): number =>
  Number(addressToNumber(address) - addressToNumber(prefix.base))

/** Every prefix that contains an address. */
export function prefixesAround(address: Address): Prefix[] {
  const bits = address.bytes.length * 8
  const number = addressToNumber(address)
  return Array.from({ length: bits + 1 }, (_, length) => {
    const rest = BigInt(bits - length)
    return { base: addressFromNumber(address.version, (number >> rest) << rest), length }
  })
}

export function* addressesOf(prefix: Prefix, runs: readonly AddressRun[]): Generator<Address> {
  const base = addressToNumber(prefix.base)
  for (const [first, count] of runs) {
    for (let offset = first; offset < first + count; offset += 1) {
      yield addressFromNumber(prefix.base.version, base + BigInt(offset))
    }
  }
}

/** The fewest prefixes of exactly these addresses of one version, which are sorted and unique. */
export function toPrefixes(version: 4 | 6, numbers: readonly bigint[]): Prefix[] {
  const maxLength = version === 4 ? 32 : 128
  const made: Prefix[] = []
  for (let at = 0; at < numbers.length; ) {
    const first = numbers[at] ?? 0n
    let bits = 0
    let size = 1n
    while (
      bits < maxLength &&
      first % (size * 2n) === 0n &&
      BigInt(at) + size * 2n <= BigInt(numbers.length) &&
      numbers[at + Number(size * 2n) - 1] === first + size * 2n - 1n
    ) {
      bits += 1
      size *= 2n
    }
    made.push({ base: addressFromNumber(version, first), length: maxLength - bits })
    at += Number(size)
  }
  return made
}

/** A prefix without a part of it, as the fewest prefixes. */
export function split(whole: Prefix, part: Prefix): Prefix[] {
  const left: Prefix[] = []
  const { version } = whole.base
  let rest = whole
  while (rest.length < part.length) {
    const length = rest.length + 1
    const low: Prefix = { base: rest.base, length }
    const high: Prefix = { base: addressFromNumber(version, addressToNumber(rest.base) + sizeOf(low)), length }
    const isLow = contains(low, part.base)
    left.push(isLow ? high : low)
    rest = isLow ? low : high
  }
  return left
}

/** Whether a range is kept as one row, because it is too large to be written out. */
export function isBlock(range: Pick<StockRange, 'prefix'>): boolean {
  const prefix = readPrefix(range.prefix)
  return prefix !== undefined && sizeOf(prefix) > maxWrittenOut
}

/** Ranges in one transaction: SQLite is slow once a transaction outgrows its memory. */
const rangesAtOnce = 2_000

export type PlannedRange = { readonly prefix: Prefix; readonly range: StockRange }
export type Planned = {
  readonly ranges: readonly PlannedRange[]
  /** The number of the range that an address was planned into. */
  readonly byAddress: (address: string) => number | undefined
}

/** Splits a list into parts for one transaction each. */
export function* inParts<Item>(all: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < all.length; at += rangesAtOnce) yield all.slice(at, at + rangesAtOnce)
}

/** Sorted, without repetitions. */
export const sorted = (numbers: readonly bigint[]): bigint[] => {
  const inOrder = numbers.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return inOrder.filter((each, index) => index === 0 || each !== inOrder[index - 1])
}

/** Binary search: ranges do not overlap, so only the last that begins at or before an address can contain it. */
export function indexOf(ranges: readonly PlannedRange[]): Planned['byAddress'] {
  const byVersion: Record<4 | 6, PlannedRange[]> = { 4: [], 6: [] }
  for (const each of ranges) byVersion[each.prefix.base.version].push(each)
  const starts = { 4: startsOf(byVersion[4]), 6: startsOf(byVersion[6]) }
  return (text) => {
    const address = readAddress(text)
    if (!address) return undefined
    const among = starts[address.version]
    const number = addressToNumber(address)
    let [low, high] = [0, among.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((among[middle]?.start ?? 0n) <= number) low = middle + 1
      else high = middle
    }
    const found = among[low - 1]?.each
    return found && contains(found.prefix, address) ? found.range.id : undefined
  }
}

const startsOf = (ranges: readonly PlannedRange[]) =>
  ranges
    .map((each) => ({ each, start: addressToNumber(each.prefix.base) }))
    .toSorted((a, b) => (a.start < b.start ? -1 : 1))
