import type { ByteAllowance } from '../../metering/allowance.ts'
import type { TunnelMeter } from '../../metering/tunnel-meter.ts'
import type { ProxyTunnel } from '../../relay/tunnel.ts'
import type { Side } from '../../sides/side.ts'
import { lookAgainBytes, maxUnsentBytes, provenBytes } from '../../sides/sockets.ts'
import { type PipePool, pipeBytes } from '../../system/descriptors.ts'
import { type ByteCalls, type KernelPipe, readBytes } from '../../system/kernel.ts'
import { EAGAIN, EINVAL, EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLPRI, EPOLLRDHUP } from '../../system/numbers.ts'

/** State machine of one direction of a tunnel, from a source to a sink. */

export const flowStates = [
  'open',
  /** The sink did not take everything; reading is paused. */
  'held',
  /** The source has bytes but the allowance has none. */
  'starved',
  /** The source has ended; held bytes go out first. */
  'last',
  'done',
] as const

export const flowEvents = [
  /** The source has bytes or has ended. */
  'readable',
  'writable',
  /** The allowance has bytes. */
  'allowed',
  /** The allowance is used up. */
  'exhausted',
  /** The sink took less than it was given. */
  'blocked',
  /** Held bytes are gone. */
  'drained',
  /** The source has bytes, the allowance none. */
  'dry',
  'ended',
] as const

export type FlowState = (typeof flowStates)[number]
export type FlowEvent = (typeof flowEvents)[number]

type FlowAction =
  | 'nothing'
  /** Read and pass on. */
  | 'fill'
  /** Write held bytes. */
  | 'drain'
  /** Request bytes and wait. */
  | 'wait'
  /** Half-close the sink. */
  | 'halfClose'
  /** End the tunnel. */
  | 'exhaust'
  /** A bug. */
  | 'fault'

/** An action, and the next state if it changes. Events that are not listed do nothing. */
type Cell = FlowAction | readonly [FlowAction, FlowState]

const flowTable: Readonly<Record<FlowState, Readonly<Partial<Record<FlowEvent, Cell>>>>> = {
  open: {
    readable: 'fill',
    blocked: ['nothing', 'held'],
    drained: 'fault',
    dry: ['wait', 'starved'],
    ended: ['halfClose', 'done'],
  },
  held: { writable: 'drain', drained: ['fill', 'open'], dry: 'fault', ended: ['nothing', 'last'] },
  starved: {
    allowed: ['fill', 'open'],
    exhausted: 'exhaust',
    blocked: 'fault',
    drained: 'fault',
    dry: 'fault',
    ended: 'fault',
  },
  last: { writable: 'drain', drained: ['halfClose', 'done'], dry: 'fault', ended: 'fault' },
  done: { blocked: 'fault', drained: 'fault', dry: 'fault', ended: 'fault' },
}

type Step = { readonly action: FlowAction; readonly next: FlowState }

/** The table in the shape used per event. */
export const flowSteps = Object.fromEntries(
  flowStates.map((state) => [
    state,
    Object.fromEntries(
      flowEvents.map((event) => {
        const cell = flowTable[state][event] ?? 'nothing'
        return [event, typeof cell === 'string' ? { action: cell, next: state } : { action: cell[0], next: cell[1] }]
      }),
    ),
  ]),
) as Readonly<Record<FlowState, Readonly<Record<FlowEvent, Step>>>>

export type RelayEnd = {
  readonly descriptor: number
  /** Not read to EAGAIN yet. */
  isReadable: boolean
  /** The peer has half-closed; unread bytes may remain. */
  hasHungUp: boolean
  hasFailed: boolean
  /** TCP urgent data: reads stop at the mark, so a short read does not mean empty, and splice cannot pass it. */
  hasUrgent: boolean
  readonly side: Pick<Side, 'written' | 'isFinished' | 'write' | 'release' | 'close' | 'abort'>
  leave(): void
}

