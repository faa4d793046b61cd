import type { AccountKey } from '../accounts/rules.ts'

/** How much a node may hold of an account at a time, and how long it may be silent before that is taken back. */
export type LeaseTerms = {
  readonly leaseBytes: bigint
  /** To those who carry much at once, up to so many. */
  readonly mostLeaseBytes: bigint
  readonly leaseLastsMs: number
}

/** A node's numbered wish about one account: to go on carrying, or to give back what it has. */
export type Wish = AccountKey & {
  readonly turn: number
  readonly want: 'lease' | 'return'
  /** Bytes that are not counted yet and not free either. */
  readonly moving?: bigint | undefined
  /** Bytes that it carries in a moment at its present pace. */
  readonly pace?: bigint | undefined
}

/** Bytes carried for an account: to the customer, and from the customer. */
export type Carried = AccountKey & { readonly received: bigint; readonly sent: bigint }

/** What one boot of a node has carried since it began, and what it wishes. It may come twice, late or out of order. */
export type LeaseReport = {
  readonly node: string
  readonly boot: string
  /** Earlier boots of the node that go on beside this one, and keep what they hold. */
  readonly beside?: readonly string[] | undefined
  readonly counts: readonly Carried[]
  readonly wishes: readonly Wish[]
}

/**
 * What one boot of one node was allowed to carry for one subject, and what became of it. All numbers are cumulative but
 * `aside` and `claimable`, so that a message that comes twice, late or out of order finds nothing left to do.
 */
export type Line = {
  readonly node: string
  readonly boot: string
  readonly subject: string
  /** The last of the node's numbered wishes that was dealt with; an older one is stale. */
  readonly turn: number
  /** All that was ever set aside for it. */
  readonly granted: bigint
  /** What the node gave back: it promised not to carry it. */
  readonly returned: bigint
  /** What came back because the node was silent. It may have carried it all the same. */
  readonly lapsed: bigint
  /** What was carried and taken from what was set aside. */
  readonly settled: bigint
  /** What was carried on a lapsed lease and claimed afterwards. */
  readonly late: bigint
  /** How much more may be claimed like that. */
  readonly claimable: bigint
  /** What the node claimed beyond anything it was allowed. Never billed. */
  readonly quarantined: bigint
  /** The largest count that the node has reported, both directions together. */
  readonly counted: bigint
  /** What is set aside now: `granted - returned - lapsed - settled`. */
  readonly aside: bigint
}

export const newLine = (node: string, boot: string, subject: string): Line => ({
  node,
  boot,
  subject,
  turn: 0,
  granted: 0n,
  returned: 0n,
  lapsed: 0n,
  settled: 0n,
  late: 0n,
  claimable: 0n,
  quarantined: 0n,
  counted: 0n,
  aside: 0n,
})

/** Carried and counted, but not yet taken from what is set aside: that is done once for many reports. */
const unsettled = (line: Line): bigint => line.counted - line.settled - line.late - line.quarantined

/** What the node may still carry. */
export const remaining = (line: Line): bigint => line.aside - unsettled(line)

/** The count that the node must not pass. A repeated wish is answered with the same number. */
export const allowance = (line: Line): bigint => line.counted + remaining(line)

/** What a step asks of the subject's account. All of it is more than nothing or nothing. */
export type Effect = {
  /** Taken from what was set aside: it is used. */
  readonly settle: bigint
  /** Carried on a lapsed lease: to be paid from the balance as far as it goes, and owed beyond. */
  readonly late: bigint
  /** Set aside from the balance. */
  readonly grant: bigint
  /** Back to the balance, from what was set aside. */
  readonly giveBack: bigint
}

/**
 * One lease for a node at its pace. A large one is no more than an eighth of what is there, so that other nodes have
 * theirs.
 */
export function leaseSize({ leaseBytes, mostLeaseBytes }: LeaseTerms, pace: bigint, available: bigint): bigint {
  return most(leaseBytes, least(least(pace, mostLeaseBytes), available / 8n))
}

