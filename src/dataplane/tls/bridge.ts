import type { Socket, SocketHandler } from 'bun'
import type { TlsOwner, TlsSocket } from './tls-socket.ts'

/** How long a client that was told the last thing may go on talking, which is thrown away. */
const lingerMs = 2000
/** How long it may take to read what is held for it. */
const flushMs = 30_000

type BridgeHooks = {
  /** Something was written to the client, or the client is gone. */
  readonly onMoved?: () => void
  /** Whether the inner end was closed to break the connection off, not because all was said. */
  readonly isCut?: () => boolean
}

/**
 * Joins a client's TLS connection with a plain one inside this machine: what comes on either goes out on the other,
 * ends of streams too, and nothing is read from one while the other does not take it.
 */
export class Bridge implements TlsOwner {
  private inner: Socket<Bridge> | undefined
  private isInnerClosed = false
  private hasOuterEnded = false
  private hasInnerEnded = false
  private isHeld = false
  private forInner: readonly Uint8Array[] = []
  private forOuter: readonly Uint8Array[] = []
  private timers: readonly ReturnType<typeof setTimeout>[] = []

  constructor(
    readonly outer: TlsSocket,
    private readonly hooks: BridgeHooks = {},
  ) {
    outer.owner = this
    outer.setNoDelay(true)
    outer.pause()
  }

  /** The address that the client comes from. */
  get source(): string {
    return this.outer.source
  }

  /** Keeps from the plain one what the client sends next, its end too, until `release`. */
  hold(): void {
    this.isHeld = true
  }

  release(): void {
    if (!this.isHeld) return
    this.isHeld = false
    if (!this.outer.isClosed && !this.isInnerClosed) this.onInnerDrain()
  }

  // --- the client ---

  onSocketData(bytes: Uint8Array): void {
    if (this.isInnerClosed) return
    this.forInner = push(this.isHeld ? undefined : this.inner, [...this.forInner, bytes])
    if (this.forInner.length > 0) this.outer.pause()
  }

  onSocketDrain(): void {
    this.forOuter = push(this.outer, this.forOuter)
    this.hooks.onMoved?.()
    if (this.forOuter.length > 0) return
    this.inner?.resume()
    this.endOuter()
  }

  onSocketEnd(): void {
    this.hasOuterEnded = true
    if (this.isInnerClosed) this.outer.end()
    else if (this.forInner.length === 0 && !this.isHeld) this.inner?.shutdown()
  }

  onSocketClose(): void {
    for (const timer of this.timers) clearTimeout(timer)
    this.forOuter = []
    this.hooks.onMoved?.()
    if (!this.isInnerClosed) this.inner?.terminate()
  }

  // --- the plain one ---

  onInnerOpen(inner: Socket<Bridge>): void {
    this.inner = inner
    if (this.outer.isClosed) inner.terminate()
    // What came with the end of the handshake waits already.
    else this.onInnerDrain()
  }

  onInnerData(bytes: Uint8Array): void {
    this.forOuter = push(this.outer, [...this.forOuter, bytes])
    this.hooks.onMoved?.()
    if (this.forOuter.length > 0) this.inner?.pause()
  }

  onInnerDrain(): void {
    if (this.isHeld) return
    this.forInner = push(this.inner, this.forInner)
    if (this.forInner.length > 0) return
    if (this.hasOuterEnded) this.inner?.shutdown()
    else this.outer.resume()
  }

  onInnerEnd(): void {
    this.hasInnerEnded = true
    this.endOuter()
  }

  onInnerClose(): void {
    if (this.isInnerClosed) return
    this.isInnerClosed = true
    this.hasInnerEnded = true
    if (this.outer.isClosed) return
    if (this.hooks.isCut?.()) this.outer.terminate()
    else {
      // A close on unread bytes would destroy the answer.
      this.outer.resume()
      this.timers = [after(lingerMs, () => this.letGo()), after(flushMs, () => this.outer.terminate())]
      this.endOuter()
    }
  }

  /** It could not be reached, or has to go at once. */
  breakOff(): void {
    this.forOuter = []
    if (!this.outer.isClosed) this.outer.terminate()
  }

  /** Tells the client that nothing more comes, once all was written. */
  private endOuter(): void {
    if (!this.hasInnerEnded || this.forOuter.length > 0 || this.outer.isClosed) return
    if (this.isInnerClosed && this.hasOuterEnded) this.outer.end()
    else this.outer.shutdown()
  }

  private letGo(): void {
    if (!this.outer.isClosed && this.forOuter.length === 0) this.outer.end()
  }
}

/** Writes as much as is taken, and returns the rest. */
function push(
  to: { write(bytes: Uint8Array): number } | undefined,
  parts: readonly Uint8Array[],
): readonly Uint8Array[] {
  for (const [at, part] of parts.entries()) {
    const gone = Math.max(0, to?.write(part) ?? 0)
    if (gone < part.length) return [part.subarray(gone), ...parts.slice(at + 1)]
  }
  return []
}

function after(ms: number, act: () => void): ReturnType<typeof setTimeout> {
  const timer = setTimeout(act, ms)
  timer.unref()
  return timer
}

/** For the plain socket, whose data the bridge is. */
export const innerHandlers: SocketHandler<Bridge> = {
  open: (socket) => socket.data.onInnerOpen(socket),
  data: (socket, bytes) => socket.data.onInnerData(bytes),
  drain: (socket) => socket.data.onInnerDrain(),
  end: (socket) => socket.data.onInnerEnd(),
  close: (socket) => socket.data.onInnerClose(),
  error() {},
}
