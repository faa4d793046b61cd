import type { Certificate } from '../../../tls/certificate.ts'
import type { ConnectionWatcher, OnAccepted, OnBegun, TlsListener } from '../../../tls/front.ts'
import type { TicketKey } from '../../../tls/openssl/ticket-keys.ts'
import { toContent } from '../../site/content.ts'
import type { SiteTerms } from '../../site/server.ts'
import type { Kernel } from '../../system/kernel.ts'
import { createAccepter } from '../shared/accepter.ts'
import type { TlsReactors } from '../shared/tls-reactors.ts'
import { openListener } from './ports.ts'
import { ReactorTls, type ReactorTlsTerms } from './reactor-tls.ts'
import type { ReactorThread } from './thread.ts'
import type { FromTlsClients, ToTlsClients } from './tls-clients.ts'
import { XhttpHomes } from './xhttp-homes.ts'
import type { PassedUpload } from './xhttp-uploads.ts'

/** Connections that wait for their ClientHello, at most a quarter of all connections. */
const maxAwaiting = 2048
/** With so many connections whose handshake has not begun, only a fair share of each network is admitted. */
const busyAt = 128
/** Beyond so many, only addresses of known customers. */
const lateAt = 512

export type TlsDispatcherDeps = {
  readonly kernel: Kernel
  readonly threads: readonly Pick<ReactorThread, 'isRunning' | 'memory' | 'buffer' | 'bell' | 'post'>[]
  readonly maxConnections: number
  readonly ticketKeys: readonly TicketKey[]
  readonly site: SiteTerms | undefined
  readonly onAdmitted?: ((source: string) => void) | undefined
}

/** Gives clients over TLS to the reactors, which do TLS. Limits are kept by the front, on this thread. */
export class TlsDispatcher implements TlsReactors {
  private readonly reactors: readonly ReactorTls[]
  private lastId = 0
  private onBegun: OnBegun | undefined
  private terms: ReactorTlsTerms
  private readonly homes: XhttpHomes

  constructor(private readonly deps: TlsDispatcherDeps) {
    const { kernel, threads, site, ticketKeys, onAdmitted = () => {} } = deps
    this.terms = { site, ticketKeys, isDraining: false, reactors: threads.length }
    // One for all reactors: it limits the requests that run at the same time.
    const content = site?.source.kind === 'shop' ? toContent(site.source) : undefined
    const onBegun: OnBegun = (...begun) => this.onBegun?.(...begun)
    this.reactors = threads.map(
      (thread) => new ReactorTls(thread, kernel, content, () => this.terms, onBegun, onAdmitted),
    )
    this.homes = new XhttpHomes({
      post: (reactor, message) => this.reactors[reactor]?.post(message),
      give: (reactor, upload) => this.giveUpload(reactor, upload),
      close: (descriptor) => kernel.close(descriptor),
    })
  }

  get count(): number {
    return this.reactors.length
  }

  brief(reactor: number): void {
    this.reactors[reactor]?.brief()
  }

  reactorDied(reactor: number): void {
    this.reactors[reactor]?.died()
    this.homes.died(reactor)
  }

  get load(): 'usual' | 'busy' | 'late' {
    const unbegun = Math.max(...this.reactors.map((reactor) => reactor.unbegun))
    return unbegun > lateAt ? 'late' : unbegun > busyAt ? 'busy' : 'usual'
  }

  get open(): number {
    return this.reactors.reduce((sum, reactor) => sum + reactor.open, 0)
  }

  get requests(): number {
    return this.reactors.reduce((sum, reactor) => sum + reactor.requests, 0)
  }

  listen(
    at: { hostname: string; port: number; inherited: number | undefined },
    onAccepted: OnAccepted,
    onBegun: OnBegun,
  ): TlsListener {
    const { kernel, maxConnections, threads } = this.deps
    this.onBegun = onBegun
    const descriptor = at.inherited ?? openListener(kernel, at.hostname, at.port)
    const accepter = createAccepter(onAccepted, {
      reactors: threads.map(({ buffer, bell }) => ({ memory: buffer, bell })),
      isSticky: this.terms.site?.hasDevices === true,
      maxAwaiting: Math.min(maxAwaiting, Math.ceil(maxConnections / 4)),
    })
    const listener = accepter.open(descriptor, kernel.portOf(descriptor))
    return {
      ...listener,
      stop() {
        listener.stop()
        accepter.end()
      },
    }
  }

  begin(descriptor: number, source: string, place: number, certificate: Certificate, watcher: ConnectionWatcher) {
    this.lastId += 1
    const id = this.lastId
    const chosen = this.reactors[place]
    const reactor = chosen?.isRunning ? chosen : this.findOther()
    if (reactor) {
      reactor.begin(id, descriptor, source, certificate, watcher)
      return reactor.handleOf(id, descriptor)
    }
    this.refuse(descriptor)
    queueMicrotask(() => watcher.onGone())
    return { terminate() {} }
  }

  allowDirect(certificate: Certificate | undefined): void {
    for (const reactor of this.reactors) {
      if (certificate && reactor.isRunning) reactor.useCertificate(certificate)
      reactor.isDirect = certificate !== undefined
    }
  }

  refuse(descriptor: number): void {
    this.deps.kernel.resetOnClose(descriptor)
    this.deps.kernel.close(descriptor)
  }

  makeRoom(): boolean {
    const most = this.reactors.reduce((a, b) => (b.spare > a.spare ? b : a))
    if (most.spare === 0) return false
    most.post({ type: 'make-room' })
    return true
  }

  setPasswordKeys(keys: readonly Uint8Array[]): void {
    const { site } = this.terms
    if (!site) return
    this.terms = { ...this.terms, site: { ...site, passwordKeys: keys } }
    this.postAll({ type: 'password-keys', keys })
  }

  setTicketKeys(keys: readonly TicketKey[]): void {
    this.terms = { ...this.terms, ticketKeys: keys }
    this.postAll({ type: 'ticket-keys', keys })
  }

  drain(): void {
    this.terms = { ...this.terms, isDraining: true }
    this.postAll({ type: 'drain' })
  }

  takeMessages(reactor: number, messages: readonly FromTlsClients[]): void {
    for (const message of messages) {
      if (message.type === 'session' || message.type === 'upload') this.homes.take(reactor, message)
      else this.reactors[reactor]?.take(message)
    }
  }

  private giveUpload(reactor: number, upload: PassedUpload): boolean {
    const home = this.reactors[reactor]
    if (!home?.isRunning) return false
    this.lastId += 1
    home.pass(this.lastId, upload)
    return true
  }

  private postAll(message: ToTlsClients): void {
    for (const reactor of this.reactors) reactor.post(message)
  }

  /** When the chosen reactor has ended meanwhile, or none has served yet. */
  private findOther(): ReactorTls | undefined {
    const running = this.reactors.filter(({ isRunning }) => isRunning)
    return running.find(({ isServing }) => isServing) ?? running[0]
  }
}
