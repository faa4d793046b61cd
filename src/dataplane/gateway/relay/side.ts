import type { After } from '../../../core/time.ts'
import type { Conversed, Dialler } from '../dial/dial.ts'
import type { Delivery, Watch } from '../metering/tunnel-meter.ts'
import type { Sockets } from './sockets.ts'

/** Whoever looks after one end of a conversation. */
export type SideOwner = {
  /** Bun gives every read memory of its own, so that what is kept of it needs no copy. */
  onData(bytes: Uint8Array): void
  /** The peer has said all it will say; it may still listen. */
  onEnd(): void
  /** All that was held has gone out. */
  onDrain(): void
  onClose(): void
}

/** What a side needs of a socket, whatever moves its bytes. Bun's sockets have it. */
export type SideSocket = {
  /** Writes as much as the system takes, and tells how much that was; negative when it is broken. */
  write(bytes: Uint8Array): number
  /** Nothing more is written. */
  shutdown(): void
  /** Closes; what the system has taken still goes out. */
  end(): unknown
  /** Closes at once, and lets the peer know that something broke. */
  terminate(): void
  pause(): void
  resume(): void
  setNoDelay(yes: boolean): unknown
  readonly localPort: number
  /** Follows what was written in a way of its own; as the system tells of the descriptor, unless said. */
  follow?(): Watch | undefined
}

/** What all sides of one engine share. */
export type SideAround = {
  readonly after: After
  /** So much is held for one peer that does not take it. */
  readonly noteHeld: (bytes: number) => void
}

/** Shared by all that hold nothing, which are most: an idle connection is small. */
const nothing: readonly never[] = []

/** How long a peer that was told the last thing may go on talking, and how much of that is thrown away. */
const lingerMs = 2000
const mostDiscarded = 1024 * 1024
/** How long a peer may take to read what is held for it. */
const flushMs = 30_000

/**
 * One socket, with what could not be written yet. Whoever writes stops reading elsewhere while write() says false, so
 * that no more is held than one read gave.
 */
export class Side {
  /** Bytes that the system has taken, since the beginning. */
  written = 0
  heldBytes = 0
  isClosed = false
  /** True once the peer was told that nothing more comes. */
  isFinished = false
  /** What counts acknowledged bytes hears of the end, after the owner. */
  delivery: Delivery | undefined
  private socket: SideSocket | undefined
  private owner: SideOwner
  private held: readonly Uint8Array[] = nothing
  private ending: 'no' | 'finish' | 'close' | 'release' = 'no'
  private isPaused = false
  private cancels: readonly (() => void)[] = nothing

  constructor(
    owner: SideOwner,
    private readonly around: SideAround,
  ) {
    this.owner = owner
  }

  attach(socket: SideSocket): void {
    this.socket = socket
    socket.setNoDelay(true)
  }

  own(owner: SideOwner): void {
    this.owner = owner
  }

  /** The system's number for the socket. Bun's have it and do not declare it. */
  get descriptor(): number {
    return (this.socket as { readonly fd?: number } | undefined)?.fd ?? -1
  }

  /** What tells how much of all that was written has arrived. */
  watch(sockets: Sockets): Watch | undefined {
    return this.socket?.follow ? this.socket.follow() : sockets.watch(this.descriptor)
  }

  /** Whatever moves its bytes. */
  get transport(): SideSocket | undefined {
    return this.socket
  }

  /** The port of ours that it came to. */
  get arrivedAt(): number {
    return this.socket?.localPort ?? 0
  }

  /** Writes, and keeps what does not fit. False while something is kept. */
  write(bytes: Uint8Array): boolean {
    if (this.isClosed || this.ending !== 'no' || !this.socket) return true
    const gone = this.heldBytes > 0 ? 0 : this.push(bytes)
    if (gone === bytes.length) return true
    this.held = [...this.held, bytes.subarray(gone)]
    this.heldBytes += bytes.length - gone
    this.around.noteHeld(this.heldBytes)
    return false
  }

  /** Tells the peer that nothing more comes, once all is written. It may still talk. */
  finish(): void {
    if (this.ending === 'no') this.ending = 'finish'
    this.endWhenEmpty()
  }

  /** Closes once all is written: the peer has said all it will say, or nobody cares any more. */
  release(): void {
    if (this.ending !== 'close') this.ending = 'release'
    this.endWhenEmpty()
  }

