import type { After } from '../../../core/time.ts'
import type { SpeedLimit } from './speed-limit.ts'

/** How much of the last grant is left when the next one is asked for. */
const askAtShare = 0.5
/** Told that there is no more, an allowance is asked for again after this long, should somebody still want to pass. */
const askAgainMs = 1000
/** For a newcomer sooner: he may have bought more a moment ago. */
const askAfreshMs = 200
/** A lease that lasts this long at the present pace is not asked for too often. */
const paceMs = 200
const mostHosts = 500
/** The host under which the rest is counted once there are too many. */
const otherHosts = 'other'

export type Counted = { received: number; sent: number }

/** Whose bytes they are, as the shop knows it. */
export type Subject =
  | { readonly kind: 'proxy'; readonly id: number }
  | { readonly kind: 'subuser'; readonly id: string; readonly pool: string }
  /** Another gateway, which counts for its customers itself. */
  | { readonly kind: 'hop'; readonly id: string }

/**
 * What one credential may carry, and has carried. A dedicated proxy's bytes are counted; a sub-user's are leased as
 * well: `reserved` never passes `upto`, so however many tunnels pull at once, no more goes out than was allowed.
 */
export class Allowance {
  readonly counted: Counted = { received: 0, sent: 0 }
  /** How many connections use it. */
  users = 0
  private reserved = 0
  private upto: number
  private grant = 0
  /** How often the shop has answered. */
  answers = 0
  isAsking = false
  /**
   * The last answer had nothing new: there is no more, or there was still enough. Only who asked with nothing left
   * knows which.
   */
  private isRefused = false
  private hasAskedEmpty = false
  private isDry = false
  private askAgainAt = 0
  /** When it was last asked for, and what had been taken by then. */
  private lastAskedAt = Number.NEGATIVE_INFINITY
  private takenThen = 0
  /** How many bytes pass in a moment at the present pace; a lease of that size is worth having. */
  pace = 0
  private readonly waiting = new Set<() => void>()
  private readonly hosts = new Map<string, Counted>()
  private readonly changedHosts = new Set<string>()

  constructor(
    readonly subject: Subject,
    private readonly ask: () => void,
    private readonly clock: () => number,
    /** Shared with whatever else the credential carries. */
    private readonly speed?: SpeedLimit,
  ) {
    this.upto = subject.kind === 'subuser' ? 0 : Number.POSITIVE_INFINITY
  }

