import type { After } from '../../../../core/time.ts'
import type { LeaseAgent } from '../../../agent/meter.ts'

/** A reactor gets half of what is left of the lease, and at least this. */
const minSliceBytes = 1024 * 1024
/** Ask the shop for more when less than this share of the last lease is undivided. */
const askAtShare = 0.5
/** Minimum interval between two rounds that reclaim unused bytes of a lease. */
const reclaimMs = 50
/** The same while the shop does not answer. */
const reclaimAgainMs = 250

/** A reactor's slice of a lease: the bytes that it may let pass since its start. */
type Slice = {
  upto: number
  /** Bytes of it that were unused when the reactor last wrote. */
  left: number
  /** How often its end was set. */
  answers: number
  /** It has asked for more and was not answered. */
  isWanted: boolean
  /** It was asked to give up unused bytes and has not answered. */
  isReclaiming: boolean
  /** It has given back what it does not use. */
  isReturned: boolean
}

/** What remains of a reactor's slice after it gave bytes up. */
type Reduced = {
  readonly id: string
  readonly pool: string
  readonly upto: number
  readonly left: number
  readonly answers: number
}

type Lease = {
  readonly id: string
  readonly pool: string
  /** What the shop allows since the process started. */
  upto: number
  /** Counted by reactors that have died. */
  before: number
  lastLease: number
  isAsking: boolean
  /** A reactor has asked since: a refusal is not the answer to it. */
  mustAskAgain: boolean
  /** The shop's last answer had nothing new. */
  isRefused: boolean
  reclaimedAt: number
  isPlanned: boolean
  /** By thread. */
  readonly slices: (Slice | undefined)[]
}

const leaseKey = (id: string, pool: string): string => `${id} ${pool}`

/**
 * Divides the shop's byte leases among reactors. The sum of all slices, with what dead reactors had counted, never
 * exceeds the lease. A reactor that finds nothing left gets what the others do not use.
 */
export class LeaseShares {
  private readonly leases = new Map<string, Lease>()

  constructor(
    private readonly deps: {
      readonly threads: number
      readonly agent: Pick<LeaseAgent, 'wantLease' | 'giveBack'>
      readonly allow: (thread: number, id: string, pool: string, upto: number) => void
      /** Asks a reactor for unused bytes. False if it does not run. */
      readonly reclaim: (thread: number, id: string, pool: string) => boolean
      /** Monotonic. */
      readonly now: () => number
      readonly after: After
    },
  ) {}

  /** A reactor wants more. */
  want(thread: number, id: string, pool: string, left: number): void {
    const lease = this.leaseOf(id, pool)
    const slice = sliceOf(lease, thread)
    slice.left = left
    slice.isWanted = true
    slice.isReturned = false
    lease.isRefused = false
    lease.mustAskAgain = lease.isAsking
    this.divide(lease)
    if (isWanted(lease)) this.plan(lease, reclaimMs)
  }

  /** The shop's answer. */
  answered(id: string, pool: string, upto: number): void {
    const lease = this.leaseOf(id, pool)
    const isMore = upto > lease.upto
    lease.isAsking = false
    lease.isRefused = !isMore && !lease.mustAskAgain
    lease.mustAskAgain = false
    lease.upto = Math.max(lease.upto, upto)
    if (isMore) lease.lastLease = this.undivided(lease)
    this.divide(lease)
    if (lease.isRefused) this.reclaim(lease)
  }

  /** A reactor has reduced its slice because it is unused, or because it was asked to. */
  reduced(thread: number, { id, pool, upto, left, answers }: Reduced, isReturned: boolean): void {
    const lease = this.leaseOf(id, pool)
    const slice = sliceOf(lease, thread)
    slice.left = left
    // A later answer on its way replaces what the reactor has given up.
    if (answers === slice.answers) slice.upto = Math.min(slice.upto, upto)
    if (isReturned) slice.isReturned = true
    else slice.isReclaiming = false
    this.settle(lease)
    const isUnused = lease.slices.every((each) => !each || (each.isReturned && !each.isWanted))
    if (!isUnused || !isReturned) return
    lease.upto -= this.undivided(lease)
    this.deps.agent.giveBack(id, pool)
  }

