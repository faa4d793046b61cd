import type { ByteAccountKey } from '../accounts/rules.ts'
import { largest, least, type NodeBoot } from '../counts/rules.ts'

export type LeaseTerms = {
  /** Size of a lease. */
  readonly leaseBytes: bigint
  /** Size of a lease of a node that relays much at once. */
  readonly maxLeaseBytes: bigint
  /** A lease lapses when its node has been silent for this long. */
  readonly leaseLastsMs: number
}

/** A node's numbered request about one account: another lease, or the return of what it holds. */
export type LeaseRequest = ByteAccountKey & {
  readonly turn: number
  readonly want: 'lease' | 'return'
  /** Bytes on their way to the customer: not counted yet, and not free either. */
  readonly moving?: bigint | undefined
  /** Bytes that the node relays in 200 ms at its present rate. */
  readonly pace?: bigint | undefined
}

/** Bytes relayed for an account: to the customer, and from the customer. */
export type RelayedBytes = ByteAccountKey & { readonly received: bigint; readonly sent: bigint }

/** The cumulative counts of one boot of a node, and its requests. It may arrive twice, late or out of order. */
export type LeaseReport = NodeBoot & {
  /** Earlier boots of the node that run beside this one and keep their leases. */
  readonly beside?: readonly string[] | undefined
  readonly counts: readonly RelayedBytes[]
  readonly leaseRequests: readonly LeaseRequest[]
}

/** The leases of one boot for one subject. All numbers but `aside` and `claimable` are cumulative. */
export type LeaseLine = NodeBoot & {
  readonly subject: string
  /** The last request that was answered; an older one is stale. */
  readonly turn: number
  /** Ever set aside. */
  readonly granted: bigint
  /** Given back by the node, which promised not to relay it. */
  readonly returned: bigint
  /** Taken back because the node was silent. The node may have relayed it all the same. */
  readonly lapsed: bigint
  /** Relayed, and taken from what was set aside. */
  readonly settled: bigint
  /** Relayed on a lapsed lease and claimed afterwards. */
  readonly late: bigint
  /** How much more may be claimed late. */
  readonly claimable: bigint
  /** Claimed beyond every lease. Never billed. */
  readonly quarantined: bigint
  /** The largest reported count, both directions together. */
  readonly counted: bigint
  /** Set aside now: `granted - returned - lapsed - settled`. */
  readonly aside: bigint
}

export function newLine({ node, boot }: NodeBoot, subject: string): LeaseLine {
  const cumulative = { granted: 0n, returned: 0n, lapsed: 0n, settled: 0n, late: 0n, quarantined: 0n, counted: 0n }
  return { node, boot, subject, turn: 0, ...cumulative, claimable: 0n, aside: 0n }
}

/** Relayed and counted, and not yet taken from what is set aside: many reports are settled at once. */
const unsettled = (line: LeaseLine): bigint => line.counted - line.settled - line.late - line.quarantined

/** The bytes that the node may still relay. */
export const remaining = (line: LeaseLine): bigint => line.aside - unsettled(line)

/** The count that the node must not pass. A repeated request is answered with the same number. */
export const allowance = (line: LeaseLine): bigint => line.counted + remaining(line)

/** The bytes that a step moves in the subject's account. None is negative. */
type LeaseEffect = {
  /** Used, out of what was set aside. */
  readonly settle: bigint
  /** Relayed on a lapsed lease: paid from the balance as far as it goes, owed beyond. */
  readonly late: bigint
  /** Set aside from the balance. */
  readonly grant: bigint
  /** Back to the balance, from what was set aside. */
  readonly giveBack: bigint
}

export type LeaseStep = { readonly line: LeaseLine; readonly effect: LeaseEffect }

/** A lease at the node's pace. A large one is at most an eighth of the free bytes, so that other nodes get theirs. */
export function leaseSize({ leaseBytes, maxLeaseBytes }: LeaseTerms, pace: bigint, available: bigint): bigint {
  return largest(leaseBytes, least(least(pace, maxLeaseBytes), available / 8n))
}

