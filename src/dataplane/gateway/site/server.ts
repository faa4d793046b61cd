import type { MaybePromise } from '../../../core/maybe-promise.ts'
import type { After } from '../../../core/time.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import { Seats } from '../../tls/seats.ts'
import type { TlsSocket } from '../../tls/tls-socket.ts'
import { createCustomerCheck } from '../access/customer-check.ts'
import { createKeyCheck, type KeyCheck } from '../access/key-check.ts'
import type { Sockets } from '../sides/sockets.ts'
import type { StreamPlace } from '../sides/stream-delivery.ts'
import type { TlsClient } from '../sides/tls-client.ts'
import type { Credentials } from '../ways-in/http1/basic-auth.ts'
import type { Field } from '../ways-in/http2/hpack.ts'
import { readDeviceProtocols } from '../ways-in/http2/request.ts'
import type { Http2Stream } from '../ways-in/http2/stream.ts'
import { KeyReader } from '../ways-in/key-reader.ts'
import type { ClientParser } from '../ways-in/request.ts'
import { readXhttpRequest, splitPath } from '../ways-in/xhttp/request.ts'
import { maxBodyBytes } from './answer.ts'
import type { CarriedDeps } from './carried/client.ts'
import { Http2Exchange } from './carried/exchange.ts'
import { type SessionNeighbours, XhttpSessions } from './carried/xhttp.ts'
import {
  plainAnswer,
  type SiteAnswer,
  type SiteContent,
  type SiteRequest,
  type SiteSource,
  toContent,
} from './content.ts'
import { FairBudget } from './fair-budget.ts'
import { SiteVisitor } from './http1.ts'
import { readStreamRequest, StreamVisitor } from './http2.ts'
import type { ConnectedVisitor, VisitedSite } from './visited-site.ts'

/** Bodies that are being received, and answers that clients do not read: in all, and of one client prefix. */
const heldLimits = { all: 64 * 1024 * 1024, ofPrefix: 4 * 1024 * 1024 }

/** The part of one of the threads that have a site; never less than one body or one answer. */
const heldLimitsOf = (threads: number) => {
  const all = heldLimits.all / threads
  const ofBodies = Math.max(maxBodyBytes, heldLimits.ofPrefix / threads)
  const ofAnswers = heldLimits.ofPrefix + 64 * 1024
  return {
    bodies: { all, ofPrefix: ofBodies },
    answers: { all: Math.max(all, ofAnswers), ofPrefix: ofAnswers },
  }
}
const allowed: Field = ['allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']
const udpPath = '/.well-known/masque/udp/'
const nothing = new Uint8Array(0)

export type SiteServerDeps = {
  readonly content: SiteContent
  /** Whether the values of Proxy-Authorization are those of a customer or of another gateway. Does not wait. */
  readonly isCustomer: (authorization: readonly string[], ofDevice?: readonly GatewayProtocol[]) => boolean
  /** The same of credentials that were a customer's before, at less cost. */
  readonly isProven?: (credentials: Credentials) => boolean
  /** Finds VPN devices by keys and paths. Does not wait. */
  readonly keys?: KeyCheck | undefined
  /** The server name of clients that are not shown the site. */
  readonly challengeHost: string | undefined
  /** Serves a customer's connection. The bytes that were read come first. */
  readonly handOver: (client: TlsClient) => void
  readonly sockets: Sockets
  readonly after: After
  readonly onFault: (fault: unknown) => void
  /** Threads of the gateway that have a site, which share its limits. */
  readonly threads?: number
  /** Where sessions of XHTTP are that this thread does not have. */
  readonly neighbours?: SessionNeighbours | undefined
}

/** The site of a gateway as data, for the threads that do TLS. */
export type SiteTerms = {
  readonly source: SiteSource
  readonly challengeHost: string | undefined
  /** Of the MACs in passwords, newest first. */
  readonly passwordKeys: readonly Uint8Array[]
  /** The gateway serves VPN devices. */
  readonly hasDevices?: boolean
}

