import { type MaybePromise, whenReady } from '../../../../core/maybe-promise.ts'
import { notInSet, type SetIndex } from '../../../../core/swap-remove-set.ts'
import type { Access, AdmissionVerdict } from '../../access/admission.ts'
import type { WaitingClient } from '../../access/arrivals.ts'
import { Forward, type ForwardOutcome, type ForwardRequest } from '../../relay/forward.ts'
import type { OpenMux } from '../../relay/mux/session.ts'
import type { ProxyTunnel, ProxyTunnels, StartRelay } from '../../relay/tunnel.ts'
import type { OpenCapsules } from '../../relay/udp/capsule-client.ts'
import type { OpenSocket } from '../../relay/udp/socket-client.ts'
import type { Side, SideOwner } from '../../sides/side.ts'
import { withHopDatagrams } from '../../ways-in/hop-datagrams.ts'
import type { RefusalCode } from '../../ways-in/refusals.ts'
import type { Asker, ClientEvent, ClientParser, ProxyRequest, Verdict } from '../../ways-in/request.ts'
import { recognize } from '../../ways-in/table.ts'
import type { Timeouts } from './engine.ts'

export type ConnectionDeps = {
  readonly admit: (asker: Asker, request: ProxyRequest | undefined) => MaybePromise<AdmissionVerdict>
  readonly mainPort: () => number
  readonly tunnels: ProxyTunnels
  readonly startRelay: StartRelay
  readonly openSocket: OpenSocket
  readonly openCapsules: OpenCapsules
  readonly openMux: OpenMux
  readonly clock: () => number
  readonly timeouts: Timeouts
  /** Another process has taken over: close after the current response. */
  readonly isDraining: () => boolean
  readonly onAdmitted: (source: string) => void
  readonly onClosed: (connection: Connection) => void
  readonly onFault: (fault: unknown) => void
}

type Stage = 'reading' | 'busy' | 'closed'
type Refused = { readonly refusal: RefusalCode }
type Pending = { readonly request: ForwardRequest; bodies: Uint8Array[]; hasEnded: boolean }
/** An open tunnel or association, not yet started. */
type Opened = { drop(): void }

const maxRefusals = 20
const nothing = new Uint8Array(0)
const nothingOpened: Opened = { drop() {} }

/**
 * A client until it becomes a tunnel: passes bytes to the parser of its protocol, judges its requests, and writes the
 * parser's answers. This is the hot path, so it uses callbacks: admission and dialling return a value if they can and a
 * promise otherwise (`MaybePromise`), and pass(), use() and guard() take both. A known client is judged in the turn
 * that read its request. With await, each step would cost a promise and wait for the microtasks at the end of the turn.
 */
export class Connection implements SideOwner, WaitingClient {
  /** Infinity while the client is not expected to send. */
  deadlineAt: number
  private stage: Stage = 'reading'
  private judged: { readonly asker: Asker; readonly verdict: AdmissionVerdict } | undefined
  private forward: Forward | undefined
  private pending: Pending | undefined
  private refusals = 0
  /** The claim of the current request was right. */
  private isAdmitted = false
  isUnauthenticated = true
  connectionIndex: SetIndex = notInSet
  before: Connection | undefined
  behind: Connection | undefined
  readonly cameAt: number
  /** The client has half-closed. */
  private hasEnded = false
  /** The client has not read its last response. */
  private isClogged = false

  constructor(
    readonly side: Side,
    readonly source: string,
    private readonly deps: ConnectionDeps,
    /** Undefined until the first byte. */
    private parser?: ClientParser,
  ) {
    side.own(this)
    this.cameAt = deps.clock()
    this.deadlineAt = this.cameAt + deps.timeouts.handshakeMs
  }

  /** Serves a request that the parser has already. */
  begin(): void {
    this.guard(() => this.take(nothing))
  }

  onData(bytes: Uint8Array): void {
    this.guard(() => this.take(bytes))
  }

  private take(bytes: Uint8Array): void {
    if (this.stage === 'closed') return
    this.parser ??= recognize(bytes[0] ?? 0, this)
    const { parser } = this
    if (!parser) return this.close()
    const events = parser.feed(bytes)
    if (!this.forward || this.forward.pay(parser.taken)) this.act(events)
    else this.forward.whenPaid(() => this.act(events))
  }

  /** The port, unless it is the gateway's own. */
  get ownPort(): number | undefined {
    const { arrivedAt } = this.side
    return arrivedAt === this.deps.mainPort() ? undefined : arrivedAt
  }

  onEnd(): void {
    this.hasEnded = true
    // A client may half-close after its request, not within it.
    if (this.forward && !this.forward.hasWholeRequest) this.side.abort()
    else if (this.isIdle) this.side.release()
  }

