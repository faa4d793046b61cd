import type { Watch } from '../../metering/tunnel-meter.ts'
import { patient, Side, type SideAround, type SideSocket } from '../side.ts'
import { readBytes } from './kernel.ts'
import { EAGAIN, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP } from './numbers.ts'
import type { Pollable, Reactor, TurnTaker } from './reactor.ts'
import type { TlsMemory } from './shared-memory.ts'
import type { Tunnel, TunnelEnd } from './splice-relay.ts'

/** How often one reads before the others have their turn. */
const mostReads = 4

/** A socket of the reactor: what a side writes to, and one end of a tunnel once there is one. */
export class Channel implements SideSocket, TunnelEnd, Pollable, TurnTaker {
  isReadable = false
  hasHungUp = false
  hasFailed = false
  hasUrgent = false
  /** Who carries the bytes instead of the side. */
  private tunnel: Tunnel | undefined
  /** Whoever waits for a connection to be made. */
  private waiting: { onConnected(error: number): void } | undefined
  private isPaused = false
  private isBlocked = false
  private isClosed = false
  private isQueued = false
  /** The side was told that the peer has said all. */
  private hasEnded = false

  constructor(
    private readonly reactor: Reactor,
    readonly descriptor: number,
    private readonly side: Side,
    readonly localPort: number,
    private readonly onGone: () => void,
  ) {}

  /** Where Bun keeps a socket's number. */
  get fd(): number {
    return this.descriptor
  }

  watch(waiting?: { onConnected(error: number): void }): void {
    this.waiting = waiting
    this.reactor.watch(this.descriptor, this)
  }

  onEvents(events: number): void {
    if (this.tunnel) this.tunnel.onEvents(this, events)
    else if (this.waiting) this.noteConnected(this.waiting, events)
    else this.take(events)
  }

  onFault(): void {
    if (this.tunnel) this.tunnel.breakOff()
    else this.terminate()
  }

  private noteConnected(waiting: { onConnected(error: number): void }, events: number): void {
    const hasFailed = (events & (EPOLLERR | EPOLLHUP)) !== 0
    if (!hasFailed && !(events & EPOLLOUT)) return
    this.waiting = undefined
    waiting.onConnected(hasFailed ? this.reactor.kernel.takeError(this.descriptor) : 0)
    if (!this.isClosed) this.take(events & ~EPOLLOUT)
  }

  private take(events: number): void {
    if (events & EPOLLRDHUP) this.hasHungUp = true
    if (events & EPOLLERR) this.hasFailed = true
    if (events & EPOLLPRI) this.hasUrgent = true
    if (events & EPOLLOUT && this.isBlocked) {
      this.isBlocked = false
      this.side.onSocketDrain()
    }
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) this.isReadable = true
    this.readOrLose()
  }

  takeTurn(): void {
    this.isQueued = false
    if (!this.tunnel) this.readOrLose()
  }

  private readOrLose(): void {
    this.read()
    // Nobody reads from it now, so nobody would notice that it is gone.
    if (this.hasFailed && !this.tunnel && (this.isPaused || this.hasEnded)) this.destroy()
  }

  private get mayRead(): boolean {
    return this.isReadable && !this.isPaused && !this.isClosed && !this.hasEnded && this.tunnel === undefined
  }

  private read(): void {
    for (let reads = 0; reads < mostReads && this.mayRead; reads += 1) {
      const { kernel } = this.reactor
      const got = kernel.receive(this.descriptor, readBytes)
      if (got > 0) {
        if (got < readBytes && !this.hasHungUp && !this.hasFailed && !this.hasUrgent) this.isReadable = false
        this.side.onSocketData(kernel.received.slice(0, got))
      } else if (got === 0) {
        this.hasEnded = true
        this.side.onSocketEnd()
      } else if (got === -EAGAIN) this.isReadable = false
      else this.destroy()
    }
    if (this.mayRead) this.askForTurn()
  }

  private askForTurn(): void {
    if (this.isQueued) return
    this.isQueued = true
    this.reactor.queue(this)
  }

  // --- as a side's socket and a tunnel's end ---

  write(bytes: Uint8Array): number {
    if (this.isClosed) return 0
    let at = 0
    while (at < bytes.length) {
      const gone = this.reactor.kernel.send(this.descriptor, at === 0 ? bytes : bytes.subarray(at))
      if (gone <= 0) {
        this.isBlocked = true
        if (gone !== -EAGAIN) this.breakSoon()
        break
      }
      at += gone
    }
    return at
  }

  /** Whoever writes does not expect to be called in the middle of it. */
  private breakSoon(): void {
    this.reactor.queue({ takeTurn: () => this.destroy() })
  }

  shutdown(): void {
    if (!this.isClosed) this.reactor.kernel.shutWrite(this.descriptor)
  }

  end(): void {
    this.destroy()
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

  /** It was set where it was inherited from, or before it was connected. */
  setNoDelay(): void {}

  private destroy(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.reactor.forget(this.descriptor)
    this.reactor.descriptors.release(this.descriptor)
    this.onGone()
    this.side.onSocketClose()
  }

  // --- as an end of a tunnel ---

  enter(tunnel: Tunnel): void {
    this.tunnel = tunnel
  }

  /** The side has it again. */
  leave(): void {
    this.tunnel = undefined
    this.isBlocked = true
    if (this.mayRead) this.askForTurn()
  }

  get written(): number {
    return this.side.written
  }
  set written(bytes: number) {
    this.side.written = bytes
  }
  get isFinished(): boolean {
    return this.side.isFinished
  }
  set isFinished(yes: boolean) {
    this.side.isFinished = yes
  }
  hold(bytes: Uint8Array): void {
    this.side.write(bytes)
  }
  release(): void {
    this.side.release()
  }
  close(): void {
    this.side.close()
  }
  abort(): void {
    this.side.abort()
  }
}