/** One node may hold a whole account of fewer leases than this. */
const minHeldLeases = 8n
/** One node holds at most so many of the largest leases of an account. */
const maxHeldLeases = 4n

/**
 * The bytes of an account that one node may hold, over all its boots: half of the account, at least eight leases and at
 * most four of the largest ones. So a hostile node that only asks leaves the rest to other nodes.
 */
export function holdLimit(
  { leaseBytes, maxLeaseBytes }: LeaseTerms,
  { balance, aside }: { readonly balance: bigint; readonly aside: bigint },
): bigint {
  return largest(minHeldLeases * leaseBytes, least(maxHeldLeases * maxLeaseBytes, (balance + aside) / 2n))
}

/** A node that holds less than this of an account is below every limit. */
export const minHoldLimit = ({ leaseBytes }: LeaseTerms): bigint => minHeldLeases * leaseBytes

const nothing: LeaseEffect = { settle: 0n, late: 0n, grant: 0n, giveBack: 0n }

/** Counts believed bytes; the rest goes to quarantine. A `closed` boot spends what it has and claims nothing late. */
export function count(
  line: LeaseLine,
  { claimed, believed }: { readonly claimed: bigint; readonly believed: bigint },
  closed: boolean,
): LeaseStep & { readonly quarantined: bigint } {
  const within = least(believed, remaining(line))
  const claimable = closed ? 0n : line.claimable
  const late = least(believed - within, claimable)
  const quarantined = claimed - within - late
  const next = {
    ...line,
    counted: line.counted + claimed,
    late: line.late + late,
    claimable: claimable - late,
    quarantined: line.quarantined + quarantined,
  }
  return { line: next, effect: { ...nothing, late }, quarantined }
}

/** Takes what was relayed from what was set aside. */
function settle(line: LeaseLine): LeaseStep {
  const unsettledBytes = unsettled(line)
  return {
    line: { ...line, settled: line.settled + unsettledBytes, aside: line.aside - unsettledBytes },
    effect: { ...nothing, settle: unsettledBytes },
  }
}

/**
 * Fills the line up to one lease, as far as `available` goes. Bytes that are `moving` are not free: otherwise a few
 * stalled connections would use up the lease of all others. Claimable and remaining bytes are never more than one lease
 * together, so that is the most that can go unpaid.
 */
export function grant(line: LeaseLine, turn: number, leaseBytes: bigint, available: bigint, moving = 0n): LeaseStep {
  if (turn <= line.turn) return { line, effect: nothing }
  const settled = settle(line)
  const free = largest(remaining(settled.line) - moving, 0n)
  const granted = least(largest(leaseBytes - free, 0n), available)
  const aside = settled.line.aside + granted
  const claimable = least(line.claimable, largest(leaseBytes - aside, 0n))
  return {
    line: { ...settled.line, turn, granted: line.granted + granted, aside, claimable },
    effect: { ...settled.effect, grant: granted },
  }
}

/** The node relays no more on what it has: the rest goes back for good. */
export function giveBack(line: LeaseLine, turn: number): LeaseStep {
  if (turn <= line.turn) return { line, effect: nothing }
  const settled = settle(line)
  const rest = settled.line.aside
  return {
    line: { ...settled.line, turn, returned: line.returned + rest, aside: 0n, claimable: 0n },
    effect: { ...settled.effect, giveBack: rest },
  }
}

/** The node was silent too long: the rest goes back, and stays claimable up to one lease unless the boot is closed. */
export function lapse(line: LeaseLine, closed: boolean, leaseBytes: bigint): LeaseStep {
  const settled = settle(line)
  const rest = settled.line.aside
  const claimable = closed ? 0n : least(line.claimable + rest, largest(leaseBytes, rest))
  return {
    line: { ...settled.line, lapsed: line.lapsed + rest, aside: 0n, claimable },
    effect: { ...settled.effect, giveBack: rest },
  }
}