/** The part of a tunnel that a relay uses. */
type RelayedTunnel = Pick<ProxyTunnel, 'activeAt' | 'isHalfOpen' | 'relay' | 'finish'> & {
  readonly meter: Pick<TunnelMeter, 'takeSent' | 'takeReceived' | 'cut'> & {
    readonly allowance: Pick<ByteAllowance, 'left' | 'isUsedUp' | 'hasSome' | 'askForMore' | 'onChange' | 'subject'>
  }
}

export type RelayDeps = {
  readonly calls: ByteCalls
  readonly pipes: Pick<PipePool, 'take' | 'give'>
  readonly clock: () => number
  readonly queue: (flow: Flow) => void
  readonly noteHeld: (bytes: number) => void
}

const maxReadsPerTurn = 8

/** One direction. */
export class Flow {
  state: FlowState = 'open'
  /** Bytes received before the relay started. */
  early: Uint8Array | undefined
  /** Bytes that the sink did not take; further ones may be in the pipe. */
  held: Uint8Array | undefined
  pipe: KernelPipe | undefined
  /** Large reads go through a pipe. */
  isSplicing = false
  isQueued = false

  constructor(
    private readonly relay: SpliceRelay,
    readonly from: RelayEnd,
    readonly to: RelayEnd,
  ) {}

  takeTurn(): void {
    this.isQueued = false
    this.relay.onTurn(this)
  }

  onFault(): void {
    this.relay.breakOff()
  }
}

/** Relays both directions within the allowance until both sides have ended or one is gone. */
export class SpliceRelay {
  private readonly up: Flow
  private readonly down: Flow
  private isOver = false
  private forget: (() => void) | undefined
  /**
   * Until the client has proved that it reads, the origin can send at most 256 KiB for it: the listener's limit of
   * unsent bytes holds, and no pipe is used. Infinite afterwards.
   */
  private nextCheckBytes: number

  constructor(
    private readonly client: RelayEnd,
    private readonly origin: RelayEnd,
    private readonly tunnel: RelayedTunnel,
    private readonly deps: RelayDeps,
  ) {
    this.up = new Flow(this, client, origin)
    this.down = new Flow(this, origin, client)
    this.nextCheckBytes = client.side.written + provenBytes
  }

  /** `toClient` is not written yet; the others were received before the relay started. */
  start(toClient: Uint8Array | undefined, fromClient: Uint8Array, fromOrigin: Uint8Array): void {
    this.tunnel.relay = this
    if (toClient) {
      this.down.held = toClient
      this.down.state = 'held'
    }
    if (fromClient.length > 0) this.up.early = fromClient
    if (fromOrigin.length > 0) this.down.early = fromOrigin
    this.step(this.up, 'readable')
    if (!this.isOver) this.step(this.down, 'readable')
  }

