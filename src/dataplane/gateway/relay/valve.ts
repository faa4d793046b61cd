import type { Side } from './side.ts'
import type { Sockets } from './sockets.ts'

/** A peer whose machine has acknowledged this much does read. */
const provenBytes = 1024 * 1024

/**
 * Keeps what is read from one side small until the other has shown that it reads: a peer that never does costs at most
 * one such read. Then the system may let more come at once, which is what makes long ways fast.
 */
export class Valve {
  private nextCheckBytes: number

  constructor(
    private readonly sockets: Sockets,
    private readonly from: Side,
    private readonly to: Side,
  ) {
    this.nextCheckBytes = to.written + provenBytes
    sockets.narrow(from.descriptor)
  }

  /** To be called after each write. */
  passed(): void {
    const { written, descriptor } = this.to
    if (written < this.nextCheckBytes) return
    const isProven = (this.sockets.acknowledged(descriptor) ?? 0) >= provenBytes
    this.nextCheckBytes = isProven ? Number.POSITIVE_INFINITY : written + provenBytes
    if (isProven) this.sockets.widen(this.from.descriptor)
  }
}
