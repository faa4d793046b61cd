import { type MaybePromise, whenReady } from '../../../../core/maybe-promise.ts'
import { notInSet, type SetIndex } from '../../../../core/swap-remove-set.ts'
import type { Access, Admission, AdmissionVerdict, Protocol } from '../../access/admission.ts'
import type { WaitingClient } from '../../access/arrivals.ts'
import { type RefusalCode, refusalOf } from '../../access/refusals.ts'
import { Forward, type ForwardOutcome, type ForwardRequest } from '../../relay/forward.ts'
import type { ProxyTunnel, ProxyTunnels, StartRelay } from '../../relay/tunnel.ts'
import type { ConnectUdp } from '../../relay/udp/connect-udp-front.ts'
import type { Associate } from '../../relay/udp/socks-front.ts'
import type { ConnectTarget } from '../../ways-in/authority.ts'
import type { Credentials } from '../../ways-in/http1/basic-auth.ts'
import { answer } from '../../ways-in/http1/head.ts'
import { type HttpEvent, HttpRequestReader } from '../../ways-in/http1/request.ts'
import { detect, Socks5Reader, type SocksEvent, socks4Refusal, socksReply } from '../../ways-in/socks5/handshake.ts'
import type { Timeouts } from './engine.ts'
import type { Side, SideOwner } from './side.ts'

export type ConnectionDeps = {
  readonly admission: Admission
  readonly admitHop: (ticket: string, target: ConnectTarget) => AdmissionVerdict
  readonly tunnels: ProxyTunnels
  readonly startRelay: StartRelay
  readonly associate: Associate
  readonly connectUdp: ConnectUdp
  readonly clock: () => number
  readonly timeouts: Timeouts
  /** Another process has taken over: close after the current response. */
  readonly isDraining: () => boolean
  readonly onClosed: (connection: Connection) => void
  readonly onFault: (fault: unknown) => void
}

type Stage = 'detect' | 'http' | 'socks' | 'busy' | 'closed'
type Refused = { readonly refusal: RefusalCode }
type Pending = { readonly request: ForwardRequest; bodies: Uint8Array[]; hasEnded: boolean }

const maxRefusals = 20
const established = answer(200, undefined, '')
const nothing = new Uint8Array(0)

/** A client connection until it becomes a tunnel. */
export class Connection implements SideOwner, WaitingClient {
  /** Infinity while the client is not expected to send. */
  deadlineAt: number
  private stage: Stage = 'detect'
  private reader: HttpRequestReader | undefined
  private socks: Socks5Reader | undefined
  private access: Access | undefined
  private forward: Forward | undefined
  private pending: Pending | undefined
  private refusals = 0
  isUnauthenticated = true
  connectionIndex: SetIndex = notInSet
  before: Connection | undefined
  behind: Connection | undefined
  readonly cameAt: number
  /** The client has half-closed. */
  private hasEnded = false
  /** The client has not read its last response. */
  private isClogged = false
  /** Reported in the SOCKS reply to the request. */
  private denial: RefusalCode | undefined

  constructor(
    readonly side: Side,
    readonly source: string,
    private readonly deps: ConnectionDeps,
  ) {
    side.own(this)
    this.cameAt = deps.clock()
    this.deadlineAt = this.cameAt + deps.timeouts.handshakeMs
  }

  onData(bytes: Uint8Array): void {
    this.guard(() => this.take(bytes))
  }

  private take(bytes: Uint8Array): void {
    if (this.stage === 'detect') this.begin(bytes[0] ?? 0)
    if (this.stage === 'closed') return
    if (this.socks) return this.takeSocks(this.socks.feed(bytes))
    const events = this.http.feed(bytes)
    if (!this.forward || this.forward.pay(this.http.taken)) this.takeHttp(events)
    else this.forward.whenPaid(() => this.takeHttp(events))
  }

  private get http(): HttpRequestReader {
    this.reader ??= new HttpRequestReader()
    return this.reader
  }

