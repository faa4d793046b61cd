import type { Socket, SocketHandler } from 'bun'
import type { TlsOwner, TlsSocket } from './tls-socket.ts'

/** After the last answer, the client's bytes are discarded for this long. */
const lingerMs = 2000
/** Time for the client to read its backlog. */
const flushMs = 30_000

/** The plaintext of a TLS connection, or of one stream in it. */
type Outer = Omit<TlsSocket, 'fd' | 'handshakeBytes' | 'overhead' | 'protocol' | 'serverName'>

/** Connects a TLS socket with a plain socket, with half-close and backpressure both ways. */
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
    readonly outer: Outer,
    /** `isCut`: whether the inner socket was closed by a reset. */
    private readonly hooks: { readonly onMoved?: () => void; readonly isCut?: () => boolean } = {},
  ) {
    outer.owner = this
    outer.setNoDelay(true)
    outer.pause()
  }

  get source(): string {
    return this.outer.source
  }

  /** Withholds the client's bytes from the inner socket until release(). */
  hold(): void {
    this.isHeld = true
  }

  release(): void {
    if (!this.isHeld) return
    this.isHeld = false
    if (!this.outer.isClosed && !this.isInnerClosed) this.onInnerDrain()
  }

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

  onInnerOpen(inner: Socket<Bridge>): void {
    this.inner = inner
    if (this.outer.isClosed) inner.terminate()
    // Bytes may have arrived with the end of the handshake.
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
      // Closing with unread bytes would lose the answer.
      this.outer.resume()
      this.timers = [after(lingerMs, () => this.letGo()), after(flushMs, () => this.outer.terminate())]
      this.endOuter()
    }
  }

  breakOff(): void {
    this.forOuter = []
    if (!this.outer.isClosed) this.outer.terminate()
  }

  /** Half-closes after the backlog is written. */
  private endOuter(): void {
    if (!this.hasInnerEnded || this.forOuter.length > 0 || this.outer.isClosed) return
    if (this.isInnerClosed && this.hasOuterEnded) this.outer.end()
    else this.outer.shutdown()
  }

  private letGo(): void {
    if (!this.outer.isClosed && this.forOuter.length === 0) this.outer.end()
  }
}

/** Returns what was not taken. */
function push(to: Pick<TlsSocket, 'write'> | undefined, parts: readonly Uint8Array[]): readonly Uint8Array[] {
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

export const innerHandlers: SocketHandler<Bridge> = {
  open: (socket) => socket.data.onInnerOpen(socket),
  data: (socket, bytes) => socket.data.onInnerData(bytes),
  drain: (socket) => socket.data.onInnerDrain(),
  end: (socket) => socket.data.onInnerEnd(),
  close: (socket) => socket.data.onInnerClose(),
  error() {},
}