/** An account of fewer leases than this may be held by one node as a whole. */
const leastHeldLeases = 8n
/** One node holds at most so many of the largest leases of an account, however much the account has. */
const mostHeldLeases = 4n

/**
 * How many bytes of an account one node may hold, over all its boots: half of what the account has, at least eight
 * leases and at most four of the largest ones. An honest node holds one lease and what is on its way to the customer. A
 * hostile one that only asks leaves the rest to the other nodes.
 */
export function holdLimit(
  { leaseBytes, mostLeaseBytes }: LeaseTerms,
  { balance, aside }: { readonly balance: bigint; readonly aside: bigint },
): bigint {
  return most(leastHeldLeases * leaseBytes, least(mostHeldLeases * mostLeaseBytes, (balance + aside) / 2n))
}

/** No account needs a look at its limit of which a node holds less than this. */
export const leastHoldLimit = ({ leaseBytes }: LeaseTerms): bigint => leastHeldLeases * leaseBytes

const nothing: Effect = { settle: 0n, late: 0n, grant: 0n, giveBack: 0n }

/**
 * What the node has carried besides what was known, as far as it is believed; the rest goes to quarantine. `closed`
 * boots may spend what is set aside for them, and claim no more.
 */
export function count(
  line: Line,
  { claimed, believed }: { readonly claimed: bigint; readonly believed: bigint },
  closed: boolean,
): { line: Line; effect: Effect; quarantined: bigint } {
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

/** Takes what was carried from what was set aside. */
function settle(line: Line): { line: Line; effect: Effect } {
  const carried = unsettled(line)
  if (carried === 0n) return { line, effect: nothing }
  return {
    line: { ...line, settled: line.settled + carried, aside: line.aside - carried },
    effect: { ...nothing, settle: carried },
  }
}

/**
 * The node wishes to go on: what it may carry is filled up to one lease, as far as `available` goes. What is `moving`
 * already is not there to be carried any more, though nobody can tell yet whether it arrives: were it counted as free,
 * a few customers' connections that stand still would use up a lease for all others. What may still be claimed of a
 * lapsed lease and what it may carry now are never more than one lease together, so that is the most that can go
 * unpaid.
 */
export function grant(
  line: Line,
  turn: number,
  leaseBytes: bigint,
  available: bigint,
  moving = 0n,
): { line: Line; effect: Effect } {
  if (turn <= line.turn) return { line, effect: nothing }
  const settled = settle(line)
  const free = most(remaining(settled.line) - moving, 0n)
  const missing = most(leaseBytes - free, 0n)
  const granted = least(missing, available)
  const aside = settled.line.aside + granted
  const claimable = least(line.claimable, most(leaseBytes - aside, 0n))
  return {
    line: { ...settled.line, turn, granted: line.granted + granted, aside, claimable },
    effect: { ...settled.effect, grant: granted },
  }
}

/** The node will carry no more on what it has: the rest goes back, for good. */
export function giveBack(line: Line, turn: number): { line: Line; effect: Effect } {
  if (turn <= line.turn) return { line, effect: nothing }
  const settled = settle(line)
  const rest = settled.line.aside
  return {
    line: { ...settled.line, turn, returned: line.returned + rest, aside: 0n, claimable: 0n },
    effect: { ...settled.effect, giveBack: rest },
  }
}

/**
 * The node has been silent too long: the rest goes back, and stays claimable, up to one lease, unless a later boot has
 * taken the node's place.
 */
export function lapse(line: Line, closed: boolean, leaseBytes: bigint): { line: Line; effect: Effect } {
  const settled = settle(line)
  const rest = settled.line.aside
  const claimable = closed ? 0n : least(line.claimable + rest, most(leaseBytes, rest))
  return {
    line: { ...settled.line, lapsed: line.lapsed + rest, aside: 0n, claimable },
    effect: { ...settled.effect, giveBack: rest },
  }
}

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
export const most = (a: bigint, b: bigint): bigint => (a > b ? a : b)
