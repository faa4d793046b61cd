import { type ErrorName, errorCodes, firstWindow } from './frames.ts'
import { encodeFields, type Field } from './hpack.ts'

export type StreamOwner = {
  onSocketData(bytes: Uint8Array): void
  /** There is room to write again. */
  onSocketDrain(): void
  /** The peer has half-closed. */
  onSocketEnd(): void
  onSocketClose(): void
  /** Client: the response's fields. */
  onFields?(fields: readonly Field[]): void
}

/** What a stream needs of its session. */
export type StreamSession = {
  /** Returns the bytes taken. */
  sendData(stream: Http2Stream, bytes: Uint8Array): number
  sendBlock(stream: Http2Stream, block: Uint8Array, isEnd: boolean): void
  sendEnd(stream: Http2Stream): void
  sendReset(stream: Http2Stream, code: ErrorName): void
  sendWindowUpdate(stream: Http2Stream, bytes: number): void
  forget(stream: Http2Stream): void
  /** Streams with `isWaiting` are so many more. */
  countWaiting(change: 1 | -1): void
  readonly openStreams: number
}

/** The window grows up to this while its reader keeps up, for throughput on long paths. */
const maxStreamWindow = 1024 * 1024
/** Grown windows of all streams of a connection together. */
const maxGrownWindows = 64 * 1024 * 1024

/** One stream of a session, used like a socket. */
export class Http2Stream {
  owner: StreamOwner | undefined
  isClosed = false
  hasRemoteEnded = false
  hasResponse = false
  /** The peer has not processed the request: it may be sent again on another connection (RFC 9113, 8.7). */
  wasRefused = false
  private hasLocalEnded = false
  private hasToldEnd = false
  private isPaused = false
  private held: Uint8Array[] = []
  private heldBytes = 0
  /** Bytes that the peer may still send. */
  private receiveLeft = firstWindow
  private receiveWindow = firstWindow
  /** Below zero after the peer got a window that it must first use up. */
  private unreturned = 0
  private isWaiting = false

  constructor(
    readonly id: number,
    private readonly session: StreamSession,
    /** Bytes that this side may still send; negative after a smaller SETTINGS_INITIAL_WINDOW_SIZE. */
    public sendWindow: number,
    /** Part of `receiveLeft` that the peer has not been given: it gets it when the stream is read. */
    private owed = 0,
  ) {}

  /** Returns the bytes taken; offer the rest after onSocketDrain(). */
  write(bytes: Uint8Array): number {
    return this.isClosed || this.hasLocalEnded ? 0 : this.session.sendData(this, bytes)
  }

  respond(fields: readonly Field[], isEnd: boolean): void {
    this.sendBlock(encodeFields(fields), isEnd)
  }

  sendBlock(block: Uint8Array, isEnd: boolean): void {
    if (this.isClosed || this.hasLocalEnded) return
    this.session.sendBlock(this, block, isEnd)
    if (isEnd) this.noteLocalEnd()
  }

  /** Half-closes. */
  shutdown(): void {
    if (this.isClosed || this.hasLocalEnded) return
    this.session.sendEnd(this)
    this.noteLocalEnd()
  }

  /** Closes after written bytes. The peer may stop sending (RFC 9113, 8.1). */
  end(): void {
    if (this.isClosed) return
    this.shutdown()
    if (!this.isClosed) this.reset('none')
  }

  terminate(): void {
    this.reset('cancel')
  }

  reset(code: ErrorName): void {
    if (this.isClosed) return
    this.session.sendReset(this, code)
    this.finish()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.giveOwed()
    while (this.held.length > 0 && !this.isPaused && !this.isClosed) {
      const bytes = this.held.shift()
      if (!bytes) break
      this.heldBytes -= bytes.length
      this.deliver(bytes, bytes.length)
    }
    this.tellEnd()
  }

  /** A request that waits for an earlier one. Many of them hold back the bodies of the client's next requests. */
  wait(isWaiting: boolean): void {
    if (this.isWaiting === isWaiting || this.isClosed) return
    this.isWaiting = isWaiting
    this.session.countWaiting(isWaiting ? 1 : -1)
  }