  /** A reactor has died. `countedOf` is what dead reactors had counted. */
  died(thread: number, countedOf: (id: string, pool: string) => number): void {
    for (const lease of this.leases.values()) {
      lease.before = countedOf(lease.id, lease.pool)
      lease.slices[thread] = undefined
      this.settle(lease)
    }
  }

  private leaseOf(id: string, pool: string): Lease {
    const key = leaseKey(id, pool)
    const known = this.leases.get(key)
    if (known) return known
    const none = {
      upto: 0,
      before: 0,
      lastLease: 0,
      isAsking: false,
      mustAskAgain: false,
      isRefused: false,
      isPlanned: false,
    }
    const lease = { id, pool, ...none, reclaimedAt: Number.NEGATIVE_INFINITY, slices: [] }
    this.leases.set(key, lease)
    return lease
  }

  /** Bytes of the lease that no reactor has. */
  private undivided({ upto, before, slices }: Lease): number {
    return slices.reduce((left, slice) => left - (slice?.upto ?? 0), upto - before)
  }

  /** Gives slices to those that want more, and asks the shop in time. */
  private divide(lease: Lease): void {
    // Those that have nothing come first.
    const wanting = [...lease.slices.entries()].flatMap(([thread, slice]) => (slice?.isWanted ? { thread, slice } : []))
    wanting.sort((one, other) => one.slice.left - other.slice.left)
    for (const [index, { thread, slice }] of wanting.entries()) {
      const left = this.undivided(lease)
      if (left <= 0) break
      const share = Math.ceil(left / (wanting.length - index))
      const given = this.deps.threads === 1 ? left : Math.min(share, Math.max(minSliceBytes, Math.ceil(left / 2)))
      slice.upto += given
      slice.left += given
      this.answer(lease, thread, slice)
    }
    const isLow = this.deps.threads > 1 && this.undivided(lease) < lease.lastLease * askAtShare
    const isShort = isLow || isWanted(lease)
    if (lease.isAsking || lease.isRefused || !isShort) return
    lease.isAsking = true
    this.deps.agent.wantLease(lease.id, lease.pool)
  }

  private answer(lease: Lease, thread: number, slice: Slice): void {
    slice.isWanted = false
    slice.answers += 1
    this.deps.allow(thread, lease.id, lease.pool, slice.upto)
  }

  /** Reclaims unused bytes for reactors that have none, at most every 50 ms. */
  private reclaim(lease: Lease): void {
    const { deps } = this
    const wanting = lease.slices.filter((slice) => slice?.isWanted)
    if (wanting.length === 0 || lease.slices.some((slice) => slice?.isReclaiming)) return
    if (deps.threads === 1) return this.settle(lease)
    const dueInMs = lease.reclaimedAt + reclaimMs - deps.now()
    if (dueInMs > 0) return this.plan(lease, dueInMs)
    lease.reclaimedAt = deps.now()
    for (const [thread, slice] of lease.slices.entries()) {
      const isOnly = wanting.length === 1 && slice?.isWanted
      if (!slice || slice.upto === 0 || isOnly) continue
      slice.isReclaiming = deps.reclaim(thread, lease.id, lease.pool)
    }
    this.settle(lease)
  }

  private plan(lease: Lease, inMs: number): void {
    if (lease.isPlanned) return
    lease.isPlanned = true
    this.deps.after(inMs, () => {
      lease.isPlanned = false
      this.reclaim(lease)
    })
  }

  /**
   * Divides what came back. If the shop has no more, those that want more learn it, but one that has nothing waits
   * while another may have some.
   */
  private settle(lease: Lease): void {
    this.divide(lease)
    if (lease.slices.some((slice) => slice?.isReclaiming) || !isWanted(lease)) return
    if (!lease.isRefused) return this.plan(lease, reclaimAgainMs)
    const hasSome = lease.slices.some((slice) => slice && slice.left > 0)
    for (const [thread, slice] of lease.slices.entries())
      if (slice?.isWanted && (slice.left > 0 || !hasSome)) this.answer(lease, thread, slice)
    if (isWanted(lease)) this.plan(lease, reclaimMs)
  }
}

const isWanted = (lease: Lease): boolean => lease.slices.some((slice) => slice?.isWanted)

function sliceOf(lease: Lease, thread: number): Slice {
  lease.slices[thread] ??= { upto: 0, left: 0, answers: 0, isWanted: false, isReclaiming: false, isReturned: false }
  return lease.slices[thread]
}
