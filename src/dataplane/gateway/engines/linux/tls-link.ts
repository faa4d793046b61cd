import type { CiphertextSink } from '../../../tls/openssl/buffers.ts'
import { TlsConnection, type TlsThread } from '../../../tls/openssl/connection.ts'
import type { TlsContext } from '../../../tls/openssl/context.ts'
import type { DeliveryMarks } from '../../../tls/openssl/delivery-marks.ts'
import type { TlsOwner, TlsSocket } from '../../../tls/tls-socket.ts'
import { type DeliveryWatch, nothingShown, shownOf, type Transmission } from '../../metering/tunnel-meter.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import { readBytes } from '../../system/kernel.ts'
import { EAGAIN, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP } from '../../system/numbers.ts'
import { DescriptorWatch } from '../../system/sockets.ts'
import { type Pollable, type Reactor, reading, type TurnTaker } from './reactor.ts'

const maxReadsPerTurn = 4
/** Time for a client to read the last bytes of a connection that was closed here. */
const flushMs = 30_000

/** Shared by all links of a reactor. */
export type LinkEvents = {
  /** The handshake is complete: the receiver sets `owner`. */
  onShaken(link: TlsLink): void
  /** The owner has closed it, and the client has not read everything. */
  onEnding(link: TlsLink): void
  onGone(link: TlsLink): void
  /** Whether a read of a handshake may cost processor time in this turn. */
  mayShake(): boolean
}

/** A client's TLS connection in the reactor: a non-blocking socket and OpenSSL. */
export class TlsLink implements TlsSocket, TlsClient, CiphertextSink, Pollable, TurnTaker {
  owner: TlsOwner | undefined
  isClosed = false
  handshakeBytes = 0
  readonly overhead = 0
  private isReadable = true
  private mayHaveMore = false
  private isPaused = false
  /** A write did not fit: the owner expects a drain. */
  private isBlocked = false
  private hasFailed = false
  private hasEnded = false
  private isQueued = false
  private isWatched = false
  private watchesWrites = false
  isShaken = false
  /** The end follows at once behind the bytes that are sent now. */
  private endsSoon = false
  /** To do once everything is sent. */
  private afterFlush: 'nothing' | 'shutdown' | 'close' = 'nothing'
  private cancelFlush: (() => void) | undefined
  private readonly connection: TlsConnection

  constructor(
    private readonly reactor: Reactor,
    private readonly descriptor: number,
    readonly source: string,
    private readonly thread: TlsThread,
    private readonly events: LinkEvents,
    context: TlsContext,
    /** Of the messages about it. */
    readonly id: number,
  ) {
    this.connection = new TlsConnection(thread, context, this)
  }

  /**
   * Reads what has arrived, mostly the whole ClientHello. The socket is watched afterwards, and for writing once it is
   * full: an event that it is writable would cost each connection a turn.
   */
  begin(): void {
    this.readOrLose()
    if (this.isClosed) return
    this.reactor.watch(this.descriptor, this, reading)
    this.isWatched = true
    if (this.connection.isFull) this.watchWrites()
  }

  private watchWrites(): void {
    if (this.watchesWrites || !this.isWatched) return
    this.watchesWrites = true
    this.reactor.watchWrites(this.descriptor)
  }

  get fd(): number {
    return this.descriptor
  }

  get protocol(): 'h2' | 'http/1.1' {
    return this.connection.protocol
  }

  get serverName(): string | undefined {
    return this.isClosed ? undefined : this.connection.serverName
  }

  // --- events ---