  /** A session's streams share one connection, which sets this for all. */
  setNoDelay(): void {}

  // --- for the session ---

  /** Gives the peer the window that it is owed, unless its reading is paused. */
  giveOwed(): void {
    if (this.owed === 0 || this.isPaused || this.isClosed || this.hasRemoteEnded) return
    this.session.sendWindowUpdate(this, this.owed)
    this.owed = 0
  }

  /** SETTINGS took the first window from the peer. */
  takeFirstWindow(): void {
    this.owed += firstWindow
    this.giveOwed()
  }

  /** SETTINGS gave it again. A stream that is owed nothing would gain a window: less is returned to it later. */
  returnFirstWindow(): void {
    if (this.owed > 0) this.owed -= firstWindow
    else {
      this.receiveLeft += firstWindow
      this.unreturned -= firstWindow
    }
  }

  /** False if the peer exceeds the window. */
  countReceived(bytes: number): boolean {
    this.receiveLeft -= bytes
    return this.receiveLeft >= 0
  }

  /** `counted` includes padding, which is returned at once. */
  receive(bytes: Uint8Array, counted: number): void {
    if (this.isPaused || this.heldBytes > 0) {
      if (counted > bytes.length) this.returnWindow(counted - bytes.length)
      if (bytes.length === 0) return
      this.held.push(bytes.slice())
      this.heldBytes += bytes.length
    } else this.deliver(bytes, counted)
  }

  takeResponse(fields: readonly Field[]): void {
    // An interim response (1xx) is followed by the final one.
    const status = fields.find(([name]) => name === ':status')?.[1] ?? ''
    if (status.length === 3 && status.startsWith('1')) return
    this.hasResponse = true
    this.owner?.onFields?.(fields)
  }

  noteLocalEnd(): void {
    this.hasLocalEnded = true
    this.closeWhenEnded()
  }

  noteRemoteEnd(): void {
    this.hasRemoteEnded = true
    this.tellEnd()
    this.closeWhenEnded()
  }

  wake(): void {
    if (!this.isClosed) this.owner?.onSocketDrain()
  }

  /**
   * The peer has reset the stream. After its last byte a reset without an error only says that it reads no more: held
   * bytes are still delivered.
   */
  loseRemote(code: number): void {
    this.wasRefused = code === errorCodes.refusedStream
    if (code !== errorCodes.none || !this.hasRemoteEnded) return this.finish()
    this.hasLocalEnded = true
    this.tellEnd()
    this.closeWhenEnded()
  }

  /** The connection is gone. */
  lose(): void {
    this.finish()
  }

  private deliver(bytes: Uint8Array, counted: number): void {
    if (bytes.length > 0) this.owner?.onSocketData(bytes)
    this.returnWindow(counted)
  }

  private returnWindow(bytes: number): void {
    this.unreturned += bytes
    if (this.isClosed || this.hasRemoteEnded || this.unreturned < this.receiveWindow / 2) return
    const max = Math.min(maxStreamWindow, Math.floor(maxGrownWindows / Math.max(1, this.session.openStreams)))
    const grown = Math.max(this.receiveWindow, Math.min(max, this.receiveWindow * 2))
    const update = this.unreturned + grown - this.receiveWindow
    this.receiveWindow = grown
    this.receiveLeft += update
    this.unreturned = 0
    this.session.sendWindowUpdate(this, update)
  }

  private tellEnd(): void {
    // A paused reader may still hold bytes that came before the end.
    if (!this.hasRemoteEnded || this.hasToldEnd || this.isPaused || this.heldBytes > 0 || this.isClosed) return
    this.hasToldEnd = true
    this.owner?.onSocketEnd()
    this.closeWhenEnded()
  }

  private closeWhenEnded(): void {
    if (this.hasLocalEnded && this.hasRemoteEnded && this.hasToldEnd) this.finish()
  }

  private finish(): void {
    if (this.isClosed) return
    this.wait(false)
    this.isClosed = true
    this.held = []
    this.heldBytes = 0
    this.session.forget(this)
    this.owner?.onSocketClose()
  }
}
