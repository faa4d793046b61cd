import type { Allowance } from './allowance.ts'

/** `isOver`: reset, or closed by both. What was not acknowledged by then never will be. */
export type WatchStanding = { readonly acknowledged: number; readonly isOver: boolean }

/**
 * A second descriptor of a socket, kept after the first is closed, to learn how much of what was written has arrived.
 */
export type Watch = {
  /**
   * Of all that was written since the connection began, what the peer's machine has acknowledged; one more once it has
   * acknowledged the end.
   */
  standing(): WatchStanding
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
  /** Called once, when it is closed. */
  onClosed: (() => void) | undefined
}

/** How long a closed connection may take to have its last bytes acknowledged. */
const settleMs = 30_000

/** What was written to one customer's socket, and how much of it the customer's machine has acknowledged. */
export class Delivery {
  /** Mostly one, so it is a list. */
  tallies: readonly Tally[] = []
  private final: number | undefined
  private closedAt: number | undefined
  private isCut = false
  private watch: Watch | undefined

  constructor(private readonly end: CustomerEnd) {}

  /** From now on somebody pays for what arrives on this connection. */
  follow(watch: () => Watch | undefined): void {
    this.watch ??= watch()
  }

  /** Of all bytes written since the connection began. Never falls. */
  acknowledged(): number {
    if (this.final !== undefined) return this.final
    if (!this.watch) return this.end.written
    return Math.min(this.end.written, this.watch.standing().acknowledged)
  }

  /** From now on nothing more goes out, not even what the system holds. */
  cut(): void {
    this.isCut = true
  }

  /** After the socket is closed: true once it is sure what arrived. */
  settle(nowMs: number): boolean {
    if (this.final !== undefined) return true
    if (!this.watch) {
      this.final = this.end.written
      return true
    }
    if (this.closedAt === undefined) {
      this.closedAt = nowMs
      if (!this.isCut) this.watch.shut()
    }
    const { acknowledged, isOver } = this.watch.standing()
    const left = Math.max(0, this.end.written - acknowledged)
    if (left > 0 && !isOver && !this.isCut && nowMs - this.closedAt < settleMs) return false
    this.final = this.end.written - left
    this.watch.close(left > 0)
    return true
  }
}

/** The bytes of one conversation: a tunnel, or a request and its answer. */
export class Tally {
  isOver = false
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
    private readonly onTaken: (tally: Tally, bytes: number) => void,
  ) {}

  /** How many of so many bytes from the customer may pass. They are counted: he has sent them. */
  takeSent(bytes: number): number {
    const taken = this.allowance.take(bytes)
    this.allowance.count(this.host, 0, taken)
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
    if (this.given === this.confirmed) return 0
    const reached = Math.min(this.given, Math.max(0, this.delivery.acknowledged() - (this.from ?? 0)))
    const added = reached - this.confirmed
    if (added <= 0) return 0
    this.confirmed = reached
    this.allowance.count(this.host, added, 0)
    return added
  }

  get undelivered(): number {
    return this.given - this.confirmed
  }

  cut(): void {
    this.delivery.cut()
  }
}
