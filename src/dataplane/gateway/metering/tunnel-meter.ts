import { nowhere, type Place } from '../../../core/roster.ts'
import type { Allowance, Counted } from './allowance.ts'

/** What the system tells of a connection to a customer, in bytes since it began unless said otherwise. */
export type Transmission = {
  /** What the customer's machine has acknowledged without a gap; one more once it has acknowledged the end. */
  readonly acknowledged: number
  /** What has gone out at least once. What stands in the system's buffer has not. */
  readonly sent: number
  /** Segments that it says it has, beyond a gap (RFC 2018). */
  readonly selectedSegments: number
  /** Segments that have gone out and of which it has said nothing; one too many rather than one too few. */
  readonly unknownSegments: number
  /** The most bytes that a segment carries. */
  readonly segmentBytes: number
  /** Reset, or closed by both. What was not acknowledged by then never will be. */
  readonly isOver: boolean
}

/**
 * What the customer's machine has shown that it has, in whichever way: without a gap, or selectively beyond one. The
 * system counts selective acknowledgements in segments, and a segment may be shorter than the longest: so this is the
 * least that they can stand for, and nobody is billed for what he did not get.
 */
export function shownOf(transmission: Transmission): number {
  const { acknowledged, sent, selectedSegments, unknownSegments, segmentBytes } = transmission
  const beyond = Math.max(0, sent - acknowledged - unknownSegments * segmentBytes)
  return acknowledged + Math.min(beyond, selectedSegments * segmentBytes)
}

/**
 * The same of what was meant, where so many bytes were put around all that was written: those count as having gone out
 * first, so that nobody is billed for what he did not get.
 */
export const unwrapped = (transmission: Transmission, wrapping: number): Transmission => ({
  ...transmission,
  acknowledged: Math.max(0, transmission.acknowledged - wrapping),
  sent: Math.max(0, transmission.sent - wrapping),
})

/** Of a descriptor that is not a connection's any more. */
export const nothingShown: Transmission = {
  acknowledged: 0,
  sent: 0,
  selectedSegments: 0,
  unknownSegments: 0,
  segmentBytes: 0,
  isOver: true,
}

/**
 * A second descriptor of a socket, kept after the first is closed, to learn how much of what was written has arrived.
 */
export type Watch = {
  /** Also after a reset, as long as this is open. */
  standing(): Transmission
  /** Nothing more is written or read; what was written still goes out. */
  shut(): void
  /** Lets go of the socket; with `reset`, what has not gone out never does. */
  close(reset: boolean): void
}

/** A customer's end of a connection, as far as counting has to know it. Each way of carrying has its own. */
export type CustomerEnd = {
  /** Bytes that the system has taken, since the beginning. */
  readonly written: number
  /** Bytes that it could not take yet, and that go out before any others. */
  readonly heldBytes: number
  /** What was written to it, once somebody counts that; it is told when the end is closed. */
  delivery: Delivery | undefined
}

/** How long a closed connection may take to have its last bytes acknowledged. */
const settleMs = 30_000

/** What was written to one customer's socket, and how much of it the customer's machine has shown that it has. */
export class Delivery {
  /** Mostly one, so it is a list. */
  tallies: readonly Tally[] = []
  private final: { readonly shown: number; readonly sent: number } | undefined
  private closedAt: number | undefined
  private isCut = false
  private watch: Watch | undefined
  /** The most that a segment has carried: where the way has grown narrower, some that were sent are longer than now. */
  private mostSegmentBytes = 0

  constructor(
    private readonly end: CustomerEnd,
    private readonly onClosed: (delivery: Delivery) => void,
  ) {}

  onEndClosed(): void {
    this.onClosed(this)
  }

  /** From now on somebody pays for what arrives on this connection. */
  follow(watch: () => Watch | undefined): void {
    this.watch ??= watch()
  }

  /** Of all bytes written since the connection began, what he has. */
  shown(): number {
    if (this.final) return this.final.shown
    return this.watch ? Math.min(this.end.written, shownOf(this.look(this.watch))) : this.end.written
  }