/** Opens the site on this thread. */
export function openSite(
  terms: SiteTerms,
  deps: Pick<SiteServerDeps, 'sockets' | 'after' | 'onFault' | 'threads' | 'neighbours'> & {
    readonly take: (client: TlsClient) => void
    readonly snapshot: Snapshot
    /** Replaces the content of the source, for a thread without an event loop. */
    readonly content?: SiteContent
  },
) {
  let { passwordKeys } = terms
  const check = createCustomerCheck({
    snapshot: deps.snapshot,
    passwordKeys: () => passwordKeys,
    sha256: (text) => Bun.SHA256.hash(text) as Uint8Array,
    hmac: (key, text) => new Bun.CryptoHasher('sha256', key).update(text).digest(),
  })
  const site = new SiteServer({
    ...deps,
    handOver: deps.take,
    content: deps.content ?? toContent(terms.source),
    ...check,
    keys: createKeyCheck(deps.snapshot, (text) => Bun.SHA256.hash(text) as Uint8Array),
    challengeHost: terms.challengeHost,
  })
  return {
    site,
    setPasswordKeys: (keys: readonly Uint8Array[]): void => {
      passwordKeys = keys
    },
  }
}

const faultEveryMs = 10_000
/** Each holds a connection's place and at most 128 KiB. */
const waitingRequests = { all: 1024, ofPrefix: 128 }
/** Packets that their connections have read ahead. Xray's client sends a megabyte in each. */
const readAheadLimits = { all: 64 * 1024 * 1024, ofDevice: 8 * 1024 * 1024 }
const readAheadLimitsOf = (threads: number) => ({
  all: readAheadLimits.all / threads,
  ofPrefix: readAheadLimits.ofDevice / threads,
})

/** A web site on a gateway's TLS port. Requests with a customer's credentials go to the engine instead. */
export class SiteServer implements VisitedSite {
  private readonly seats = new Seats(0, () => 0)
  private readonly visitors = new Set<ConnectedVisitor>()
  readonly bodies: FairBudget
  readonly answers: FairBudget
  private date = { second: 0, text: '' }
  isDraining = false
  private isFaultNoted = false
  /** Requests since the start. */
  requests = 0

  readonly carried: CarriedDeps
  readonly xhttp: XhttpSessions
  readonly readAhead: FairBudget

  constructor(readonly deps: SiteServerDeps) {
    const { handOver, after, keys } = deps
    const waiting = new FairBudget(waitingRequests)
    this.carried = { handOver, after, waiting, findKeyed: (first) => keys?.findKeyed(first) }
    this.xhttp = new XhttpSessions({ ...this.carried, random: Math.random }, deps.neighbours)
    this.readAhead = new FairBudget(readAheadLimitsOf(deps.threads ?? 1))
    const limits = heldLimitsOf(deps.threads ?? 1)
    this.bodies = new FairBudget(limits.bodies)
    this.answers = new FairBudget(limits.answers)
  }

  /** Open HTTP/1 connections without a customer's request. */
  get open(): number {
    return this.visitors.size
  }

  /** Serves an HTTP/1 connection. */
  take(tls: TlsSocket): void {
    const visitor = new SiteVisitor(tls, this)
    this.visitors.add(visitor)
    this.seats.add(visitor.seat)
    tls.owner = visitor
  }

  /** Serves a request of an HTTP/2 connection. False if it is a customer's. */
  takeStream(stream: Http2Stream, fields: readonly Field[], source: string, place: StreamPlace): boolean {
    const read = (name: string) => fields.flatMap(([each, value]) => (each === name ? value : []))
    if (this.isCustomer(read, read(':path')[0] ?? '')) return false
    const request = readStreamRequest(fields)
    const device = request && this.isOn('xhttp') ? this.findPath(splitPath(request.path).path) : undefined
    const asked =
      device === undefined || !request ? undefined : readXhttpRequest(request.method, request.path, request.fields)
    if (device !== undefined && asked) this.xhttp.take(device, asked, new Http2Exchange(stream, place, source))
    else if (request) stream.owner = new StreamVisitor(stream, request, source, this)
    else stream.reset('protocol')
    return true
  }

