import type { After } from '../../../../core/time.ts'
import type { Snapshot } from '../../../agent/snapshot.ts'
import type { Certificate } from '../../../tls/certificate.ts'
import { TlsBuffers } from '../../../tls/openssl/buffers.ts'
import type { TlsThread } from '../../../tls/openssl/connection.ts'
import { TlsCallbacks, TlsContext } from '../../../tls/openssl/context.ts'
import { openLibrary } from '../../../tls/openssl/library.ts'
import type { TicketKey } from '../../../tls/openssl/ticket-keys.ts'
import type { Sockets } from '../../sides/sockets.ts'
import type { TlsClient } from '../../sides/tls-client.ts'
import { openSite, type SiteTerms } from '../../site/server.ts'
import { Http2Clients } from '../shared/http2-clients.ts'
import type { Reactor } from './reactor.ts'
import type { SharedMemory } from './shared-memory.ts'
import { type FromSite, SiteQuestions, type ToSite } from './site-questions.ts'
import { type LinkEvents, TlsLink } from './tls-link.ts'
import { NoticeBatch, type TlsNotices } from './tls-notices.ts'
import { createSessionNeighbours, type FromSessions, type ToSessions, UploadReceiver } from './xhttp-uploads.ts'

export type TlsTerms = {
  /** Cells of `tlsCounts`. */
  readonly counts: SharedArrayBuffer
  readonly site: SiteTerms | undefined
  /** Reactors of the gateway. */
  readonly reactors: number
}

/** From the main thread to the clients over TLS of a reactor. */
export type ToTlsClients =
  | { readonly type: 'open'; readonly terms: TlsTerms }
  /** The first serves all names that no other one covers. */
  | { readonly type: 'certificates'; readonly certificates: readonly Certificate[] }
  /** The first encrypts session tickets, all of them decrypt. */
  | { readonly type: 'ticket-keys'; readonly keys: readonly TicketKey[] }
  | { readonly type: 'begin'; readonly id: number; readonly descriptor: number; readonly source: string }
  | { readonly type: 'close'; readonly id: number }
  /** Closes a connection without an admitted request. */
  | { readonly type: 'make-room' }
  | { readonly type: 'password-keys'; readonly keys: readonly Uint8Array[] }
  | { readonly type: 'drain' }
  | FromSite
  | ToSessions

/** From the clients over TLS of a reactor to the main thread. */
export type FromTlsClients = TlsNotices | ToSite | FromSessions

/** Written by the reactor: its HTTP/2 connections, and connections that it has taken, and begun to shake hands with. */
export const tlsCounts = { open: 0, requests: 1, spare: 2, taken: 3, begun: 4 } as const
export const tlsCountBytes = 32

/** A handshake costs a third of a millisecond, which relaying must not wait for many times over. */
const beginsPerTurn = 4
const handshakeReadsPerTurn = 8
const countEveryMs = 100

type Waiting = Extract<ToTlsClients, { type: 'begin' }>

/** Clients over TLS in a reactor: handshakes in the order of their arrival, then HTTP/2, the site or HTTP/1. */
export class TlsClients {
  private readonly links = new Map<number, TlsLink>()
  /** Closed here, with bytes that the client has not read; oldest first. */
  private readonly ending = new Set<TlsLink>()
  /** Not yet begun, oldest first. */
  private readonly waiting = new Map<number, Waiting>()
  private readonly http2: Http2Clients
  private counts = new Int32Array(new SharedArrayBuffer(tlsCountBytes))
  private opened: ReturnType<typeof openSite> | undefined
  private questions: SiteQuestions | undefined
  private thread: (TlsThread & { readonly callbacks: TlsCallbacks }) | undefined
  private context: TlsContext | undefined
  private outbox: FromTlsClients[] = []
  private readonly notices: NoticeBatch
  private lastArrival = 0
  /** Reads of handshakes in the turn that began at this time. */
  private shaking = { atMs: 0, reads: 0 }

