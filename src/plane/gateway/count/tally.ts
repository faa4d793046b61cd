import type { Side } from '../carry/portable/side.ts'
import type { Watch } from '../carry/sockets.ts'
import type { Account } from './allowance.ts'

/** How long a closed connection may take to have its last bytes acknowledged. */
const settleMs = 30_000

/** What was written to one customer's socket, and how much of it the customer's machine has acknowledged. */
export class Delivery {
  readonly tallies = new Set<Tally>()
  private final: number | undefined
  private closedAt: number | undefined
  private isCut = false
  private watch: Watch | undefined

  constructor(private readonly side: Side) {}

  /** From now on somebody pays for what arrives on this connection. */
  follow(watch: () => Watch | undefined): void {
    this.watch ??= watch()
  }

  /** Of all bytes written since the connection began. Never falls. */
  acknowledged(): number {
    if (this.final !== undefined) return this.final
    if (!this.watch) return this.side.written
    return Math.min(this.side.written, this.watch.standing().acknowledged)
  }

  /** From now on nothing more goes out, not even what the system holds. */
  cut(): void {
    this.isCut = true
  }

  /** After the socket is closed: true once it is sure what arrived. */
  settle(nowMs: number): boolean {
    if (this.final !== undefined) return true
    if (!this.watch) {
      this.final = this.side.written
      return true
    }
    if (this.closedAt === undefined) {
      this.closedAt = nowMs
      if (!this.isCut) this.watch.shut()
    }
    const { acknowledged, isOver } = this.watch.standing()
    const left = Math.max(0, this.side.written - acknowledged)
    if (left > 0 && !isOver && !this.isCut && nowMs - this.closedAt < settleMs) return false
    this.final = this.side.written - left
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
    readonly account: Account,
    private readonly side: Side,
    readonly delivery: Delivery,
    /** Where it goes, for those who want that kept. */
    private readonly host: string | undefined,
    private readonly onTaken: (bytes: number) => void,
  ) {}

  /** How many of so many bytes from the customer may pass. They are counted: he has sent them. */
  takeSent(bytes: number): number {
    const taken = this.account.take(bytes)
    this.account.count(this.host, 0, taken)
    this.onTaken(taken)
    return taken
  }

  /** How many of so many bytes for the customer may pass. They are counted when they have reached him. */
  takeReceived(bytes: number): number {
    this.from ??= this.side.written + this.side.heldBytes
    const taken = this.account.take(bytes)
    this.given += taken
    this.onTaken(taken)
    return taken
  }

  /** Counts what has reached the customer since this was last asked, and tells how much that was. */
  confirm(): number {
    if (this.given === this.confirmed) return 0
    const reached = Math.min(this.given, Math.max(0, this.delivery.acknowledged() - (this.from ?? 0)))
    const added = reached - this.confirmed
    if (added <= 0) return 0
    this.confirmed = reached
    this.account.count(this.host, added, 0)
    return added
  }

  get undelivered(): number {
    return this.given - this.confirmed
  }

  cut(): void {
    this.delivery.cut()
  }
}
