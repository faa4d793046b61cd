import type { ByteAllowance, Counted } from './allowance.ts'

/** Learns whether the kernel has taken a datagram with so many bytes of payload. */
export type DatagramReceipt = { settle(bytes: number, isTaken: boolean): void }

/** Bills the payload of an association's datagrams: reserved whole, counted once the kernel has taken the datagram. */
export class DatagramMeter {
  isOver = false

  constructor(
    readonly allowance: ByteAllowance,
    private readonly onCounted: (allowance: ByteAllowance, bytes: number) => void,
    /** Totals of the exit. */
    private readonly through?: Counted,
  ) {}

  /** False if the datagram must be dropped: its bytes exceed the lease, or the speed limit is reached. */
  reserve(bytes: number): boolean {
    return this.allowance.takeWhole(bytes)
  }

  /** The receipt of datagrams to a destination, counted under its host if that is recorded. */
  sentTo(host: string | undefined): DatagramReceipt {
    return { settle: (bytes, isTaken) => this.settle(host, isTaken, bytes, 0, bytes) }
  }

  /** The receipt of a destination's datagrams to the client. */
  receivedFrom(host: string | undefined): DatagramReceipt {
    return { settle: (bytes, isTaken) => this.settle(host, isTaken, bytes, bytes, 0) }
  }

  private settle(host: string | undefined, isTaken: boolean, bytes: number, received: number, sent: number): void {
    if (!isTaken) {
      this.allowance.putBack(bytes)
      return
    }
    this.allowance.count(host, received, sent)
    if (this.through) {
      this.through.received += received
      this.through.sent += sent
    }
    this.onCounted(this.allowance, bytes)
  }
}
