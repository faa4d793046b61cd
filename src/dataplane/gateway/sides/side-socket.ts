import type { DeliveryWatch } from '../metering/tunnel-meter.ts'

/** The socket operations that a side needs; Bun's sockets have them. */
export type SideSocket = {
  /** Returns the bytes taken; negative if broken. */
  write(bytes: Uint8Array): number
  shutdown(): void
  /** Closes; bytes taken by the kernel still go out. */
  end(): unknown
  /** Closes with a reset. */
  terminate(): void
  pause(): void
  resume(): void
  setNoDelay(yes: boolean): unknown
  readonly localPort: number
  readonly fd?: number
  /** Undefined over TLS. */
  readonly localAddress?: string | undefined
  /** It has taken bytes that wait for the kernel: a drain follows. */
  readonly isHolding?: boolean
  /** A stream: the descriptor is that of its connection. */
  readonly isShared?: boolean
  /** The peer has half-closed, and the bytes that are being delivered are its last. */
  readonly isEnding?: boolean
  /** The next bytes are the last: the end follows at once. */
  announceEnd?(): void
  /** Replaces the default delivery tracking. */
  follow?(): DeliveryWatch | undefined
}
