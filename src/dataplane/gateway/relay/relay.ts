import type { Side } from './side.ts'
import type { Sockets } from './sockets.ts'
import type { Passage } from './tunnel.ts'

/** A peer whose machine has acknowledged this much does read. */
const provenBytes = 1024 * 1024

/**
 * Keeps what is read from one side small until the other has shown that it reads: a peer that never does costs at most
 * one such read. Then the system may let more come at once, which is what makes long ways fast.
 */
class Valve {
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

/** Waits for traffic: bytes to be written, or so many to be paid for that somebody else passes on. */
type Parked = { bytes: Uint8Array | undefined; due: number; readonly onPassed: (() => void) | undefined }

type PipeOwner = {
  /** It is sure that there is no traffic left for what waits. */
  readonly onExhausted: () => void
  /** All that waited for traffic has passed. */
  readonly onCleared?: () => void
  /** Whether more is to be read once there is room. Yes unless said. */
  readonly wantsMore?: () => boolean
}

/**
 * One direction of a passage. Bytes are taken from the allowance and written; what the allowance does not cover waits,
 * in order, for the next lease. Nothing is read from where they come while something waits or the other side cannot
 * take more.
 */
export class Pipe {
  private readonly from: Side
  private readonly to: Side
  private readonly valve: Valve
  private parked: Parked[] = []
  private isClosed = false
  private forget: (() => void) | undefined

  constructor(
    private readonly direction: 'up' | 'down',
    client: Side,
    private readonly passage: Passage,
    private readonly clock: () => number,
    private readonly owner: PipeOwner,
  ) {
    this.from = direction === 'up' ? client : passage.origin
    this.to = direction === 'up' ? passage.origin : client
    this.valve = new Valve(passage.sockets, this.from, this.to)
  }

  /** Nothing waits for traffic. */
  get isClear(): boolean {
    return this.parked.length === 0
  }

  /** Passes bytes on; what cannot pass yet is kept. `onPassed` is called after the last of them. */
  carry(bytes: Uint8Array, onPassed?: () => void): void {
    if (this.isClosed) return
    this.passage.activeAt = this.clock()
    const taken = this.isClear ? this.take(bytes.length) : 0
    this.write(taken < bytes.length ? bytes.subarray(0, taken) : bytes)
    if (taken === bytes.length && this.isClear) onPassed?.()
    else this.park({ bytes: bytes.subarray(taken), due: bytes.length - taken, onPassed })
  }

  /**
   * Pays for bytes that are passed on in another form, with send(). False while some are unpaid: then what they said
   * waits with after().
   */
  pay(bytes: number): boolean {
    if (this.isClosed) return false
    this.passage.activeAt = this.clock()
    const taken = this.isClear && bytes > 0 ? this.take(bytes) : 0
    if (taken === bytes && this.isClear) return true
    this.park({ bytes: undefined, due: bytes - taken, onPassed: undefined })
    return false
  }

  /** Writes what is paid for already. */
  send(bytes: Uint8Array): void {
    if (!this.isClosed) this.write(bytes)
  }

  /** Acts once all that came before has passed. */
  after(act: () => void): void {
    if (this.isClosed) return
    if (this.isClear) act()
    else this.parked.push({ bytes: undefined, due: 0, onPassed: act })
  }

  /** Reads on, if there is room. */
  resume(): void {
    if (this.isClosed || !this.isClear || this.to.heldBytes > 0) return
    if (this.owner.wantsMore?.() ?? true) this.from.resume()
  }

  /** What waits is dropped. */
  close(): void {
    this.isClosed = true
    this.parked = []
    this.forget?.()
    this.forget = undefined
  }

  private take(bytes: number): number {
    const { tally } = this.passage
    return this.direction === 'up' ? tally.takeSent(bytes) : tally.takeReceived(bytes)
  }

  private write(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const hasRoom = this.to.write(bytes)
    this.valve.passed()
    if (!hasRoom) this.from.pause()
  }

