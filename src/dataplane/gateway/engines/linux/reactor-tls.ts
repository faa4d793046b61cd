import type { Certificate } from '../../../tls/certificate.ts'
import type { ConnectionHandle, ConnectionWatcher, OnBegun } from '../../../tls/front.ts'
import type { TicketKey } from '../../../tls/openssl/ticket-keys.ts'
import type { SiteContent } from '../../site/content.ts'
import type { SiteTerms } from '../../site/server.ts'
import type { Kernel } from '../../system/kernel.ts'
import { Outbox } from './messages.ts'
import { loadOf } from './peers.ts'
import { SiteAnswers, type ToSite } from './site-questions.ts'
import type { ReactorThread } from './thread.ts'
import { type ToTlsClients, tlsCountBytes, tlsCounts } from './tls-clients.ts'
import type { BegunConnection, TlsNotices } from './tls-notices.ts'
import type { PassedUpload } from './xhttp-uploads.ts'

type Given = {
  readonly descriptor: number
  readonly watcher: ConnectionWatcher
  /** Undefined if the accepting thread gave it. */
  readonly place: number | undefined
}

const unwatched: ConnectionWatcher = { onShaken() {}, onGone() {} }

/** What every reactor needs to do TLS; a new one gets the newest. */
export type ReactorTlsTerms = {
  readonly site: SiteTerms | undefined
  readonly ticketKeys: readonly TicketKey[]
  readonly isDraining: boolean
  readonly reactors: number
}

/** The clients over TLS of one reactor, as the main thread sees them. */
export class ReactorTls {
  private readonly given = new Map<number, Given>()
  /** Connections given to this reactor; wraps at 2^32 as the reactor's counts do. */
  private place = 0
  private counts = new Int32Array(new SharedArrayBuffer(tlsCountBytes))
  private certificate: Certificate | undefined
  private readonly answers: SiteAnswers | undefined
  private readonly outbox: Outbox<ToTlsClients>
  /** Requests of reactors that died. */
  private requestsBefore = 0

  constructor(
    private readonly thread: Pick<ReactorThread, 'isRunning' | 'memory' | 'post'>,
    private readonly kernel: Pick<Kernel, 'close' | 'transmissionOf'>,
    /** The site, where it needs an event loop. */
    content: SiteContent | undefined,
    private readonly terms: () => ReactorTlsTerms,
    private readonly onBegun: OnBegun,
    private readonly onAdmitted: (source: string) => void,
  ) {
    this.outbox = new Outbox((messages) => thread.post({ type: 'tls', messages }), queueMicrotask)
    this.answers = content && new SiteAnswers(content, this.post)
    if (thread.isRunning) this.brief()
  }

  get post(): (message: ToTlsClients) => void {
    return this.outbox.post
  }

  /** Sends a new reactor everything it needs. */
  brief(): void {
    const { site, ticketKeys, isDraining, reactors } = this.terms()
    this.post({ type: 'open', terms: { counts: this.counts.buffer, site, reactors } })
    this.post({ type: 'ticket-keys', keys: ticketKeys })
    if (isDraining) this.post({ type: 'drain' })
  }

  died(): void {
    const taken = this.read('taken')
    this.requestsBefore = this.requests
    this.counts = new Int32Array(new SharedArrayBuffer(tlsCountBytes))
    this.certificate = undefined
    this.answers?.stopAll()
    for (const [id, { descriptor, place }] of this.given) {
      // The reactor's own descriptors are closed with it.
      if (place !== undefined && ((place - taken) | 0) > 0) this.kernel.close(descriptor)
      this.end(id)
    }
    this.place = 0
  }

  get isRunning(): boolean {
    return this.thread.isRunning
  }

  get isServing(): boolean {
    return this.thread.memory.isServing
  }

  /** Connections that it has, with those on their way to it. */
  get load(): number {
    return loadOf(this.thread)
  }

  /** Connections that were given and are not begun. */
  get unbegun(): number {
    return this.isRunning ? (this.place - this.read('begun')) | 0 : 0
  }

  /** Open HTTP/2 connections. */
  get open(): number {
    return this.read('open')
  }

  get requests(): number {
    return this.requestsBefore + this.read('requests')
  }

  /** Connections that may be evicted. */
  get spare(): number {
    return this.read('spare')
  }

  begin(id: number, descriptor: number, source: string, certificate: Certificate, watcher: ConnectionWatcher): void {
    this.useCertificate(certificate)
    this.give(id, descriptor, watcher)
    this.post({ type: 'begin', id, descriptor, source })
  }

  useCertificate(certificate: Certificate): void {
    if (certificate !== this.certificate) this.post({ type: 'certificates', certificates: [certificate] })
    this.certificate = certificate
  }

  /** Whether clients may come from the accepting thread. They need a certificate. */
  set isDirect(yes: boolean) {
    this.thread.memory.isDirect = yes && this.isRunning && this.certificate !== undefined
  }

  /** For a connection of this reactor. */
  handleOf(id: number, descriptor: number): ConnectionHandle {
    return {
      terminate: () => this.post({ type: 'close', id }),
      // The descriptor is a number of this process, and another connection's for at most 25 ms (`tls-notices.ts`).
      hasAnswered: () => this.kernel.transmissionOf(descriptor).sent > 0,
    }
  }

  /** The upload of a session that this reactor has. */
  pass(id: number, upload: PassedUpload): void {
    this.give(id, upload.descriptor, unwatched)
    this.post({ type: 'passed-upload', id, ...upload })
  }

  private give(id: number, descriptor: number, watcher: ConnectionWatcher): void {
    this.place = (this.place + 1) | 0
    this.given.set(id, { descriptor, watcher, place: this.place })
  }

  take(message: TlsNotices | ToSite): void {
    if (message.type === 'notices') {
      this.takeBegun(message)
      for (const id of message.shaken) this.shaken(id)
      for (const id of message.gone) this.end(id)
      for (const source of message.admitted) this.onAdmitted(source)
    } else this.answers?.takeQuestion(message)
  }

  private read(count: keyof typeof tlsCounts): number {
    return Atomics.load(this.counts, tlsCounts[count])
  }

  /** One after another to its end: the front would count handshakes of 25 ms as simultaneous. */
  private takeBegun({ begun, shaken, gone }: TlsNotices): void {
    if (begun.length === 0) return
    const [ended, closed] = [new Set(shaken), new Set(gone)]
    for (const each of begun) {
      this.noteBegun(each)
      if (ended.has(each.id)) this.shaken(each.id)
      if (closed.has(each.id)) this.end(each.id)
    }
    this.thread.memory.noteKnown(begun.length)
  }

  private noteBegun({ id, descriptor, source }: BegunConnection): void {
    this.onBegun(source, (watcher) => {
      this.given.set(id, { descriptor, watcher, place: undefined })
      return this.handleOf(id, descriptor)
    })
  }

  private shaken(id: number): void {
    this.given.get(id)?.watcher.onShaken()
  }

  private end(id: number): void {
    const one = this.given.get(id)
    if (!one) return
    this.given.delete(id)
    one.watcher.onGone()
  }
}
