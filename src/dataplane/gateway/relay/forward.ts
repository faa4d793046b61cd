import type { Side } from '../sides/side.ts'
import { HttpResponseReader, type ResponseEvent } from '../ways-in/http1/response.ts'
import type { ClientParser, ProxyRequest } from '../ways-in/request.ts'
import { Pipe } from './relay.ts'
import type { ProxyTunnel, StartRelay } from './tunnel.ts'

export type ForwardRequest = Extract<ProxyRequest, { asks: 'forward' }>

export type ForwardOutcome =
  /** With `keepAlive` the next request may follow. */
  | { readonly type: 'done'; readonly keepAlive: boolean }
  /** The origin failed before it answered: the client gets 502. */
  | { readonly type: 'failed' }
  | { readonly type: 'gone' }
  /** The connection is a tunnel now. */
  | { readonly type: 'switched' }

/** One request to one origin and its response, both re-framed. */
export class Forward {
  private readonly response: HttpResponseReader
  private readonly up: Pipe
  private readonly down: Pipe
  /** The final response has started. */
  hasAnswered = false
  hasWholeRequest = false
  private isOver = false
  /** Client bytes that pay() was called for. */
  private noted = 0

  constructor(
    private readonly client: Side,
    private readonly tunnel: ProxyTunnel,
    private readonly request: ForwardRequest,
    private readonly deps: { readonly clock: () => number; readonly startRelay: StartRelay },
    private readonly parser: Pick<ClientParser, 'rest' | 'toHead'>,
    private readonly onOutcome: (outcome: ForwardOutcome) => void,
  ) {
    const { method, upgrade, version, keepAlive } = request
    this.response = new HttpResponseReader({ method, upgrade, clientKeepAlive: keepAlive, clientVersion: version })
    const onExhausted = () => this.finish({ type: 'gone' })
    this.up = new Pipe('up', client, tunnel, deps.clock, { onExhausted, wantsMore: () => !this.hasWholeRequest })
    this.down = new Pipe('down', client, tunnel, deps.clock, { onExhausted })
    tunnel.relay = this
  }

  cut(): void {
    this.tunnel.meter.cut()
    this.finish({ type: 'gone' })
    this.client.abort()
  }

  start(): void {
    const { tunnel } = this
    tunnel.origin.own({
      onData: (bytes) => this.take(this.response.feed(bytes)),
      onEnd: () => this.take(this.response.close()),
      onDrain: () => this.resumeClient(),
      onClose: () => this.take(this.response.close()),
    })
    tunnel.origin.write(this.request.head)
    if (tunnel.origin.isClosed) this.finish({ type: 'failed' })
    else tunnel.origin.resume()
  }

  body(bytes: Uint8Array): void {
    this.up.send(bytes)
  }

  endOfRequest(): void {
    this.hasWholeRequest = true
  }

  /** Charges the client's bytes of this request. While it returns false, pass their effect to whenPaid(). */
  pay(taken: number): boolean {
    const added = taken - this.noted
    this.noted = taken
    return this.up.pay(added)
  }

  whenPaid(act: () => void): void {
    this.up.after(act)
  }

  onClientDrain(): void {
    this.down.resume()
  }

  onClientGone(): void {
    this.finish({ type: 'gone' })
  }

  resumeClient(): void {
    this.up.resume()
  }

  private take(events: readonly ResponseEvent[]): void {
    this.tunnel.activeAt = this.deps.clock()
    for (const event of events) {
      if (this.isOver) return
      this.pass(event)
    }
  }

  /** Keeps the order, also when events wait for traffic. */
  private pass(event: ResponseEvent): void {
    if (event.type === 'broken') {
      this.down.after(() => this.finish(this.hasAnswered ? { type: 'gone' } : { type: 'failed' }))
    } else if (event.type === 'end') {
      this.down.after(() => this.finish({ type: 'done', keepAlive: event.keepAlive && this.hasWholeRequest }))
    } else if (event.type === 'body') this.down.relay(event.bytes)
    else this.passHead(event)
  }

  private passHead({ type, head }: Extract<ResponseEvent, { readonly head: unknown }>): void {
    this.hasAnswered ||= type !== 'interim'
    const bytes = this.parser.toHead?.(head)
    if (bytes) this.down.relay(bytes, type === 'switch' ? () => this.switch() : undefined)
  }

  private switch(): void {
    this.isOver = true
    this.up.close()
    this.down.close()
    this.onOutcome({ type: 'switched' })
    this.deps.startRelay(this.client, this.tunnel, this.parser.rest(), this.response.rest())
  }

  private finish(outcome: ForwardOutcome): void {
    if (this.isOver) return
    this.isOver = true
    this.up.close()
    this.down.close()
    this.tunnel.finish()
    this.tunnel.origin.abort()
    this.onOutcome(outcome)
  }
}