  private look(watch: Watch): Transmission {
    const transmission = watch.standing()
    this.mostSegmentBytes = Math.max(this.mostSegmentBytes, transmission.segmentBytes)
    return { ...transmission, segmentBytes: this.mostSegmentBytes }
  }

  /** After the socket is closed and settled: what has gone out to him, whether it was shown to have arrived or not. */
  get sent(): number {
    return this.final?.sent ?? 0
  }

  /** From now on nothing more goes out, not even what the system holds. */
  cut(): void {
    this.isCut = true
  }

  /** After the socket is closed: true once it is sure what was shown to have arrived. */
  settle(nowMs: number): boolean {
    if (this.final) return true
    const { written } = this.end
    if (!this.watch) {
      this.final = { shown: written, sent: written }
      return true
    }
    const isFirst = this.closedAt === undefined
    this.closedAt ??= nowMs
    const transmission = this.look(this.watch)
    const isWhole = transmission.acknowledged >= written
    if (!isWhole && !transmission.isOver && !this.isCut && nowMs - this.closedAt < settleMs) {
      if (isFirst) this.watch.shut()
      return false
    }
    const shown = Math.min(written, shownOf(transmission))
    this.final = { shown, sent: Math.max(shown, Math.min(written, transmission.sent)) }
    this.watch.close(!isWhole)
    return true
  }
}

/** The bytes of one conversation: a tunnel, or a request and its answer. */
export class Tally {
  isOver = false
  /** Nothing more is counted. */
  isClosed = false
  /** Among those of which something is on its way to the customer. */
  placeAmongMoving: Place = nowhere
  /** Taken for the customer, whether it has reached him or not. */
  private given = 0
  private confirmed = 0
  /** Where in all that was written to the customer this conversation begins: with its first byte for him. */
  private from: number | undefined

  constructor(
    readonly allowance: Allowance,
    private readonly end: CustomerEnd,
    readonly delivery: Delivery,
    /** Where it goes, for those who want that kept. */
    private readonly host: string | undefined,
    /** The customer behind it, by a name that tells nothing of him. */
    readonly owner: string,
    private readonly onTaken: (tally: Tally, bytes: number) => void,
    /** What went through the same exit, whoever it was for. */
    private readonly through?: Counted,
  ) {}

  /** How many of so many bytes from the customer may pass. They are counted: he has sent them. */
  takeSent(bytes: number): number {
    const taken = this.allowance.take(bytes)
    this.allowance.count(this.host, 0, taken)
    if (this.through) this.through.sent += taken
    this.onTaken(this, taken)
    return taken
  }

  /** How many of so many bytes for the customer may pass. They are counted when they have reached him. */
  takeReceived(bytes: number): number {
    this.from ??= this.end.written + this.end.heldBytes
    const taken = this.allowance.take(bytes)
    this.given += taken
    this.onTaken(this, taken)
    return taken
  }

  /** Counts what has reached the customer since this was last asked, and tells how much that was. */
  confirm(): number {
    return this.given === this.confirmed ? 0 : this.countUpTo(this.delivery.shown())
  }

  /** Once it is settled: what has gone out to the customer and was never shown to have arrived. */
  get lost(): number {
    return Math.max(0, this.reach(this.delivery.sent) - this.confirmed)
  }

  /** Counts so many more, arrived or not. */
  countLost(bytes: number): number {
    return this.countUpTo((this.from ?? 0) + this.confirmed + bytes)
  }

  private countUpTo(position: number): number {
    const added = this.reach(position) - this.confirmed
    if (added <= 0) return 0
    this.confirmed += added
    this.allowance.count(this.host, added, 0)
    if (this.through) this.through.received += added
    return added
  }

  /** How many bytes of this conversation lie before a place in all that was written. */
  private reach(position: number): number {
    return Math.min(this.given, Math.max(0, position - (this.from ?? 0)))
  }

  get undelivered(): number {
    return this.given - this.confirmed
  }

  cut(): void {
    this.delivery.cut()
  }
}