/**
 * The plain end of a connection over TLS. Its socket leads to another thread, not to the customer: what has reached
 * him, that he has gone, and that he is to be cut off is said in memory that both threads see.
 */
export class TlsChannel extends Channel {
  constructor(
    reactor: Reactor,
    descriptor: number,
    side: Side,
    localPort: number,
    onGone: () => void,
    private readonly memory: TlsMemory,
  ) {
    super(reactor, descriptor, side, localPort, onGone)
  }

  /** A customer who has gone has not only said all: it is as if he had reset the connection. */
  override onEvents(events: number): void {
    super.onEvents(events & EPOLLHUP && this.memory.isGone ? events | EPOLLERR : events)
  }

  override terminate(): void {
    this.memory.isCut = true
    super.terminate()
  }

  follow(): Watch {
    const { memory } = this
    return {
      standing: () => ({
        acknowledged: memory.acknowledged,
        sent: memory.sent,
        selectedSegments: 0,
        unknownSegments: 0,
        segmentBytes: 0,
        isOver: memory.isOver,
      }),
      // It is closed already, which says the same.
      shut() {},
      close(reset) {
        if (reset) memory.isCut = true
      },
    }
  }
}

/** How many are taken in before the others have their turn. */
const mostAccepted = 64
/** Without room for another descriptor the system would tell of the same newcomers for ever. */
const restMs = 100

/** A port on which customers come. Its descriptor belongs to whoever opened it. */
export class Listener implements Pollable {
  private readonly onGone = (): void => this.core.departed()
  private isClosed = false
  private isResting = false

  constructor(
    private readonly reactor: Reactor,
    private readonly descriptor: number,
    private readonly port: number,
    private readonly around: SideAround,
    private readonly core: { accepted(side: Side, source: string): void; departed(): void },
  ) {
    reactor.watchLevel(descriptor, this)
  }

  onEvents(): void {
    const { kernel, descriptors } = this.reactor
    for (let count = 0; count < mostAccepted; count += 1) {
      const descriptor = kernel.accept(this.descriptor)
      if (descriptor < 0) {
        if (descriptor !== -EAGAIN) this.rest()
        return
      }
      const source = kernel.acceptedFrom()
      if (descriptors.own(descriptor)) this.begin(descriptor, source)
    }
  }

  /** One newcomer that is a bug to us does not keep out the others. */
  onFault(): void {}

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    if (!this.isResting) this.reactor.unwatch(this.descriptor)
  }

  private begin(descriptor: number, source: string): void {
    const { reactor, core, around } = this
    const side = new Side(patient, around)
    const channel = new Channel(reactor, descriptor, side, this.port, this.onGone)
    side.attach(channel)
    core.accepted(side, source)
    if (!side.isClosed) channel.watch()
  }

  private rest(): void {
    this.isResting = true
    this.reactor.unwatch(this.descriptor)
    this.reactor.timers.after(restMs, () => {
      this.isResting = false
      if (!this.isClosed) this.reactor.watchLevel(this.descriptor, this)
    })
  }
}
