import type { IsDeliveredHere } from '../dial/upstream.ts'
import type { DeliveryWatch } from '../metering/tunnel-meter.ts'
import type { ConnectTarget } from '../ways-in/authority.ts'

/** Unsent bytes in the kernel for a client that has not proved that it reads. */
export const shyUnsentBytes = 16 * 1024
/**
 * The same for a client that reads and pays by the byte. Otherwise the kernel takes megabytes for a slow reader and
 * delivers them, uncounted, after this process is killed. Bytes in flight are not limited.
 */
export const maxUnsentBytes = 256 * 1024
/** A client that has acknowledged this much does read. */
export const provenBytes = 512 * 1024
/** Between two looks at what a client has acknowledged. */
export const lookAgainBytes = 64 * 1024

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
  /** Accepted connections inherit `shyUnsentBytes` from their listener. */
  readonly acceptsShy?: true
  /** Limits unsent bytes in the kernel: `undefined` lifts the limit. */
  limitUnsent(descriptor: number, bytes: number | undefined): void
}
