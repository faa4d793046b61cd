import { formatAddress } from '../../../../core/address.ts'
import { type DeliveryWatch, nothingShown } from '../../metering/tunnel-meter.ts'
import type { Side } from '../../sides/side.ts'
import type { SideSocket } from '../../sides/side-socket.ts'
import { readBytes } from '../../system/kernel.ts'
import { EAGAIN, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP } from '../../system/numbers.ts'
import type { Pollable, Reactor, TurnTaker } from './reactor.ts'
import type { TlsMemory } from './shared-memory.ts'
import type { RelayEnd, SpliceRelay } from './splice-relay.ts'

const maxReadsPerTurn = 4

/** A non-blocking socket of the reactor: the socket of a side, and an end of a tunnel. */
export class Channel implements SideSocket, RelayEnd, Pollable, TurnTaker {
  isReadable = false
  hasHungUp = false
  hasFailed = false
  hasUrgent = false
  isEnding = false
  private relay: SpliceRelay | undefined
  /** Set while connecting. */
  private waiting: { onConnected(error: number): void } | undefined
  private isPaused = false
  private isBlocked = false
  private isClosed = false
  private isQueued = false
  /** The side knows that the peer has half-closed. */
  private hasEnded = false

  constructor(
    private readonly reactor: Reactor,
    readonly descriptor: number,
    readonly side: Side,
    readonly localPort: number,
    private readonly onGone: () => void,
  ) {}

  get fd(): number {
    return this.descriptor
  }

  get localAddress(): string | undefined {
    const address = this.reactor.kernel.addressOf(this.descriptor)
    return address && formatAddress(address)
  }

  watch(waiting?: { onConnected(error: number): void }): void {
    this.waiting = waiting
    this.reactor.watch(this.descriptor, this)
  }

  onEvents(events: number): void {
    if (this.relay) this.relay.onEvents(this, events)
    else if (this.waiting) this.noteConnected(this.waiting, events)
    else this.take(events)
  }

  onFault(): void {
    if (this.relay) this.relay.breakOff()
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
    if (!this.relay) this.readOrLose()
  }

  private readOrLose(): void {
    this.read()
    // A paused socket would not notice the error.
    if (this.hasFailed && !this.relay && (this.isPaused || this.hasEnded)) this.destroy()
  }

  private get mayRead(): boolean {
    return this.isReadable && !this.isPaused && !this.isClosed && !this.hasEnded && this.relay === undefined
  }

  private read(): void {
    for (let reads = 0; reads < maxReadsPerTurn && this.mayRead; reads += 1) {
      const { kernel } = this.reactor
      const got = kernel.receive(this.descriptor, readBytes)
      if (got > 0) {
        const isEmpty = got < readBytes && !this.hasFailed && !this.hasUrgent
        if (isEmpty && !this.hasHungUp) this.isReadable = false
        this.isEnding = isEmpty && this.hasHungUp
        this.side.onSocketData(this.side.borrows ? kernel.received.subarray(0, got) : kernel.received.slice(0, got))
        // The FIN was there before the last bytes were read: a further read would only say so.
        if (this.isEnding && this.mayRead) this.noteEnd()
      } else if (got === 0) this.noteEnd()
      else if (got === -EAGAIN) this.isReadable = false
      else this.destroy()
    }
    if (this.mayRead) this.askForTurn()
  }

  private noteEnd(): void {
    this.hasEnded = true
    this.side.onSocketEnd()
  }

  private askForTurn(): void {
    if (this.isQueued) return
    this.isQueued = true
    this.reactor.queue(this)
  }

  write(bytes: Uint8Array): number {
    if (this.isClosed) return 0
    let at = 0
    while (at < bytes.length) {
      const gone = this.reactor.kernel.send(this.descriptor, at === 0 ? bytes : bytes.subarray(at))
      if (gone <= 0) {
        this.isBlocked = true
        // Deferred: the writer does not expect a callback.
        if (gone !== -EAGAIN) this.reactor.queue({ takeTurn: () => this.destroy() })
        break
      }
      at += gone
    }
    return at
  }

  shutdown(): void {
    if (!this.isClosed) this.reactor.kernel.shutdownWrite(this.descriptor)
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

  /** It is inherited from the listener, or set before connecting. */
  setNoDelay(): void {}

  private destroy(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.reactor.forget(this.descriptor)
    this.reactor.descriptors.release(this.descriptor)
    this.onGone()
    this.side.onSocketClose()
  }

  enter(relay: SpliceRelay): void {
    this.relay = relay
  }

  leave(): void {
    this.relay = undefined
    this.isBlocked = true
    if (this.mayRead) this.askForTurn()
  }
}

/** The plain end of a TLS connection; shared memory connects it to the TLS thread. */
export class TlsChannel extends Channel {
  constructor(
    private readonly memory: TlsMemory,
    ...channel: ConstructorParameters<typeof Channel>
  ) {
    super(...channel)
  }

  override get localAddress(): undefined {
    return undefined
  }

  /** A hang-up of the client counts as a reset. */
  override onEvents(events: number): void {
    super.onEvents(events & EPOLLHUP && this.memory.isGone ? events | EPOLLERR : events)
  }

  override terminate(): void {
    this.memory.isCut = true
    super.terminate()
  }

  follow(): DeliveryWatch {
    const { memory } = this
    return {
      transmission() {
        const { acknowledged, sent, isOver } = memory
        return { ...nothingShown, acknowledged, sent, isOver }
      },
      // Closed already.
      shutdown() {},
      close(reset) {
        if (reset) memory.isCut = true
      },
    }
  }
}

const maxAcceptedPerTurn = 64
/** Pause when the process is out of descriptors. */
const restMs = 100

/** Where accepted connections go. */
export type Accepting = {
  /** Passes the last accepted connection to another reactor. False if this one serves it. */
  passOn(descriptor: number, port: number): boolean
  begin(descriptor: number, port: number, source: string): void
  /** No further connection is accepted in this turn. */
  flush(): void
}

/** A listening port. The opener owns the descriptor. */
export class PortListener implements Pollable {
  private isClosed = false
  private isResting = false

  constructor(
    private readonly reactor: Reactor,
    private readonly descriptor: number,
    private readonly port: number,
    private readonly accepting: Accepting,
  ) {
    reactor.watch(descriptor, this, EPOLLIN)
  }

  onEvents(): void {
    this.acceptSome()
    this.accepting.flush()
  }

  private acceptSome(): void {
    const { reactor, accepting, port } = this
    for (let count = 0; count < maxAcceptedPerTurn; count += 1) {
      const descriptor = reactor.kernel.accept(this.descriptor)
      if (descriptor < 0) {
        if (descriptor !== -EAGAIN) this.rest()
        return
      }
      if (!accepting.passOn(descriptor, port)) accepting.begin(descriptor, port, reactor.kernel.acceptedFrom())
    }
  }

  onFault(): void {}

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    if (!this.isResting) this.reactor.unwatch(this.descriptor)
  }

  private rest(): void {
    this.isResting = true
    this.reactor.unwatch(this.descriptor)
    this.reactor.timers.after(restMs, () => {
      this.isResting = false
      if (!this.isClosed) this.reactor.watch(this.descriptor, this, EPOLLIN)
    })
  }
}