  onDrain(): void {
    if (this.forward) this.forward.onClientDrain()
    else if (this.isClogged) this.nextRequest()
  }

  onClose(): void {
    this.stage = 'closed'
    this.forward?.onClientGone()
    this.deps.onClosed(this)
  }

  /** No request is under way; a client that has logged in is about to send one. */
  get isResting(): boolean {
    return this.isIdle && !this.judged
  }

  private get isIdle(): boolean {
    return this.stage === 'reading' && !this.forward && !this.isClogged
  }

  /** The client is expected to send. */
  get isWaiting(): boolean {
    return Number.isFinite(this.deadlineAt) && !this.forward && !this.pending
  }

  evict(): void {
    this.side.abort()
  }

  expire(): void {
    const bytes = this.stage === 'reading' && this.parser?.toTimeout?.()
    if (bytes) this.side.write(bytes)
    this.close()
  }

  private fail(fault: unknown): void {
    this.deps.onFault(fault)
    this.side.abort()
  }

  private close(): void {
    this.stage = 'closed'
    this.deadlineAt = Number.POSITIVE_INFINITY
    this.side.close()
    this.deps.onClosed(this)
  }

  /** The connection becomes a tunnel. */
  private leave(): void {
    this.stage = 'closed'
    this.deps.onClosed(this)
  }

  private act(events: readonly ClientEvent[]): void {
    for (const event of events) {
      if (this.stage === 'closed') return
      if (event.type === 'request') this.open(event.request)
      else if (event.type === 'login') this.admitEarly(event.asker)
      else if (event.type === 'body') this.takeBody(event.bytes)
      else if (event.type === 'end') this.takeEnd()
      else if (event.type === 'reply') this.side.write(event.bytes)
      else {
        // A started response can only be cut off.
        if (!this.forward?.hasAnswered) this.side.write(event.bytes)
        this.forward?.onClientGone()
        this.close()
      }
    }
  }

  /** Judges a claim that comes before the request. */
  private admitEarly(asker: Asker): void {
    this.wait()
    this.use(this.deps.admit(asker, undefined), (verdict) => {
      if (this.isGone()) return
      this.judged = { asker, verdict }
      this.isAdmitted = 'access' in verdict
      if (this.isAdmitted) this.noteAdmitted()
      if (this.answer('refusal' in verdict ? this.toRefused(verdict) : { isAdmitted: true })) return this.close()
      this.stage = 'reading'
      this.deadlineAt = this.deps.clock() + this.deps.timeouts.handshakeMs
      this.act(this.parser?.next() ?? [])
      if (this.isIdle) this.side.resume()
    })
  }

  private open(asked: ProxyRequest): void {
    const request = withHopDatagrams(asked)
    this.isAdmitted = false
    if (request.asks === 'forward') return this.openForward(request)
    if (request.asks === 'tunnel') {
      const { target } = request
      const open = (access: Access) => this.deps.tunnels.open(access, target, this.side)
      return this.pass(this.admit(request), open, (tunnel) => this.relay(tunnel))
    }
    const isGone = () => this.isGone()
    if (request.asks === 'check') return this.check(request)
    if (request.asks === 'datagrams')
      this.pass(
        this.admit(request),
        (access) => this.deps.openSocket(access, request, this.side, isGone),
        (client) => {
          this.answer({ isAdmitted: true, bound: client.bound })
          this.leave()
          client.start()
        },
      )
    else if (request.asks === 'streams')
      this.pass(
        this.admit(request),
        (access) => this.deps.openMux(access, this.side),
        (session) => {
          this.answer({ isAdmitted: true })
          this.leave()
          session.start(this.rest())
          if (this.hasEnded) session.onEnd()
        },
      )
    else
      this.pass(
        this.admit(request),
        (access) => this.deps.openCapsules(access, request, this.side, isGone),
        (client) => {
          this.answer({ isAdmitted: true })
          this.leave()
          client.start(this.rest())
          if (this.hasEnded) client.onEnd()
        },
      )
  }

  private check(request: ProxyRequest): void {
    const close = (): void => {
      this.answer({ isAdmitted: true })
      this.close()
    }
    this.pass(this.admit(request), () => nothingOpened, close)
  }

  private relay(tunnel: ProxyTunnel): void {
    this.answer({ isAdmitted: true, leftFrom: tunnel.leftFrom })
    this.leave()
    this.deps.startRelay(this.side, tunnel, this.rest(), tunnel.early)
  }

  private rest(): Uint8Array {
    return this.parser?.rest() ?? nothing
  }

  private admit(request: ProxyRequest): MaybePromise<AdmissionVerdict> {
    const { judged } = this
    return judged?.asker.claim === request.claim ? judged.verdict : this.deps.admit(request, request)
  }