  /**
   * Closes once all is written. What the peer still sends is thrown away for a moment, for a close on unread bytes
   * would destroy the answer.
   */
  close(): void {
    if (this.isClosed || this.ending === 'close') return
    this.ending = 'close'
    this.own(new Discarding(this))
    this.resume()
    this.cancels = [this.around.after(lingerMs, () => this.letGo()), this.around.after(flushMs, () => this.abort())]
    this.endWhenEmpty()
  }

  /** Closes unless something is still to be written. What the system has taken still goes out. */
  letGo(): void {
    if (!this.isClosed && this.heldBytes === 0) this.socket?.end()
  }

  /** Ends at once; what is held is dropped. */
  abort(): void {
    this.held = nothing
    this.heldBytes = 0
    if (!this.isClosed) this.socket?.terminate()
  }

  pause(): void {
    if (this.isPaused || this.isClosed) return
    this.isPaused = true
    this.socket?.pause()
  }

  resume(): void {
    if (!this.isPaused || this.isClosed) return
    this.isPaused = false
    this.socket?.resume()
  }

  private push(bytes: Uint8Array): number {
    const gone = Math.max(0, this.socket?.write(bytes) ?? 0)
    this.written += gone
    return gone
  }

  private endWhenEmpty(): void {
    if (this.isClosed || this.heldBytes > 0 || this.ending === 'no') return
    const wasFinished = this.isFinished
    this.isFinished = true
    // A close says the same as the end of the stream.
    if (this.ending === 'release') this.socket?.end()
    else if (!wasFinished) this.socket?.shutdown()
  }

  /** The system takes bytes again. */
  onSocketDrain(): void {
    if (this.isClosed) return
    while (this.held.length > 0) {
      const [first = empty] = this.held
      const gone = this.push(first)
      this.heldBytes -= gone
      if (gone < first.length) {
        this.held = [first.subarray(gone), ...this.held.slice(1)]
        return
      }
      this.held = this.held.slice(1)
    }
    this.endWhenEmpty()
    this.owner.onDrain()
  }

  /** The socket is closed, whoever closed it. */
  onSocketClose(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.held = nothing
    this.heldBytes = 0
    for (const cancel of this.cancels) cancel()
    this.owner.onClose()
    this.delivery?.onEndClosed()
  }

  onSocketData(bytes: Uint8Array): void {
    this.owner.onData(bytes)
  }

  onSocketEnd(): void {
    this.owner.onEnd()
  }

  /** What is held, for whoever writes to this socket from here on. */
  takeHeld(): Uint8Array | undefined {
    const held = this.heldBytes > 0 ? Buffer.concat(this.held) : undefined
    this.held = nothing
    this.heldBytes = 0
    return held
  }
}

const empty = new Uint8Array(0)

/** Waits for whoever comes next. */
export const patient: SideOwner = { onData() {}, onEnd() {}, onDrain() {}, onClose() {} }

/** Listens to nobody: reads on until the peer has gone, or has sent too much. */
class Discarding implements SideOwner {
  private discarded = 0

  constructor(private readonly side: Side) {}

  onData(bytes: Uint8Array): void {
    this.discarded += bytes.length
    if (this.discarded > mostDiscarded) this.side.abort()
  }

  onEnd(): void {
    this.side.letGo()
  }

  onDrain(): void {}
  onClose(): void {}
}

/** Holds the handshake of a proxy elsewhere, over whatever side it was reached by. */
export const createConverse =
  (after: After): Dialler<Side>['converse'] =>
  (side, talk, mostMs) =>
    new Promise((resolve) => {
      const give = (conversed: Conversed): void => {
        cancel()
        // The first outcome counts: closing below is heard by nobody.
        side.own(patient)
        side.pause()
        if ('refusal' in conversed) side.abort()
        resolve(conversed)
      }
      const cancel = after(mostMs, () => give(silent))
      side.own({
        ...patient,
        onData(bytes) {
          for (const step of talk.feed(bytes)) {
            if (step.type === 'write') side.write(step.bytes)
            else give(step.type === 'open' ? { early: step.rest } : step)
          }
        },
        onEnd: () => give(hungUp),
        onClose: () => give(hungUp),
      })
      side.write(talk.begin())
      if (side.isClosed) give(hungUp)
      else side.resume()
    })

/** A proxy may say either of a destination that it cannot reach: it is looked at, and not blamed. */
const silent: Conversed = { refusal: 'connect_timeout', isDoubtful: true }
const hungUp: Conversed = { refusal: 'exit_failed', isDoubtful: true }
