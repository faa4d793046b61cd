import type { After } from '../../../core/time.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { SpeedLimit } from './speed-limit.ts'

/** Request more when less than this share of the last grant is left. */
const askAtShare = 0.5
/** Pause before asking again after the shop had no more. */
const askAgainMs = 1000
/** Shorter for a new tunnel: the customer may have just bought traffic. */
const askAfreshMs = 200
/** A lease should last this long at the current rate. */
const paceMs = 200
const maxHosts = 500
const otherHosts = 'other'

export type Counted = { received: number; sent: number }

export type Subject =
  | { readonly kind: 'proxy'; readonly id: number }
  | { readonly kind: 'subuser'; readonly id: string; readonly pool: string }
  /** A VPN device in a protocol. The shop ends the device when its traffic limit, over all nodes, is used up. */
  | { readonly kind: 'device'; readonly id: string; readonly protocol: GatewayProtocol }
  /** The same after its end: slow, and not counted. */
  | { readonly kind: 'grace'; readonly id: string }
  /** Another gateway, which counts for its own customers. */
  | { readonly kind: 'hop'; readonly id: string }

/** Bytes that a credential may use and has used. For a sub-user, `reserved` stays within `upto`. */
export class ByteAllowance {
  readonly counted: Counted = { received: 0, sent: 0 }
  /** Open tunnels. */
  users = 0
  private reserved = 0
  private upto: number
  private grant = 0
  answers = 0
  isAsking = false
  /** The last answer granted nothing new. It means "no more" only if nothing was left when the request was sent. */
  private isRefused = false
  private hasRequestedEmpty = false
  private isDry = false
  private askAgainAt = 0
  private lastRequestAt = Number.NEGATIVE_INFINITY
  private takenThen = 0
  /** Bytes per 200 ms at the current rate. */
  pace = 0
  private readonly waiting = new Set<() => void>()
  private readonly hosts = new Map<string, Counted>()
  private readonly changedHosts = new Set<string>()

  constructor(
    readonly subject: Subject,
    private readonly ask: () => void,
    private readonly clock: () => number,
    /** Shared by the credential's allowances. */
    private readonly speed?: SpeedLimit,
  ) {
    this.upto = subject.kind === 'subuser' ? 0 : Number.POSITIVE_INFINITY
  }

  /** Takes up to `bytes`; returns how many may pass. */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.left)
    this.reserve(taken, taken < bytes)
    return taken
  }

  /**
   * Takes all of `bytes` or nothing. Zero bytes need a byte that is left, which they do not take. While the speed limit
   * has any token left, the bytes pass whole; nothing passes then until their excess is repaid.
   */
  takeWhole(bytes: number): boolean {
    const isLeased = this.upto - this.reserved >= Math.max(1, bytes)
    const isTaken = isLeased && (this.speed?.left ?? 1) > 0
    if (isTaken) this.reserve(bytes, false)
    else if (!isLeased) this.askForMore()
    return isTaken
  }

  private reserve(bytes: number, isShort: boolean): void {
    this.reserved += bytes
    this.speed?.spend(bytes)
    const leased = this.upto - this.reserved
    if (leased < this.grant * askAtShare || (isShort && leased === 0)) this.askForMore()
  }

  /** Returns bytes that did not reach the customer. */
  putBack(bytes: number): void {
    this.reserved -= bytes
    if (bytes > 0) this.wake()
  }

  /** Called when the request is sent. Returns bytes taken and not yet counted. */
  noteRequest(): number {
    this.hasRequestedEmpty &&= !this.hasSome
    return this.reserved - this.counted.received - this.counted.sent
  }

  /** Bytes that may pass now, by lease and speed limit. */
  get left(): number {
    const leased = this.upto - this.reserved
    return this.speed ? Math.min(leased, this.speed.left) : leased
  }

  get hasSome(): boolean {
    return this.upto > this.reserved
  }

  /** The shop has no more to give. */
  get isUsedUp(): boolean {
    return this.isDry && !this.hasSome
  }

  allow(upto: number): void {
    this.isAsking = false
    this.answers += 1
    this.isRefused = upto <= this.upto
    this.isDry = this.isRefused && this.hasRequestedEmpty
    this.askAgainAt = this.clock() + askAgainMs
    if (upto > this.upto) {
      this.grant = upto - this.reserved
      this.upto = upto
    }
    this.wake()
    if (this.isRefused && this.waiting.size > 0) this.askForMore()
  }

  /** Gives up unused bytes and keeps a share of them. */
  surrender(share: number): void {
    const kept = Math.floor(Math.max(0, this.upto - this.reserved) * share)
    this.upto = this.reserved + kept
    this.grant = kept
  }

  /** `answers`: those that it is based on. */
  get lease(): { readonly upto: number; readonly left: number; readonly answers: number } {
    return { upto: this.upto, left: Math.max(0, this.upto - this.reserved), answers: this.answers }
  }

  /** The customer may have bought more since the last answer. */
  expectMore(): void {
    this.isRefused = false
    this.isDry = false
    this.askAgainAt = 0
  }

  get askAfreshInMs(): number {
    return this.isRefused ? Math.max(0, this.askAgainAt - askAgainMs + askAfreshMs - this.clock()) : 0
  }

  /** Requests a lease whatever the last answer was. */
  askAfresh(): void {
    if (this.subject.kind !== 'subuser' || this.isAsking) return
    this.isAsking = true
    this.hasRequestedEmpty = true
    this.notePace()
    this.ask()
  }

  private notePace(): void {
    const nowMs = this.clock()
    const passedMs = Math.max(1, nowMs - this.lastRequestAt)
    this.pace = Math.max(0, Math.round(((this.reserved - this.takenThen) / passedMs) * paceMs))
    this.lastRequestAt = nowMs
    this.takenThen = this.reserved
  }

  askForMore(): void {
    const hasRunOut = !this.isDry && !this.hasSome
    if (!this.isRefused || hasRunOut || this.clock() >= this.askAgainAt) this.askAfresh()
  }

  /** Calls `wake` on each change until cancelled. */
  onChange(wake: () => void): () => void {
    this.waiting.add(wake)
    this.wakeInTime()
    return () => void this.waiting.delete(wake)
  }

  /** Sets the speed limit's timer for leased waiters, also if `left` has become positive since. */
  private wakeInTime(): void {
    if (this.waiting.size > 0 && this.hasSome) this.speed?.whenMore(this.onMore)
  }

  private readonly onMore = (): void => this.wake()

  /** Counts bytes, also per host if `host` is given. */
  count(host: string | undefined, received: number, sent: number): void {
    this.counted.received += received
    this.counted.sent += sent
    if (host === undefined) return
    const name = this.hosts.has(host) || this.hosts.size < maxHosts ? host : otherHosts
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

const maxWaitMs = 3000

type NoBytes = 'traffic_exhausted' | 'shop_unreachable'

/**
 * Resolves to undefined once bytes are available. "Exhausted" counts only from an answer to a request made after the
 * call, so that a purchase made a moment ago works.
 */
export function waitForBytes(allowance: ByteAllowance, after: After): Promise<NoBytes | undefined> | undefined {
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
    const cancelWaiting = after(maxWaitMs, () => done(allowance.isUsedUp ? 'traffic_exhausted' : 'shop_unreachable'))
    const forget = allowance.onChange(look)
    look()
  })
}