  constructor(
    private readonly deps: {
      readonly reactor: Reactor
      readonly memory: Pick<SharedMemory, 'noteShaking'>
      readonly snapshot: Snapshot
      readonly sockets: Sockets
      readonly after: After
      /** Gives a client to the engine. */
      readonly take: (client: TlsClient) => void
      readonly post: (messages: readonly FromTlsClients[]) => void
      readonly onFault: (fault: unknown) => void
    },
  ) {
    const { sockets, take, after, reactor } = deps
    this.notices = new NoticeBatch({ after, now: () => reactor.nowMs, post: (notices) => deps.post([notices]) })
    this.http2 = new Http2Clients({ sockets, take, after, clock: () => performance.now() })
  }

  takeMessage(message: ToTlsClients): void {
    if (message.type === 'begin') this.enqueue(message)
    else if (message.type === 'close') this.close(message.id)
    else if (message.type === 'certificates') this.useCertificates(message.certificates)
    else if (message.type === 'ticket-keys') this.openThread().callbacks.setTicketKeys(message.keys)
    else if (message.type === 'open') this.open(message.terms)
    else if (message.type === 'make-room') this.makeRoom()
    else if (message.type === 'password-keys') this.opened?.setPasswordKeys(message.keys)
    else if (message.type === 'drain') {
      this.http2.drain()
      this.opened?.site.drain()
    } else if (message.type === 'session-found') this.opened?.site.xhttp.passOn(message.name)
    else if (message.type === 'session-ended') this.opened?.site.xhttp.noteEnded(message.name)
    else if (message.type === 'passed-upload') this.takePassed(message)
    else this.questions?.takeAnswer(message)
  }

  /** Posts what happened in this turn. */
  flush(): void {
    this.notices.flush()
    if (this.outbox.length === 0) return
    const messages = this.outbox
    this.outbox = []
    this.deps.post(messages)
  }

  private readonly post = (message: FromTlsClients): void => void this.outbox.push(message)

  private openThread() {
    if (this.thread) return this.thread
    const library = openLibrary()
    this.thread = { library, buffers: new TlsBuffers(library), callbacks: new TlsCallbacks(library, true) }
    return this.thread
  }

  private open({ counts, site, reactors: threads }: TlsTerms): void {
    const { take, snapshot, sockets, after, onFault } = this.deps
    this.openThread()
    this.counts = new Int32Array(counts)
    this.questions = new SiteQuestions(this.post)
    const { content } = this.questions
    // Requests to the shop need an event loop, which this thread does not have.
    const isElsewhere = site?.source.kind === 'shop'
    const { reactor } = this.deps
    const neighbours = threads > 1 ? createSessionNeighbours(reactor, this.post, Math.random) : undefined
    const deps = { take, snapshot, sockets, after, onFault, threads, neighbours, ...(isElsewhere && { content }) }
    this.opened = site && openSite(site, deps)
    this.publish()
  }

  private makeRoom(): void {
    const [ending] = this.ending
    if (ending) ending.terminate()
    else void (this.opened?.site.makeRoom() || this.http2.makeRoom())
  }

  private readonly publish = (): void => {
    Atomics.store(this.counts, tlsCounts.open, this.http2.open)
    Atomics.store(this.counts, tlsCounts.requests, this.http2.requests)
    Atomics.store(this.counts, tlsCounts.spare, this.http2.spare + this.ending.size + (this.opened?.site.open ?? 0))
    this.deps.after(countEveryMs, this.publish)
  }

  private useCertificates(certificates: readonly Certificate[]): void {
    const { callbacks } = this.openThread()
    const before = this.context
    this.context = new TlsContext(callbacks, certificates)
    before?.free()
  }

  private enqueue(message: Waiting): void {
    Atomics.add(this.counts, tlsCounts.taken, 1)
    this.deps.memory.noteShaking(1)
    if (this.deps.reactor.descriptors.own(message.descriptor)) this.await(message)
    else {
      this.noteBegun()
      this.noteGone(message.id)
    }
  }

