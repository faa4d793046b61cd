import type { IsDeliveredHere } from '../dial/upstream.ts'
import type { DeliveryWatch } from '../metering/tunnel-meter.ts'
import type { ConnectTarget } from '../ways-in/authority.ts'

/** Socket operations of the kernel that Bun lacks. */
export type Sockets = {
  /**
   * Starts to connect to a literal address, optionally from a local address; returns a descriptor or negative errno.
   * Without it, attempts cannot be cancelled.
   */
  readonly connect?: (there: ConnectTarget, from: string | undefined) => number
  /** Opens a route lookup; Linux only. */
  readonly openRoutes?: () => IsDeliveredHere
  /** Undefined if the platform cannot track delivery: written bytes count as delivered. */
  watch(descriptor: number): DeliveryWatch | undefined
  /** Acknowledged bytes; undefined if unknown. */
  acknowledged(descriptor: number): number | undefined
  /** Sent bytes; missing if the platform does not show them. */
  readonly sent?: (descriptor: number) => number
  /** Limits the receive buffer to 128 KiB, so that it and one read hold at most 256 KiB. */
  narrow(descriptor: number): void
  /** Lets the kernel size the receive buffer. */
  widen(descriptor: number): void
}