  onEvents(end: RelayEnd, events: number): void {
    const isClient = end === this.client
    const own = isClient ? this.up : this.down
    if (events & EPOLLRDHUP) end.hasHungUp = true
    if (events & EPOLLERR) end.hasFailed = true
    if (events & EPOLLPRI) end.hasUrgent = true
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
      end.isReadable = true
      this.step(own, 'readable')
      // A paused source would not notice the error.
      if (end.hasFailed && !this.isOver && own.state !== 'open') this.lose(end)
    }
    if (!this.isOver && events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) this.step(isClient ? this.down : this.up, 'writable')
  }

  onTurn(flow: Flow): void {
    if (!this.isOver) this.step(flow, 'readable')
  }

  private step(flow: Flow, event: FlowEvent): void {
    const { action, next } = flowSteps[flow.state][event]
    flow.state = next
    if (action === 'fill') this.fill(flow)
    else if (action === 'drain') this.drain(flow)
    else if (action === 'wait') this.wait()
    else if (action === 'halfClose') this.halfClose(flow)
    else if (action === 'exhaust') this.endGently()
    else if (action === 'fault') throw new Error(`a tunnel’s flow met “${event}” where it cannot happen`)
  }

  private fill(flow: Flow): void {
    for (let reads = 0; reads < maxReadsPerTurn; reads += 1) {
      if (!flow.early && !flow.from.isReadable) return this.givePipe(flow)
      const { left } = this.tunnel.meter.allowance
      if (left <= 0) this.starve(flow)
      else if (flow.early) this.passEarly(flow, flow.early, left)
      else if (flow.isSplicing && !flow.from.hasUrgent) this.splice(flow, left)
      else this.copy(flow, left)
      if (this.isOver || flow.state !== 'open') return
    }
    if (flow.isQueued) return
    flow.isQueued = true
    this.deps.queue(flow)
  }

  /** Without allowance, an end of the stream can still be read. */
  private starve(flow: Flow): void {
    this.givePipe(flow)
    const next = flow.early ? 1 : this.deps.calls.peek(flow.from.descriptor)
    if (next > 0) this.step(flow, 'dry')
    else this.noteUnread(flow, next)
  }

  /** A read returned 0 or an error. */
  private noteUnread(flow: Flow, outcome: number): void {
    if (outcome === 0) this.step(flow, 'ended')
    else if (outcome === -EAGAIN) flow.from.isReadable = false
    else this.lose(flow.from)
  }

  private take(flow: Flow, bytes: number): void {
    this.tunnel.activeAt = this.deps.clock()
    if (flow === this.up) this.tunnel.meter.takeSent(bytes)
    else this.tunnel.meter.takeReceived(bytes)
  }

  private passEarly(flow: Flow, early: Uint8Array, left: number): void {
    const bytes = Math.min(left, early.length)
    flow.early = bytes < early.length ? early.subarray(bytes) : undefined
    this.take(flow, bytes)
    flow.held = early.subarray(0, bytes)
    this.passHeld(flow)
  }

  /** Small reads are cheaper to copy than to splice. */
  private copy(flow: Flow, left: number): void {
    const { calls } = this.deps
    const { from, to } = flow
    const wanted = Math.min(left, readBytes)
    const got = calls.receive(from.descriptor, wanted)
    if (got <= 0) return this.noteUnread(flow, got)
    // The kernel reports a half-close once; it came after these bytes.
    const isEmpty = got < wanted && !from.hasFailed && !from.hasUrgent
    const isLast = isEmpty && from.hasHungUp
    if (isEmpty) from.isReadable = false
    flow.isSplicing = got === readBytes && (flow === this.up || this.nextCheckBytes === Number.POSITIVE_INFINITY)
    this.take(flow, got)
    const gone = calls.pass(to.descriptor, got, isLast)
    if (gone > 0) this.noteWritten(to, gone)
    if (gone < got) {
      flow.held = calls.received.slice(Math.max(0, gone), got)
      this.passHeld(flow)
    }
    if (isLast && !this.isOver) this.step(flow, 'ended')
  }

  /** Large reads stay in the kernel. */
  private splice(flow: Flow, left: number): void {
    flow.pipe ??= this.deps.pipes.take()
    const { pipe, from } = flow
    if (!pipe) return this.copy(flow, left)
    const got = this.deps.calls.fill(from.descriptor, pipe, Math.min(left, pipeBytes))
    if (got <= 0) {
      this.givePipe(flow)
      // Not spliceable: copy instead.
      if (got === -EINVAL) flow.isSplicing = false
      else this.noteUnread(flow, got)
      return
    }
    pipe.held = got
    this.take(flow, got)
    this.passHeld(flow)
  }

  private passHeld(flow: Flow): void {
    if (this.push(flow) === 'blocked') this.step(flow, 'blocked')
  }

  private drain(flow: Flow): void {
    const outcome = this.push(flow)
    if (outcome !== 'lost') this.step(flow, outcome)
  }

  private push(flow: Flow): 'drained' | 'blocked' | 'lost' {
    while (flow.held || (flow.pipe && flow.pipe.held > 0)) {
      const gone = this.pushOnce(flow)
      if (gone > 0) this.noteWritten(flow.to, gone)
      else if (gone === -EAGAIN) {
        this.deps.noteHeld((flow.held?.length ?? 0) + (flow.pipe?.held ?? 0))
        return 'blocked'
      } else {
        this.lose(flow.to)
        return 'lost'
      }
    }
    return 'drained'
  }

  private noteWritten(to: RelayEnd, bytes: number): void {
    to.side.written += bytes
    if (to === this.client && to.side.written >= this.nextCheckBytes) this.checkReading(to)
  }

  private checkReading({ descriptor, side }: RelayEnd): void {
    const { calls } = this.deps
    const isProven = calls.transmissionOf(descriptor).acknowledged >= provenBytes
    this.nextCheckBytes = isProven ? Number.POSITIVE_INFINITY : side.written + lookAgainBytes
    if (!isProven) return
    const isMetered = this.tunnel.meter.allowance.subject.kind === 'subuser'
    calls.limitUnsent(descriptor, isMetered ? maxUnsentBytes : undefined)
  }

  /** `held` is older than the pipe's content. */
  private pushOnce(flow: Flow): number {
    const { held, pipe, to } = flow
    const { calls } = this.deps
    if (held) {
      const gone = calls.send(to.descriptor, held)
      if (gone > 0) flow.held = gone < held.length ? held.subarray(gone) : undefined
      return gone
    }
    if (!pipe) return 0
    const gone = calls.drain(pipe, to.descriptor)
    if (gone > 0) pipe.held -= gone
    return gone
  }

  /** Pauses the tunnel until its byte lease and speed limit let more bytes pass. */
  private wait(): void {
    const { allowance } = this.tunnel.meter
    // Moves to the end of the waiting list, for fairness.
    this.forget?.()
    this.forget = allowance.onChange(() => this.look())
    if (!allowance.hasSome) allowance.askForMore()
    this.look()
  }

  private look(): void {
    const { allowance } = this.tunnel.meter
    const event = allowance.left > 0 ? 'allowed' : allowance.isUsedUp ? 'exhausted' : undefined
    if (!event) return
    if (!this.isOver) this.step(this.up, event)
    if (!this.isOver) this.step(this.down, event)
    if (this.isOver || this.up.state === 'starved' || this.down.state === 'starved') return
    this.forget?.()
    this.forget = undefined
  }

  private halfClose(flow: Flow): void {
    this.givePipe(flow)
    this.tunnel.isHalfOpen = true
    if (this.up.state === 'done' && this.down.state === 'done') {
      this.end()
      this.client.side.release()
      this.origin.side.release()
      return
    }
    flow.to.side.isFinished = true
    this.deps.calls.shutdownWrite(flow.to.descriptor)
  }

  /** A client whose origin is gone still gets the received bytes. */
  private lose(end: RelayEnd): void {
    if (this.isOver) return
    if (end === this.origin) this.endGently()
    else this.breakOff()
  }

  breakOff(): void {
    if (this.isOver) return
    this.end()
    this.client.side.abort()
    this.origin.side.abort()
  }

  private endGently(): void {
    const { held, pipe } = this.down
    const unread = pipe && pipe.held > 0 ? this.deps.calls.reclaim(pipe) : undefined
    this.end()
    this.origin.side.abort()
    if (held) this.client.side.write(held)
    if (unread) this.client.side.write(unread)
    this.client.side.close()
  }

  cut(): void {
    if (this.isOver) return
    this.tunnel.meter.cut()
    this.breakOff()
  }

  private end(): void {
    this.isOver = true
    this.forget?.()
    this.forget = undefined
    this.givePipe(this.up)
    this.givePipe(this.down)
    this.client.leave()
    this.origin.leave()
    this.tunnel.finish()
  }

  private givePipe(flow: Flow): void {
    const { pipe } = flow
    if (!pipe) return
    flow.pipe = undefined
    this.deps.pipes.give(pipe)
  }
}