  /** From the thread that accepts: the front learns of it within 25 ms, and judges it then. */
  takeArrival(descriptor: number, source: string): void {
    this.lastArrival += 1
    // Below 0: those of the main thread are above.
    const message: Waiting = { type: 'begin', id: -this.lastArrival, descriptor, source }
    this.notices.noteBegun({ id: message.id, descriptor, source })
    this.deps.memory.noteShaking(1)
    if (this.deps.reactor.descriptors.own(descriptor)) this.await(message)
    else this.noteGone(message.id)
  }

  /** Before a certificate there is no front, and no client over TLS. */
  noteAdmitted(source: string): void {
    if (this.context) this.notices.noteAdmitted(source)
  }

  private await(message: Waiting): void {
    this.waiting.set(message.id, message)
    if (this.waiting.size === 1) this.deps.reactor.queue({ takeTurn: this.beginNext })
  }

  private takePassed({ id, descriptor, name, seq }: Extract<ToSessions, { type: 'passed-upload' }>): void {
    const { reactor } = this.deps
    Atomics.add(this.counts, tlsCounts.taken, 1)
    this.noteBegun()
    this.notices.noteGone(id)
    if (!reactor.descriptors.own(descriptor)) return
    const upload = new UploadReceiver(reactor, descriptor)
    if (this.opened) this.opened.site.xhttp.takePassed(name, seq, upload)
    else upload.terminate()
  }

  private readonly beginNext = (): void => {
    for (const message of this.waiting.values().take(beginsPerTurn)) {
      this.leaveQueue(message)
      this.begin(message)
    }
    if (this.waiting.size > 0) this.deps.reactor.queue({ takeTurn: this.beginNext })
  }

  private leaveQueue({ id }: Waiting): void {
    this.waiting.delete(id)
    if (id > 0) this.noteBegun()
  }

  private noteBegun(): void {
    Atomics.add(this.counts, tlsCounts.begun, 1)
  }

  private close(id: number): void {
    const message = this.waiting.get(id)
    if (!message) return this.links.get(id)?.terminate()
    this.leaveQueue(message)
    this.drop(message)
  }

  private drop({ id, descriptor }: Waiting): void {
    const { kernel, descriptors } = this.deps.reactor
    kernel.resetOnClose(descriptor)
    descriptors.release(descriptor)
    this.noteGone(id)
  }

  /** Before its handshake has ended. */
  private noteGone(id: number): void {
    this.deps.memory.noteShaking(-1)
    this.notices.noteGone(id)
  }

  private begin(message: Waiting): void {
    const { id, descriptor, source } = message
    const { context, deps } = this
    if (!context) return this.drop(message)
    const thread = this.openThread()
    const link = new TlsLink(deps.reactor, descriptor, source, thread, this.events, context, id)
    this.links.set(id, link)
    try {
      link.begin()
    } catch (fault) {
      deps.onFault(fault)
      link.terminate()
    }
  }

  private readonly events: LinkEvents = {
    mayShake: () => this.mayShake(),
    onShaken: (link) => {
      this.deps.memory.noteShaking(-1)
      this.notices.noteShaken(link.id)
      this.route(link)
    },
    onEnding: (link) => void this.ending.add(link),
    onGone: (link) => {
      this.links.delete(link.id)
      this.ending.delete(link)
      if (link.isShaken) this.notices.noteGone(link.id)
      else this.noteGone(link.id)
    },
  }

  private mayShake(): boolean {
    const { nowMs } = this.deps.reactor
    if (this.shaking.atMs !== nowMs) this.shaking = { atMs: nowMs, reads: 0 }
    this.shaking.reads += 1
    return this.shaking.reads <= handshakeReadsPerTurn
  }

  private route(link: TlsLink): void {
    const { protocol } = link
    const site = this.opened?.site
    const shown = site?.isFor(link) ? site : undefined
    if (protocol === 'h2') this.http2.take(link, shown)
    else if (shown) shown.take(link)
    else this.deps.take(link)
  }
}