  onEnd(): void {
    this.hasEnded = true
    // A client may half-close after its request, not within it.
    if (this.forward && !this.forward.hasWholeRequest) this.side.abort()
    else if (this.isResting || this.stage === 'socks') this.side.release()
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

  /** No request is under way. */
  get isResting(): boolean {
    return this.stage === 'detect' || (this.stage === 'http' && !this.forward && !this.isClogged)
  }

  /** The client is expected to send. */
  get isWaiting(): boolean {
    return Number.isFinite(this.deadlineAt) && !this.forward && !this.pending
  }

  evict(): void {
    this.side.abort()
  }

  expire(): void {
    if (this.stage === 'http') this.side.write(httpAnswer('handshake_timeout', true, false))
    this.close()
  }

  private begin(firstByte: number): void {
    const dialect = detect(firstByte)
    if (dialect === 'http') this.stage = 'http'
    else if (dialect === 'socks5') {
      this.stage = 'socks'
      this.socks = new Socks5Reader({ allowAnonymous: this.deps.admission.isCustomerPort(this.side.arrivedAt) })
    } else {
      if (dialect === 'socks4') this.side.write(socks4Refusal)
      this.close()
    }
  }

  private fail(fault: unknown): void {
    this.deps.onFault(fault)
    this.side.abort()
  }

  private closeWith(lastBytes: Uint8Array): void {
    this.side.write(lastBytes)
    this.close()
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

  // --- HTTP ---

  private takeHttp(events: readonly HttpEvent[]): void {
    for (const event of events) {
      if (this.stage === 'closed') return
      if (event.type === 'tunnel') this.openTunnel(event)
      else if (event.type === 'udp') this.openUdp(event)
      else if (event.type === 'request') this.openForward(event)
      else if (event.type === 'body') this.takeBody(event.bytes)
      else if (event.type === 'end') this.takeEnd()
      else {
        const message = event.message.charAt(0).toUpperCase() + event.message.slice(1)
        // A started response can only be cut off.
        if (!this.forward?.hasAnswered) this.side.write(answer(event.status, event.code, message))
        this.forward?.onClientGone()
        this.close()
      }
    }
  }

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

  private openTunnel({ target, credentials, ticket, keepAlive }: Extract<HttpEvent, { type: 'tunnel' }>): void {
    const admitted = ticket === undefined ? this.admit(credentials, 'http') : this.deps.admitHop(ticket, target)
    this.passTunnel(target, admitted, (tunnel) => {
      if ('refusal' in tunnel) this.refuseHttp(tunnel.refusal, keepAlive && ticket === undefined, false)
      else {
        this.side.write(tunnel.extra ? answer(200, undefined, '', tunnel.extra) : established)
        this.relay(tunnel, this.http.rest())
      }
    })
  }

  private openUdp({ target, credentials, keepAlive }: Extract<HttpEvent, { type: 'udp' }>): void {
    const open = (access: Access) => this.deps.connectUdp(access, target, this.side, () => this.isGone())
    this.pass(this.admit(credentials, 'http'), open, (front) => {
      if ('refusal' in front) return this.refuseHttp(front.refusal, keepAlive, false)
      this.side.write(front.reply)
      this.leave()
      front.start(this.http.rest())
      if (this.hasEnded) front.onEnd()
    })
  }

  private openForward(incoming: ForwardRequest): void {
    const request = this.deps.isDraining() ? { ...incoming, keepAlive: false } : incoming
    const pending: Pending = { request, bodies: [], hasEnded: false }
    this.pending = pending
    // A body and end in the same chunk are parsed first.
    this.passTunnel(request.target, Promise.resolve(this.admit(request.credentials, 'http')), (tunnel) => {
      this.pending = undefined
      if ('refusal' in tunnel)
        this.refuseHttp(tunnel.refusal, request.keepAlive && pending.hasEnded, request.method === 'HEAD')
      else this.startForward(request, pending, tunnel)
    })
  }

  private startForward(request: ForwardRequest, pending: Pending, tunnel: ProxyTunnel): void {
    this.stage = 'http'
    const rest = () => this.http.rest()
    const onOutcome = (outcome: ForwardOutcome) => this.afterForward(outcome, request)
    const forward = new Forward(this.side, tunnel, request, this.deps, rest, onOutcome)
    this.forward = forward
    const begin = (): void => {
      forward.start()
      for (const bytes of pending.bodies) forward.body(bytes)
      if (pending.hasEnded) forward.endOfRequest()
      else if (this.hasEnded) this.side.abort()
      else forward.resumeClient()
    }
    if (forward.pay(this.http.taken)) begin()
    else forward.whenPaid(begin)
  }

  private afterForward(outcome: ForwardOutcome, request: ForwardRequest): void {
    this.forward = undefined
    if (outcome.type === 'switched') this.leave()
    else if (outcome.type === 'done' && outcome.keepAlive) this.nextRequest()
    else if (outcome.type === 'failed')
      this.refuseHttp('origin_failed', this.http.isWaiting && request.keepAlive, request.method === 'HEAD')
    else this.close()
  }

  private nextRequest(): void {
    this.stage = 'http'
    this.deadlineAt = this.deps.clock() + this.deps.timeouts.betweenRequestsMs
    // Backpressure: no further requests from a client that does not read.
    this.isClogged = this.side.heldBytes > 0
    if (this.isClogged) return
    this.takeHttp(this.http.next())
    if (this.stage !== 'http' || this.pending) return
    if (this.hasEnded) this.side.release()
    else this.side.resume()
  }

  private admit(credentials: Credentials | undefined, protocol: Protocol): MaybePromise<AdmissionVerdict> {
    const { source, side } = this
    return this.deps.admission.admit({ credentials, protocol, source, port: side.arrivedAt })
  }

  private refuseHttp(code: RefusalCode, mayKeep: boolean, isHead: boolean): void {
    this.refusals += 1
    const keep = mayKeep && this.refusals < maxRefusals
    this.side.write(httpAnswer(code, !keep, isHead))
    if (keep) this.nextRequest()
    else this.close()
  }

  // --- SOCKS5 ---

  private takeSocks(events: readonly SocksEvent[]): void {
    for (const event of events) {
      if (this.stage === 'closed') return
      if (event.type === 'reply') this.side.write(event.bytes)
      else if (event.type === 'credentials') this.admitSocks(event)
      else if (event.type === 'connect') this.connectSocks(event.target)
      else if (event.type === 'associate') this.associateSocks()
      else this.closeWith(event.bytes)
    }
  }

  /** RFC 1929 reports wrong credentials; every other refusal waits for the request's reply. */
  private admitSocks({ credentials }: Extract<SocksEvent, { type: 'credentials' }>): void {
    this.wait()
    this.use(this.admit(credentials, 'socks'), (verdict) => {
      if (this.isGone() || !this.socks) return
      if ('refusal' in verdict && verdict.refusal === 'bad_credentials') return this.closeWith(this.socks.deny())
      if ('access' in verdict) {
        this.access = verdict.access
        this.isUnauthenticated = false
      } else this.denial = verdict.refusal
      this.stage = 'socks'
      this.deadlineAt = this.deps.clock() + this.deps.timeouts.handshakeMs
      this.side.write(this.socks.accept())
      this.takeSocks(this.socks.next())
      if (this.stage === 'socks') this.side.resume()
    })
  }

  private admitRequest(): MaybePromise<AdmissionVerdict> {
    const { denial, access } = this
    return denial ? { refusal: denial } : access ? { access } : this.admit(undefined, 'socks')
  }

  private connectSocks(target: ConnectTarget): void {
    this.passTunnel(target, this.admitRequest(), (tunnel) => {
      if ('refusal' in tunnel) return this.closeWith(socksReply(refusalOf(tunnel.refusal).socks))
      this.side.write(socksReply(0))
      this.relay(tunnel, this.socks?.rest() ?? nothing)
    })
  }

  private associateSocks(): void {
    const open = (access: Access) => this.deps.associate(access, this.side, this.source, () => this.isGone())
    this.pass(this.admitRequest(), open, (front) => {
      if ('refusal' in front) return this.closeWith(socksReply(refusalOf(front.refusal).socks))
      this.side.write(front.reply)
      this.leave()
      front.start()
    })
  }

  // --- both ---

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

  private passTunnel(
    target: ConnectTarget,
    admitted: MaybePromise<AdmissionVerdict>,
    act: (opened: ProxyTunnel | Refused) => void,
  ): void {
    this.pass(admitted, (access) => this.deps.tunnels.open(access, target, this.side), act)
  }

  /** Opens a tunnel or association for an admitted client. The result is dropped if the client has gone. */
  private pass<Opened extends { drop(): void }>(
    admitted: MaybePromise<AdmissionVerdict>,
    open: (access: Access) => MaybePromise<Opened | Refused>,
    act: (opened: Opened | Refused) => void,
  ): void {
    this.wait()
    const opened = whenReady(admitted, (verdict): MaybePromise<Opened | Refused> => {
      if ('refusal' in verdict) return verdict
      this.isUnauthenticated = false
      return this.isGone() ? { refusal: 'gateway_stopping' } : open(verdict.access)
    })
    this.use(opened, (result) => {
      if (!this.isGone()) act(result)
      else if (!('refusal' in result)) result.drop()
    })
  }

  private relay(tunnel: ProxyTunnel, early: Uint8Array): void {
    this.leave()
    this.deps.startRelay(this.side, tunnel, early, tunnel.early)
  }

  private isGone(): boolean {
    return this.stage === 'closed' || this.side.isClosed
  }
}

function httpAnswer(code: RefusalCode, close: boolean, isHead: boolean): Uint8Array {
  const { status, message } = refusalOf(code)
  return answer(status, code, message, {}, close, isHead)
}