  /** Takes up to `bytes`, and tells how many may pass now. */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.left)
    this.reserved += taken
    this.speed?.spend(taken)
    const leased = this.upto - this.reserved
    if (leased < this.grant * askAtShare || (taken < bytes && leased === 0)) this.askForMore()
    return taken
  }

  /** What was taken and did not reach the customer. */
  putBack(bytes: number): void {
    this.reserved -= bytes
    if (bytes > 0) this.wake()
  }

  /** The question goes out. Tells what was taken, and is neither counted nor put back yet. */
  noteAsked(): number {
    this.hasAskedEmpty &&= !this.hasSome
    return this.reserved - this.counted.received - this.counted.sent
  }

  /** How many bytes may pass now: no more than are allowed, and no faster. */
  get left(): number {
    const leased = this.upto - this.reserved
    return this.speed ? Math.min(leased, this.speed.left) : leased
  }

  /** Whether more may pass, now or in a moment. */
  get hasSome(): boolean {
    return this.upto > this.reserved
  }

  /** The shop has been asked and had no more to give. */
  get isUsedUp(): boolean {
    return this.isDry && !this.hasSome
  }

  /** The shop's answer. */
  allow(upto: number): void {
    this.isAsking = false
    this.answers += 1
    this.isRefused = upto <= this.upto
    this.isDry = this.isRefused && this.hasAskedEmpty
    this.askAgainAt = this.clock() + askAgainMs
    if (upto > this.upto) {
      this.grant = upto - this.reserved
      this.upto = upto
    }
    this.wake()
    if (this.isRefused && this.waiting.size > 0) this.askForMore()
  }

  /** Gives up what is left: nothing more passes before the next answer. */
  surrender(): void {
    this.upto = this.reserved
    this.grant = 0
  }

  /** There may be more to have than the last answer said. */
  expectMore(): void {
    this.isRefused = false
    this.isDry = false
    this.askAgainAt = 0
  }

  /** How long a newcomer waits before the shop is asked again for him. */
  get askAfreshInMs(): number {
    return this.isRefused ? Math.max(0, this.askAgainAt - askAgainMs + askAfreshMs - this.clock()) : 0
  }

  /** Asks whatever the last answer was. */
  askAfresh(): void {
    if (this.subject.kind !== 'subuser' || this.isAsking) return
    this.isAsking = true
    this.hasAskedEmpty = true
    this.notePace()
    this.ask()
  }

  private notePace(): void {
    const nowMs = this.clock()
    const passedMs = Math.max(1, nowMs - this.lastAskedAt)
    this.pace = Math.max(0, Math.round(((this.reserved - this.takenThen) / passedMs) * paceMs))
    this.lastAskedAt = nowMs
    this.takenThen = this.reserved
  }

  askForMore(): void {
    const hasRunOut = !this.isDry && !this.hasSome
    if (!this.isRefused || hasRunOut || this.clock() >= this.askAgainAt) this.askAfresh()
  }

  /** Called once something has changed: more may pass, or it is sure that no more will. */
  onChange(wake: () => void): () => void {
    this.waiting.add(wake)
    this.wakeInTime()
    return () => void this.waiting.delete(wake)
  }

  /**
   * Sets the speed limit's timer for waiters that the lease covers. `left` does not matter: a new step may have begun
   * since the waiter found nothing, and without a timer that waiter would never be woken.
   */
  private wakeInTime(): void {
    if (this.waiting.size > 0 && this.hasSome) this.speed?.whenMore(this.onMore)
  }

  private readonly onMore = (): void => this.wake()

  /** Counts what has passed, and where to for those who want that kept. */
  count(host: string | undefined, received: number, sent: number): void {
    this.counted.received += received
    this.counted.sent += sent
    if (host === undefined) return
    const name = this.hosts.has(host) || this.hosts.size < mostHosts ? host : otherHosts
    const known = this.hosts.get(name) ?? { received: 0, sent: 0 }
    this.hosts.set(name, { received: known.received + received, sent: known.sent + sent })
    this.changedHosts.add(name)
  }

  takeChangedHosts(): (Counted & { host: string })[] {
    const taken = [...this.changedHosts].map((host) => ({ host, received: 0, sent: 0, ...this.hosts.get(host) }))
    this.changedHosts.clear()
    return taken
  }

  private wake(): void {
    const waiting = [...this.waiting]
    for (const each of waiting) each()
    this.wakeInTime()
  }
}

/** How long a connection waits to hear how many bytes it may carry. */
const leaseWaitMs = 3000

type NoBytes = 'traffic_exhausted' | 'shop_unreachable'

/**
 * Undefined once there is something to carry with. That there is nothing is believed only of an answer to a question
 * that was asked after he came, so that what was bought a moment ago works.
 */
export function waitForBytes(allowance: Allowance, after: After): Promise<NoBytes | undefined> | undefined {
  if (allowance.hasSome) return undefined
  const believed = allowance.answers + (allowance.isAsking ? 2 : 1)
  return new Promise((resolve) => {
    let cancelAsking: (() => void) | undefined
    const done = (refusal: NoBytes | undefined): void => {
      cancelWaiting()
      cancelAsking?.()
      forget()
      resolve(refusal)
    }
    const look = (): void => {
      if (allowance.hasSome) done(undefined)
      else if (allowance.isUsedUp && allowance.answers >= believed) done('traffic_exhausted')
      else if (!allowance.isAsking) {
        cancelAsking?.()
        cancelAsking = after(allowance.askAfreshInMs, () => allowance.askAfresh())
      }
    }
    const cancelWaiting = after(leaseWaitMs, () => done(allowance.isUsedUp ? 'traffic_exhausted' : 'shop_unreachable'))
    const forget = allowance.onChange(look)
    look()
  })
}
