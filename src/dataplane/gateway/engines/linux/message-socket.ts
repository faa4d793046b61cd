import { readBytes } from '../../system/kernel.ts'
import { EAGAIN, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLRDHUP } from '../../system/numbers.ts'
import type { Pollable, Reactor, TurnTaker } from './reactor.ts'

const maxReadsPerTurn = 4

export type MessageEvents = {
  /** The bytes are a copy. */
  onMessage(bytes: Uint8Array): void
  /** All messages have been sent. */
  onDrain(): void
  /** The other end has closed, or failed. */
  onClose(): void
}

/** One end of a pair of sockets that keeps messages apart. It begins paused. */
export class MessageSocket implements Pollable, TurnTaker {
  private readonly unsent: Uint8Array[] = []
  private isPaused = true
  private isReadable = true
  private isQueued = false
  private isClosed = false

  constructor(
    private readonly reactor: Reactor,
    private readonly descriptor: number,
    private readonly events: MessageEvents,
  ) {
    reactor.watch(descriptor, this)
  }

  /** Messages wait for the other end. */
  get isFull(): boolean {
    return this.unsent.length > 0
  }

  /** At most 64 KiB. The caller sends no more than a few while it is full. */
  send(message: Uint8Array): void {
    if (this.isClosed) return
    this.unsent.push(message)
    if (this.unsent.length === 1) this.flush()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    this.askForTurn()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.reactor.forget(this.descriptor)
    this.reactor.descriptors.release(this.descriptor)
  }

  onEvents(events: number): void {
    if (events & EPOLLOUT && this.isFull) {
      this.flush()
      if (!this.isFull && !this.isClosed) this.events.onDrain()
    }
    const isOver = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) !== 0
    if (isOver || events & EPOLLIN) this.isReadable = true
    if (this.isPaused && isOver) this.loseIfEmpty()
    else this.read()
  }

  onFault(): void {
    this.lose()
  }

  takeTurn(): void {
    this.isQueued = false
    this.read()
  }

  /** A paused end does not read that the other one has closed. */
  private loseIfEmpty(): void {
    const next = this.retried(() => this.reactor.kernel.peek(this.descriptor))
    if (next <= 0 && next !== -EAGAIN) this.lose()
  }

  /** The kernel reports once that the other end closed with unread messages, and only then gives its own. */
  private retried(call: () => number): number {
    const first = call()
    return first < 0 && first !== -EAGAIN ? call() : first
  }

  private get mayRead(): boolean {
    return this.isReadable && !this.isPaused && !this.isClosed
  }

  private read(): void {
    const { kernel } = this.reactor
    for (let reads = 0; reads < maxReadsPerTurn && this.mayRead; reads += 1) {
      const got = this.retried(() => kernel.receive(this.descriptor, readBytes))
      if (got > 0) this.events.onMessage(kernel.received.slice(0, got))
      else if (got === -EAGAIN) this.isReadable = false
      else this.lose()
    }
    if (this.mayRead) this.askForTurn()
  }

  private askForTurn(): void {
    if (this.isQueued) return
    this.isQueued = true
    this.reactor.queue(this)
  }

  private flush(): void {
    for (let [next] = this.unsent; next && !this.isClosed; [next] = this.unsent) {
      const sent = this.reactor.kernel.send(this.descriptor, next)
      if (sent === -EAGAIN) return
      if (sent < 0) return this.loseLater()
      this.unsent.shift()
    }
  }

  /**
   * The other end has closed. Its messages that are not read yet come first, and the close not within the caller's
   * call.
   */
  private loseLater(): void {
    this.unsent.length = 0
    this.isReadable = true
    this.reactor.queue({
      takeTurn: () => {
        if (this.isPaused && !this.isClosed) this.loseIfEmpty()
        else this.read()
      },
    })
  }

  private lose(): void {
    if (this.isClosed) return
    this.close()
    this.events.onClose()
  }
}
