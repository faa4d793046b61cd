import type { Exchange, ExchangeOwner, UploadExchange } from '../../site/carried/exchange.ts'
import type { SessionNeighbours } from '../../site/carried/xhttp.ts'
import { toXhttpFields } from '../../ways-in/xhttp/request.ts'
import { MessageSocket } from './message-socket.ts'
import type { Reactor } from './reactor.ts'

/**
 * A request that uploads, between the reactor that has its connection and the one that has its session: a pair of
 * sockets for each. First byte of a message to the session's reactor, and from it.
 */
const toSession = { bytes: 0, end: 1 }
const fromSession = { read: 0, admit: 1, begin: 2, whole: 3, end: 4 }
/** Bytes of the body in a message. */
const partBytes = 32 * 1024

export type PassedUpload = {
  readonly name: string
  /** Of a packet. */
  readonly seq: number | undefined
  readonly descriptor: number
}

/** To the main thread: where sessions are, and where uploads wait for them. */
export type FromSessions =
  | { readonly type: 'session'; readonly name: string; readonly is: 'open' | 'sought' | 'left' | 'ended' }
  | ({ readonly type: 'upload' } & PassedUpload)

/** From the main thread. */
export type ToSessions =
  /** Another reactor has the session. */
  | { readonly type: 'session-found'; readonly name: string }
  /** The session was in another reactor. */
  | { readonly type: 'session-ended'; readonly name: string }
  | ({ readonly type: 'passed-upload'; readonly id: number } & PassedUpload)

/** In the reactor of the connection: passes the body on, and answers as the session says. */
class UploadSender implements ExchangeOwner {
  private readonly socket: MessageSocket
  private hasAnswered = false

  constructor(
    reactor: Reactor,
    descriptor: number,
    private readonly exchange: Exchange,
    private readonly random: () => number,
  ) {
    this.socket = new MessageSocket(reactor, descriptor, {
      onMessage: ([kind]) => this.take(kind),
      onDrain: () => exchange.resume(),
      onClose: () => this.lose(),
    })
    this.socket.resume()
  }

  onBody(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += partBytes) {
      const part = bytes.subarray(at, at + partBytes)
      const message = new Uint8Array(1 + part.length)
      message[0] = toSession.bytes
      message.set(part, 1)
      this.socket.send(message)
    }
    if (this.socket.isFull) this.exchange.pause()
  }

  onBodyEnd(): void {
    this.socket.send(Uint8Array.of(toSession.end))
  }

  onDrain(): void {}

  onClose(): void {
    this.hasAnswered = true
    this.socket.close()
  }

  private take(kind: number | undefined): void {
    const { exchange } = this
    if (kind === fromSession.read) exchange.resume()
    else if (kind === fromSession.admit) exchange.admit()
    else if (kind === fromSession.begin) exchange.respond(200, toXhttpFields(this.random, true), false)
    else {
      this.hasAnswered = true
      if (kind === fromSession.whole) exchange.respond(200, toXhttpFields(this.random, false), true)
      else exchange.end()
      this.socket.close()
    }
  }

  private lose(): void {
    if (!this.hasAnswered) this.exchange.terminate()
  }
}

/** In the reactor of the session: the upload as if its connection were here. */
export class UploadReceiver implements UploadExchange {
  owner: ExchangeOwner | undefined
  private readonly socket: MessageSocket
  private isRead = false
  private isOver = false

  constructor(reactor: Reactor, descriptor: number) {
    this.socket = new MessageSocket(reactor, descriptor, {
      onMessage: (message) => this.take(message),
      onDrain() {},
      onClose: () => this.lose(),
    })
  }

  admit(): void {
    this.say(fromSession.admit)
  }

  respond(...[, , isEnd]: Parameters<UploadExchange['respond']>): void {
    this.say(isEnd ? fromSession.whole : fromSession.begin)
    if (isEnd) this.close()
  }

  end(): void {
    this.say(fromSession.end)
    this.close()
  }

  terminate(): void {
    this.socket.close()
    this.lose()
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    if (!this.isRead) this.say(fromSession.read)
    this.isRead = true
    this.socket.resume()
  }

  private say(kind: number): void {
    this.socket.send(Uint8Array.of(kind))
  }

  private take(message: Uint8Array): void {
    if (message[0] === toSession.bytes) this.owner?.onBody(message.subarray(1))
    else this.owner?.onBodyEnd()
  }

  /** The answer is on its way: the other end still reads it. */
  private close(): void {
    this.isOver = true
    this.socket.close()
  }

  private lose(): void {
    if (this.isOver) return
    this.isOver = true
    this.owner?.onClose()
  }
}

/** The other reactors, for the sessions of one: messages by the main thread, and bytes by pairs of sockets. */
export function createSessionNeighbours(
  reactor: Reactor,
  post: (message: FromSessions) => void,
  random: () => number,
): SessionNeighbours {
  const tell = (name: string, is: 'open' | 'sought' | 'left' | 'ended'): void => post({ type: 'session', name, is })
  return {
    open: (name) => tell(name, 'open'),
    seek: (name) => tell(name, 'sought'),
    leave: (name, hasEnded) => tell(name, hasEnded === true ? 'ended' : 'left'),
    pass(name, seq, exchange) {
      const pair = reactor.kernel.openPair(true)
      if (typeof pair === 'number') return exchange.terminate()
      const [near, far] = pair
      if (!reactor.descriptors.own(near)) {
        reactor.kernel.close(far)
        return exchange.terminate()
      }
      exchange.owner = new UploadSender(reactor, near, exchange, random)
      // No reactor owns it meanwhile: closing it twice would close another one.
      post({ type: 'upload', name, seq, descriptor: far })
    },
  }
}