  private park(piece: Parked): void {
    this.parked.push(piece)
    this.from.pause()
    this.wait()
  }

  private wait(): void {
    const { allowance } = this.passage.tally
    this.forget ??= allowance.onChange(() => this.goOn())
    if (allowance.isUsedUp) this.owner.onExhausted()
  }

  /** There is more traffic, or it is sure that there is none. Whoever goes on waiting does so behind all others. */
  private goOn(): void {
    const { allowance } = this.passage.tally
    if (this.isClosed) return
    if (allowance.hasSome) {
      this.forget?.()
      this.forget = undefined
      if (this.passParked()) {
        this.resume()
        this.owner.onCleared?.()
      }
    } else if (allowance.isUsedUp) this.owner.onExhausted()
  }

  /** False when something waits again, or all is over. */
  private passParked(): boolean {
    this.passage.activeAt = this.clock()
    for (let [first] = this.parked; first; [first] = this.parked) {
      const taken = first.due > 0 ? this.take(first.due) : 0
      first.due -= taken
      if (first.bytes) {
        this.write(first.bytes.subarray(0, taken))
        first.bytes = first.bytes.subarray(taken)
      }
      if (first.due > 0) {
        this.wait()
        return false
      }
      this.parked.shift()
      first.onPassed?.()
      if (this.isClosed) return false
    }
    return true
  }
}

/**
 * Carries bytes both ways as they are, until either side is gone, and cuts at the byte when there is no traffic left.
 */
export class Relay {
  private readonly up: Pipe
  private readonly down: Pipe
  private hasClientEnded = false
  private hasOriginEnded = false
  private isOver = false

  constructor(
    private readonly client: Side,
    private readonly passage: Passage,
    clock: () => number,
  ) {
    const owner = { onExhausted: () => this.exhaust(), onCleared: () => this.endSides() }
    this.up = new Pipe('up', client, passage, clock, owner)
    this.down = new Pipe('down', client, passage, clock, owner)
  }

  /** `fromClient` and `fromOrigin` came before there was anybody to pass them to. */
  start(fromClient: Uint8Array, fromOrigin: Uint8Array): void {
    const { client, passage, up, down } = this
    passage.carriedBy = this
    client.own({
      onData: (bytes) => up.carry(bytes),
      onEnd: () => {
        this.hasClientEnded = true
        this.endSides()
      },
      onDrain: () => down.resume(),
      onClose: () => this.lose(),
    })
    passage.origin.own({
      onData: (bytes) => down.carry(bytes),
      onEnd: () => {
        this.hasOriginEnded = true
        this.endSides()
      },
      onDrain: () => up.resume(),
      onClose: () => this.loseOrigin(),
    })
    if (client.isClosed) this.lose()
    else if (passage.origin.isClosed) this.loseOrigin()
    else {
      client.resume()
      passage.origin.resume()
      if (fromClient.length > 0) up.carry(fromClient)
      if (fromOrigin.length > 0) down.carry(fromOrigin)
    }
  }

  private endSides(): void {
    const { client, passage, up, down } = this
    if (this.isOver) return
    passage.isHalfOpen = this.hasClientEnded || this.hasOriginEnded
    if (this.hasClientEnded && up.isClear) passage.origin.finish()
    if (this.hasOriginEnded && down.isClear) client.finish()
    if (!this.hasClientEnded || !this.hasOriginEnded || !up.isClear || !down.isClear) return
    this.end()
    client.release()
    passage.origin.release()
  }

  private exhaust(): void {
    if (this.isOver) return
    this.end()
    this.passage.origin.abort()
    this.client.close()
  }

  private lose(): void {
    this.end()
    this.passage.origin.abort()
  }

  private loseOrigin(): void {
    this.end()
    this.client.close()
  }

  cut(): void {
    this.passage.tally.cut()
    this.end()
    this.client.abort()
    this.passage.origin.abort()
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.up.close()
    this.down.close()
    this.passage.finish()
  }
}