  onEvents(events: number): void {
    if (events & EPOLLERR) this.hasFailed = true
    // Urgent data ends a read early, and a hang-up is announced once: neither read shows that nothing is left.
    if (events & (EPOLLPRI | EPOLLRDHUP | EPOLLERR)) this.mayHaveMore = true
    if (events & EPOLLOUT && (this.isBlocked || this.connection.isFull)) this.drain()
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) this.isReadable = true
    this.readOrLose()
  }

  onFault(): void {
    this.terminate()
  }

  takeTurn(): void {
    this.isQueued = false
    this.readOrLose()
  }

  private drain(): void {
    if (!this.connection.flush()) return
    this.endWhenFlushed()
    if (this.isClosed || !this.isBlocked) return
    this.isBlocked = false
    this.owner?.onSocketDrain()
  }

  private readOrLose(): void {
    this.read()
    // A paused socket would not notice the error.
    if (this.hasFailed && (this.hasEnded || (this.isPaused && !this.keepsUnread))) this.destroy()
  }

  /** The kernel keeps what came before a reset until it is read. */
  private get keepsUnread(): boolean {
    return this.owner?.readsToEnd === true && !this.isClosed && this.reactor.kernel.peek(this.descriptor) > 0
  }

  private get mayRead(): boolean {
    return this.isReadable && !this.isPaused && !this.isClosed && !this.hasEnded
  }

  private read(): void {
    for (let reads = 0; reads < maxReadsPerTurn && this.mayRead; reads += 1) {
      if (!this.isShaken && !this.events.mayShake()) break
      const got = this.reactor.kernel.receiveAt(this.descriptor, this.thread.buffers.inputAt, readBytes)
      if (got > 0) {
        if (got < readBytes && !this.mayHaveMore) this.isReadable = false
        this.take(got)
      } else if (got === 0) this.noteEnd()
      else if (got === -EAGAIN) this.isReadable = false
      else this.destroy()
    }
    if (this.mayRead) this.askForTurn()
  }

  private take(bytes: number): void {
    const { connection } = this
    const have = connection.receive(bytes)
    if (!this.isShaken && connection.state === 'open') {
      this.isShaken = true
      this.events.onShaken(this)
    }
    if (have > 0 && !this.isClosed) this.pass(have)
    if (this.isClosed) return
    if (connection.state === 'failed') this.destroy()
    else if (connection.hasEnded) this.noteEnd()
  }

  private pass(have: number): void {
    const { owner } = this
    const { plain } = this.thread.buffers
    owner?.onSocketData(owner.borrows ? plain.subarray(0, have) : plain.slice(0, have))
  }

  /** By close_notify, or by a FIN alone. */
  private noteEnd(): void {
    if (!this.isShaken) return this.destroy()
    this.hasEnded = true
    this.owner?.onSocketEnd()
  }

  private askForTurn(): void {
    if (this.isQueued) return
    this.isQueued = true
    this.reactor.queue(this)
  }

  // --- for the owner ---

  write(bytes: Uint8Array): number {
    if (this.isClosed) return 0
    const taken = this.connection.write(bytes, this.endsSoon)
    this.endsSoon = false
    this.isBlocked = this.connection.isFull
    if (this.connection.state === 'failed') this.destroyLater()
    return taken
  }

  /** Last bytes, close_notify and FIN share a segment: each segment costs the sender 10 µs. */
  announceEnd(): void {
    this.endsSoon = true
  }

  /** Ciphertext that waits for the socket. */
  get isHolding(): boolean {
    return !this.isClosed && this.connection.isFull
  }

  shutdown(): void {
    if (this.isClosed) return
    this.endsSoon = true
    this.connection.shutdown()
    this.endsSoon = false
    if (this.afterFlush === 'nothing') this.afterFlush = 'shutdown'
    this.endWhenFlushed()
  }

  end(): void {
    if (this.isClosed) return
    // Sent before the close: with unread bytes the close is a reset, which would discard what is held back.
    this.connection.shutdown()
    this.afterFlush = 'close'
    this.endWhenFlushed()
    if (this.isClosed || this.cancelFlush) return
    this.cancelFlush = this.reactor.timers.after(flushMs, () => this.terminate())
    this.events.onEnding(this)
  }

  terminate(): void {
    if (this.isClosed) return
    this.reactor.kernel.resetOnClose(this.descriptor)
    this.destroy()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    if (this.mayRead) this.askForTurn()
  }

  /** It is inherited from the listener. */
  setNoDelay(): void {}

  follow(): DeliveryWatch | undefined {
    const { descriptors, kernel } = this.reactor
    if (this.isClosed || !descriptors.isOwned(this.descriptor)) return undefined
    descriptors.share(this.descriptor)
    const watch = new DescriptorWatch(kernel, this.descriptor, descriptors)
    return new TlsWatch(watch, this.connection.follow())
  }

  // --- the end ---

  private endWhenFlushed(): void {
    if (this.connection.isFull || this.isClosed) return
    if (this.afterFlush === 'close') this.destroy()
    else if (this.afterFlush === 'shutdown') this.reactor.kernel.shutdownWrite(this.descriptor)
  }

  /** Ciphertext of the connection. */
  send(address: number, bytes: number): number {
    const gone = this.reactor.kernel.sendFrom(this.descriptor, address, bytes, this.endsSoon)
    if (gone < 0 && gone !== -EAGAIN && this.owner?.readsToEnd) return this.discard(bytes)
    if (gone < 0 && gone !== -EAGAIN) this.destroyLater()
    else if (gone < bytes) this.watchWrites()
    return gone
  }

  /** The client has reset the connection; what it sent before is read first. */
  private discard(bytes: number): number {
    this.hasFailed = true
    this.isReadable = true
    this.askForTurn()
    return bytes
  }

  /** The caller does not expect a callback. */
  private destroyLater(): void {
    this.reactor.queue({ takeTurn: () => this.destroy() })
  }

  private destroy(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.cancelFlush?.()
    this.connection.free()
    this.reactor.forget(this.descriptor)
    this.reactor.descriptors.release(this.descriptor)
    this.events.onGone(this)
    this.owner?.onSocketClose()
  }
}

/** Plaintext that the client's machine has acknowledged, from the ciphertext that it has acknowledged. */
class TlsWatch implements DeliveryWatch {
  /** After a decrease of the path MTU, older segments are longer. */
  private maxSegmentBytes = 0

  constructor(
    private readonly watch: DeliveryWatch,
    private readonly marks: DeliveryMarks,
  ) {}

  transmission(): Transmission {
    const seen = this.watch.transmission()
    this.maxSegmentBytes = Math.max(this.maxSegmentBytes, seen.segmentBytes)
    const acknowledged = this.marks.confirm(shownOf({ ...seen, segmentBytes: this.maxSegmentBytes }))
    const sent = Math.max(acknowledged, this.marks.reach(seen.sent))
    return { ...nothingShown, acknowledged, sent, isOver: seen.isOver }
  }

  shutdown(): void {
    this.watch.shutdown()
  }

  close(reset: boolean): void {
    this.watch.close(reset)
  }
}