  private noteAdmitted(): void {
    this.isAdmitted = true
    this.isUnauthenticated = false
    this.deps.onAdmitted(this.source)
  }

  private toRefused({ refusal }: Refused): Verdict {
    return { isAdmitted: this.isAdmitted, refusal }
  }

  /** Returns whether it was the last answer. */
  private answer(verdict: Verdict): boolean {
    const answer = this.parser?.answer(verdict, this.refusals < maxRefusals && !this.deps.isDraining())
    if (answer && answer.bytes.length > 0) this.side.write(answer.bytes)
    return answer?.isLast ?? true
  }

  private refuse(refused: Refused): void {
    this.refusals += 1
    if (this.answer(this.toRefused(refused))) this.close()
    else this.nextRequest()
  }

  private nextRequest(): void {
    this.stage = 'reading'
    this.deadlineAt = this.deps.clock() + this.deps.timeouts.betweenRequestsMs
    // Backpressure: no further requests from a client that does not read.
    this.isClogged = this.side.heldBytes > 0
    if (this.isClogged) return
    this.act(this.parser?.next() ?? [])
    if (this.stage !== 'reading' || this.pending) return
    if (this.hasEnded) this.side.release()
    else this.side.resume()
  }

  // --- forwarded requests ---

  private takeBody(bytes: Uint8Array): void {
    if (this.forward) this.forward.body(bytes)
    else this.pending?.bodies.push(bytes)
  }

  private takeEnd(): void {
    if (this.forward) {
      this.forward.endOfRequest()
      this.side.pause()
    } else if (this.pending) this.pending.hasEnded = true
  }

  private openForward(incoming: ForwardRequest): void {
    const request = this.deps.isDraining() ? { ...incoming, keepAlive: false } : incoming
    const pending: Pending = { request, bodies: [], hasEnded: false }
    this.pending = pending
    const open = (access: Access) => this.deps.tunnels.open(access, request.target, this.side)
    // A body and end in the same chunk are parsed first.
    this.pass(Promise.resolve(this.admit(request)), open, (tunnel) => this.startForward(pending, tunnel))
  }

  private startForward(pending: Pending, tunnel: ProxyTunnel): void {
    const { parser } = this
    if (!parser) return tunnel.drop()
    this.stage = 'reading'
    this.pending = undefined
    this.answer({ isAdmitted: true, leftFrom: tunnel.leftFrom })
    const onOutcome = (outcome: ForwardOutcome) => this.afterForward(outcome)
    const forward = new Forward(this.side, tunnel, pending.request, this.deps, parser, onOutcome)
    this.forward = forward
    const begin = (): void => {
      forward.start()
      for (const bytes of pending.bodies) forward.body(bytes)
      if (pending.hasEnded) forward.endOfRequest()
      else if (this.hasEnded) this.side.abort()
      else forward.resumeClient()
    }
    if (forward.pay(parser.taken)) begin()
    else forward.whenPaid(begin)
  }

  private afterForward(outcome: ForwardOutcome): void {
    this.forward = undefined
    if (outcome.type === 'switched') this.leave()
    else if (outcome.type === 'done' && outcome.keepAlive) this.nextRequest()
    else if (outcome.type === 'failed') this.refuse({ refusal: 'origin_failed' })
    else this.close()
  }

  // --- values that may come later ---

  /** Pauses reading until the destination is connected. */
  private wait(): void {
    this.stage = 'busy'
    this.deadlineAt = Number.POSITIVE_INFINITY
    this.side.pause()
  }

  /** Errors close this connection only. */
  private use<Value>(value: MaybePromise<Value>, act: (value: Value) => void): void {
    if (!(value instanceof Promise)) act(value)
    else
      value.then(
        (known) => this.guard(() => act(known)),
        (fault: unknown) => this.fail(fault),
      )
  }

  private guard(act: () => void): void {
    try {
      act()
    } catch (fault) {
      this.fail(fault)
    }
  }

  /** Opens a tunnel or association for an admitted client. The result is dropped if the client has gone. */
  private pass<Result extends Opened>(
    admitted: MaybePromise<AdmissionVerdict>,
    open: (access: Access) => MaybePromise<Result | Refused>,
    act: (opened: Result) => void,
  ): void {
    this.wait()
    const opened = whenReady(admitted, (verdict): MaybePromise<Result | Refused> => {
      if ('refusal' in verdict) return verdict
      this.noteAdmitted()
      return this.isGone() ? { refusal: 'gateway_stopping' } : open(verdict.access)
    })
    this.use(opened, (result) => {
      if (this.isGone()) {
        if (!('refusal' in result)) result.drop()
      } else if ('refusal' in result) {
        this.pending = undefined
        this.refuse(result)
      } else act(result)
    })
  }

  private isGone(): boolean {
    return this.stage === 'closed' || this.side.isClosed
  }
}
