import { type Address, addressFromNumber, addressToNumber, contains, type Prefix } from '../../../core/address.ts'
import type { RunningSince } from '../../../core/stall-monitor.ts'
import type { Node } from '../../fleet/rules.ts'
import { sizeOf } from '../rules.ts'

/** Addresses of a range that follow one another: the first one's place in it, and how many. */
export type Run = readonly [first: number, count: number]

/** What is wrong with addresses of a range, in a word that a node says. */
export type Problem = { readonly first: number; readonly count: number; readonly problem: string }

/** Addresses that belong together and the nodes that they are on; none named: any gateway that proves it. */
export type Range = {
  readonly id: number
  readonly prefix: string
  readonly homes: readonly string[]
  readonly state: 'coming' | 'in' | 'gone'
  readonly createdAt: number
  readonly changedAt: number
}

/** An import that is not finished: what has come of it so far, and one of its prefixes to know it by. */
export type UnderWay = {
  readonly begunAt: number
  readonly ranges: number
  readonly places: number
  readonly prefix: string
}

/** Whether nothing has come of an import between two looks at it. */
export const standsStill = (before: UnderWay | undefined, now: UnderWay): boolean =>
  before?.ranges === now.ranges && before.places === now.places

/** What a node says of a range: all of it, so that saying it twice changes nothing. */
export type Tried = {
  readonly range: number
  readonly served: readonly Run[]
  readonly problems: readonly Problem[]
  readonly seenAs: string | null
}

/** What a node last said of a range, and until when the shop holds it proven that the node can use the range. */
export type Trial = Tried & {
  readonly node: string
  readonly changedAt: number
  /** The address of the range that the shop last saw the node call from. */
  readonly provenFrom: string | null
  /** When it was last proven; null while it never was, though it may count as proven for a time. */
  readonly provenAt: number | null
  readonly proofUntil: number
}

/**
 * How long a call from an address of a range proves that a gateway can use the range. Gateways call from each address
 * within five minutes, up to 15,000 addresses, and from 180,000 within this time.
 */
export const proofMs = 3_600_000
/** A proof is renewed once it is this old. Most calls write nothing. */
export const proofRenewedMs = 900_000

/**
 * A call from an address that was leased within this time may come from its customer, through the gateway that carries
 * it or one that has not yet heard that the lease has ended.
 */
export const leasedWithinMs = 86_400_000

/** Whether a node may be given places of a range. */
export type MayServe = (range: Pick<Range, 'homes'>, trial: Pick<Trial, 'proofUntil'> | undefined) => boolean

/** The operator named the nodes of a range, or the shop lately saw a node call from an address of it. */
export const isProven = (
  range: Pick<Range, 'homes'>,
  trial: Pick<Trial, 'proofUntil'> | undefined,
  nowMs: number,
): boolean => range.homes.length > 0 || (trial !== undefined && trial.proofUntil > nowMs)

/** Whether a call from this address, or a report over the shop's own socket (null), is to be written as a proof. */
export const isProofDue = (trial: Trial | undefined, from: string | null, nowMs: number): boolean =>
  trial === undefined ||
  trial.proofUntil - nowMs <= proofMs - proofRenewedMs ||
  (trial.provenFrom === null && from !== null)

/**
 * Nothing is sold on a gateway after this much silence; gateways report every 2 s. Silence excludes time in which the
 * shop's own process did not run.
 */
export const servingWithinMs = 10_000

type Reporting = Pick<Node, 'kind' | 'state' | 'lastSeenAt' | 'health'>

export const isServing = (node: Reporting, since: RunningSince): boolean =>
  node.kind === 'gateway' &&
  node.state === 'open' &&
  node.health?.isStopping !== true &&
  node.lastSeenAt !== null &&
  since(node.lastSeenAt) <= servingWithinMs

/** A gateway that is silent for less than this is likely to come back, and what it carries with it. */
export const awayWithinMs = 10 * 60_000

export const isAway = (node: Reporting, since: RunningSince): boolean =>
  node.state === 'open' && node.lastSeenAt !== null && since(node.lastSeenAt) <= awayWithinMs && !isServing(node, since)

/** Where a walk over what nobody serves stands: which carrier's places, none's first, and after which of them. */
export type UnservedPosition = { readonly carrier: string; readonly place: number }
export const firstUnserved: UnservedPosition = { carrier: '', place: 0 }

export const mayCarry = (range: Pick<Range, 'homes'>, node: string): boolean =>
  range.homes.length === 0 || range.homes.includes(node)

/** In order, without overlap, none touching the next; undefined when they were not so, or leave the range. */
export function isNormal(runs: readonly Run[], size: number): boolean {
  let end = -1
  for (const [first, count] of runs) {
    if (first <= end || count < 1 || first + count > size) return false
    end = first + count
  }
  return true
}

export const covers = (runs: readonly Run[], offset: number): boolean =>
  runs.some(([first, count]) => offset >= first && offset < first + count)

export const countOf = (runs: readonly Run[]): number => runs.reduce((sum, [, count]) => sum + count, 0)

export const isWhole = (runs: readonly Run[], size: number): boolean => runs[0]?.[0] === 0 && runs[0][1] === size

/** What is in one and not in the other. Both are normal, and so is the answer. */
export function without(runs: readonly Run[], others: readonly Run[]): Run[] {
  const left: Run[] = []
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

/** What is in both. */
export const within = (runs: readonly Run[], others: readonly Run[]): Run[] => without(runs, without(runs, others))

/** The place of an address in a range that it is in. */
export const offsetOf = (prefix: Prefix, address: Address): number =>
  Number(addressToNumber(address) - addressToNumber(prefix.base))

/** Every prefix that an address is in, from the whole of its family to the address alone. */
export function prefixesAround(address: Address): Prefix[] {
  const bits = address.bytes.length * 8
  const number = addressToNumber(address)
  return Array.from({ length: bits + 1 }, (_, length) => {
    const rest = BigInt(bits - length)
    return { base: addressFromNumber(address.version, (number >> rest) << rest), length }
  })
}

export function* addressesOf(prefix: Prefix, runs: readonly Run[]): Generator<Address> {
  const base = addressToNumber(prefix.base)
  for (const [first, count] of runs) {
    for (let offset = first; offset < first + count; offset += 1) {
      yield addressFromNumber(prefix.base.version, base + BigInt(offset))
    }
  }
}

/** The fewest prefixes that hold exactly these addresses of one version, which are in order and each there once. */
export function toPrefixes(version: 4 | 6, numbers: readonly bigint[]): Prefix[] {
  const most = version === 4 ? 32 : 128
  const made: Prefix[] = []
  for (let at = 0; at < numbers.length; ) {
    const first = numbers[at] ?? 0n
    let bits = 0
    let size = 1n
    while (
      bits < most &&
      first % (size * 2n) === 0n &&
      BigInt(at) + size * 2n <= BigInt(numbers.length) &&
      numbers[at + Number(size * 2n) - 1] === first + size * 2n - 1n
    ) {
      bits += 1
      size *= 2n
    }
    made.push({ base: addressFromNumber(version, first), length: most - bits })
    at += Number(size)
  }
  return made
}

/** A prefix without a part of it: what is left, as the fewest prefixes. */
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