  isFor(tls: TlsSocket): boolean {
    const { challengeHost } = this.deps
    return challengeHost === undefined || tls.serverName !== challengeHost
  }

  /** RFC 9298, 3: a client of connect-udp may send Authorization. */
  isCustomer(read: (name: string) => readonly string[], target: string): boolean {
    const ofProxy = read('proxy-authorization')
    const values = ofProxy.length === 0 && target.includes(udpPath) ? read('authorization') : ofProxy
    return this.deps.isCustomer(values, readDeviceProtocols(read))
  }

  isProven(credentials: Credentials): boolean {
    return this.deps.isProven?.(credentials) === true
  }

  findKeyed(first: Uint8Array, source: string): ClientParser | undefined {
    const found = this.deps.keys?.findKeyed(first)
    if (found && !this.isOn(found.protocol.name)) return undefined
    return found && new KeyReader({ source, ownPort: undefined }, found.protocol)
  }

  findPath(path: string): string | undefined {
    return this.deps.keys?.findPath(path)
  }

  isOn(protocol: GatewayProtocol): boolean {
    return this.deps.keys?.isOn(protocol) ?? false
  }

  readmit(visitor: ConnectedVisitor): void {
    this.visitors.add(visitor)
    this.seats.add(visitor.seat)
  }

  /** Closes the least recently used HTTP/1 connection of the largest network. False if there is none. */
  makeRoom(): boolean {
    if (this.visitors.size === 0) return false
    this.seats.makeRoom()
    return true
  }

  touch(visitor: ConnectedVisitor): void {
    if (this.visitors.has(visitor)) this.seats.touch(visitor.seat)
  }

  forget(visitor: ConnectedVisitor): void {
    if (this.visitors.delete(visitor)) this.seats.remove(visitor.seat)
  }

  /** Another process has taken over: connections close after their current answer. */
  drain(): void {
    this.isDraining = true
    for (const visitor of this.visitors) visitor.drain()
  }

  answer(request: SiteRequest, signal: AbortSignal): MaybePromise<SiteAnswer> {
    this.requests += 1
    const { method, path } = request
    if (method === 'CONNECT' || method === 'TRACE') return plainAnswer(405, undefined, allowed)
    if (path === '*') return { status: 200, fields: [], body: nothing }
    const answer = this.deps.content(request, signal)
    if (!(answer instanceof Promise)) return answer
    return answer.catch((fault: unknown) => {
      this.noteFault(fault, signal)
      return plainAnswer(500)
    })
  }

  /** Reports at most one fault in ten seconds, because visitors cause them. A visitor that left caused none. */
  noteFault(fault: unknown, signal: AbortSignal): void {
    if (signal.aborted || this.isFaultNoted) return
    this.isFaultNoted = true
    this.deps.after(faultEveryMs, () => {
      this.isFaultNoted = false
    })
    this.deps.onFault(fault)
  }

  /** Fields of an answer with its date and length. */
  complete({ status, fields, body, length }: SiteAnswer, isHead: boolean) {
    const hasContent = status >= 200 && status !== 204 && status !== 304
    const own = body instanceof Uint8Array ? body.length : body.size
    const known = isHead && length !== undefined ? length : own
    const all: Field[] = [...fields, ['date', this.now()]]
    // A server may leave the length out of its answer to HEAD.
    const isUnknown = isHead && length === undefined && own === 0
    if (hasContent && !isUnknown) all.push(['content-length', String(known)])
    return { fields: all, hasBody: hasContent && !isHead && own > 0 }
  }

  private now(): string {
    const second = Math.floor(Date.now() / 1000)
    if (second !== this.date.second) this.date = { second, text: new Date(second * 1000).toUTCString() }
    return this.date.text
  }
}
