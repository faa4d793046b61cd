import type { HttpEvent } from '../../protocol/http-request.ts'
import { HttpResponseReader, type ResponseEvent } from '../../protocol/http-response.ts'
import type { Passage } from './door.ts'
import { Relay } from './relay.ts'
import type { Side } from './side.ts'

export type ForwardRequest = Extract<HttpEvent, { type: 'request' }>

/** What becomes of a forwarded request, for whoever reads the client's connection. */
export type ForwardOutcome =
  /** The answer is through; with `keepAlive` the next request may come. */
  | { readonly type: 'done'; readonly keepAlive: boolean }
  /** The origin failed before it said anything: the client can be told. */
  | { readonly type: 'failed' }
  /** Nothing more can be said on this connection. */
  | { readonly type: 'gone' }
  /** The connection is now a tunnel and no longer the reader's business. */
  | { readonly type: 'switched' }

/** One request to one origin, and its answer, each in the framing that was read, never the one that was sent. */
export class Forward {
  private readonly response: HttpResponseReader
  /** The client has got something of the final answer. */
  hasAnswered = false
  /** All of the request has come from the client. */
  hasWholeRequest = false
  private isOver = false
  /** Of the client's bytes, those that were asked to be paid, and those of them that are not. */
  private noted = 0
  private owing = 0
  /** What the client has said and not paid for yet, and what is to be said to it. */
  private unpaid: (() => void)[] = []
  private waiting: (() => void)[] = []
  private forget: (() => void) | undefined

  constructor(
    private readonly client: Side,
    private readonly passage: Passage,
    private readonly request: ForwardRequest,
    private readonly clock: () => number,
    private readonly rest: () => Uint8Array,
    private readonly onOutcome: (outcome: ForwardOutcome) => void,
  ) {
    const { method, upgrade, version, keepAlive } = request
    this.response = new HttpResponseReader({ method, upgrade, clientKeepAlive: keepAlive, clientVersion: version })
    passage.cut = () => {
      passage.tally.cut()
      this.finish({ type: 'gone' })
      client.abort()
    }
  }

  start(): void {
    const { passage } = this
    passage.origin.own({
      onData: (bytes) => this.take(this.response.feed(bytes)),
      onEnd: () => this.take(this.response.close()),
      onDrain: () => this.resumeClient(),
      onClose: () => this.take(this.response.close()),
    })
    passage.origin.write(this.request.head)
    if (passage.origin.isClosed) this.finish({ type: 'failed' })
    else passage.origin.resume()
  }

  /** A piece of the client's body, already in the framing the origin gets. */
  body(bytes: Uint8Array): void {
    if (this.isOver) return
    const isClear = this.passage.origin.write(bytes)
    this.passage.valves.up.passed()
    if (!isClear) this.client.pause()
  }

  endOfRequest(): void {
    this.hasWholeRequest = true
  }

  /**
   * Pays for so many of the client's bytes as the request has come to. Nothing happens with them before that: false means that what they said is
   * to be handed to whenPaid().
   */
  pay(taken: number): boolean {
    this.passage.activeAt = this.clock()
    this.owing += taken - this.noted
    this.noted = taken
    return this.payOwing()
  }

  whenPaid(act: () => void): void {
    this.unpaid.push(act)
  }

  onClientDrain(): void {
    if (this.waiting.length === 0) this.passage.origin.resume()
  }

  onClientGone(): void {
    this.finish({ type: 'gone' })
  }

  private payOwing(): boolean {
    if (this.owing > 0 && !this.isOver) this.owing -= this.passage.tally.takeSent(this.owing)
    if (this.owing === 0) return true
    this.client.pause()
    this.hopeForTraffic()
    return false
  }

  private take(events: readonly ResponseEvent[]): void {
    this.passage.activeAt = this.clock()
    for (const event of events) {
      if (this.isOver) return
      // Once one piece waits for traffic, all that follow wait behind it.
      if (this.waiting.length > 0) {
        const kept = 'bytes' in event ? { ...event, bytes: event.bytes.slice() } : event
        this.waiting.push(() => this.pass(kept))
      } else this.pass(event)
    }
  }

  private pass(event: ResponseEvent): void {
    if (event.type === 'broken') {
      this.finish(this.hasAnswered ? { type: 'gone' } : { type: 'failed' })
      return
    }
    if (event.type === 'end') {
      this.finish({ type: 'done', keepAlive: event.keepAlive && this.hasWholeRequest })
      return
    }
    const bytes = event.type === 'head' ? withExtra(event.bytes, this.passage.extra) : event.bytes
    this.hasAnswered ||= event.type !== 'interim'
    this.deliver(bytes, event.type === 'switch' ? () => this.switch() : undefined)
  }

  private deliver(bytes: Uint8Array, then: (() => void) | undefined): void {
    if (this.isOver) return
    const taken = this.passage.tally.takeReceived(bytes.length)
    const isClear = taken === 0 || this.client.write(taken < bytes.length ? bytes.subarray(0, taken) : bytes)
    this.passage.valves.down.passed()
    if (!isClear) this.passage.origin.pause()
    if (taken === bytes.length) then?.()
    else {
      const rest = bytes.slice(taken)
      this.wait(() => this.deliver(rest, then))
    }
  }

  /** 101: from here on both sides speak something else. */
  private switch(): void {
    this.isOver = true
    this.onOutcome({ type: 'switched' })
    new Relay(this.client, this.passage, this.clock).start(this.rest(), this.response.rest())
  }

  private wait(again: () => void): void {
    this.passage.origin.pause()
    this.waiting.unshift(again)
    this.hopeForTraffic()
  }

  private hopeForTraffic(): void {
    const { account } = this.passage.tally
    this.forget ??= account.onChange(() => this.goOn())
    if (account.isUsedUp) this.finish({ type: 'gone' })
  }

  private goOn(): void {
    const { account } = this.passage.tally
    if (!account.hasSome && account.isUsedUp) this.finish({ type: 'gone' })
    if (!account.hasSome || this.isOver || !this.payOwing()) return
    const acts = this.unpaid
    this.unpaid = []
    for (const act of acts) if (!this.isOver) act()
    if (!this.deliverWaiting()) return
    this.forget?.()
    this.forget = undefined
    if (this.client.heldBytes === 0) this.passage.origin.resume()
    this.resumeClient()
  }

  /** False when something still waits, or all is over. */
  private deliverWaiting(): boolean {
    const pieces = this.waiting
    this.waiting = []
    for (const [index, piece] of pieces.entries()) {
      if (this.isOver) return false
      piece()
      if (this.waiting.length > 0) {
        this.waiting.push(...pieces.slice(index + 1))
        return false
      }
    }
    return !this.isOver
  }

  resumeClient(): void {
    if (this.owing === 0 && this.passage.origin.heldBytes === 0 && !this.hasWholeRequest) this.client.resume()
  }

  private finish(outcome: ForwardOutcome): void {
    if (this.isOver) return
    this.isOver = true
    this.forget?.()
    this.waiting = []
    this.unpaid = []
    this.passage.finish()
    this.passage.origin.abort()
    this.onOutcome(outcome)
  }
}

const lineEnd = Buffer.from('\r\n\r\n')

/** Our own facts stand at the end of the head. */
function withExtra(head: Uint8Array, extra: Readonly<Record<string, string>>): Uint8Array {
  const fields = Object.entries(extra).map(([name, value]) => `${name}: ${value}\r\n`)
  if (fields.length === 0) return head
  return Buffer.concat([head.subarray(0, head.length - lineEnd.length + 2), Buffer.from(`${fields.join('')}\r\n`)])
}
