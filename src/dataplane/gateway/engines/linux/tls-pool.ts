import { Worker } from 'node:worker_threads'
import type { Certificate } from '../../../tls/certificate.ts'
import type { ConnectionWatcher, TlsListener, TlsThreads } from '../../../tls/front.ts'
import { prefixesOf } from '../../../tls/seats.ts'
import type { SiteTerms } from '../../site/server.ts'
import { createAccepter } from '../portable/accepter.ts'
import { ownedCells, ownedIn } from './descriptors.ts'
import type { Kernel } from './kernel.ts'
import { Outbox, type PlainEnd } from './messages.ts'
import { openListener } from './ports.ts'

/** From the main thread to a TLS worker. */
export type ToTlsWorker =
  | { readonly type: 'certificate'; readonly certificate: Certificate }
  | { readonly type: 'begin'; readonly id: number; readonly descriptor: number; readonly source: string }
  | { readonly type: 'close'; readonly id: number }
  /** Closes an HTTP/2 connection without an admitted request. */
  | { readonly type: 'make-room' }
  /** The table of known customers has moved. */
  | { readonly type: 'table'; readonly table: SharedArrayBuffer }
  | { readonly type: 'reactor-died' }
  | { readonly type: 'drain' }
  | { readonly type: 'stop' }

/** From a TLS worker to the main thread. */
export type FromTlsWorker =
  | { readonly type: 'shaken'; readonly id: number }
  | { readonly type: 'gone'; readonly id: number }
  | { readonly type: 'fault'; readonly fault: unknown }
  | PlainEnd

export type TlsWorkerTerms = {
  readonly maxConnections: number
  readonly counts: SharedArrayBuffer
  /** Bitmap of descriptors that Bun does not know and cannot close. */
  readonly owned: SharedArrayBuffer
  readonly site: SiteTerms | undefined
}

/** Counts of a worker's HTTP/2 connections, and of all connections that it has begun, written by the worker. */
export const http2Counts = { open: 0, requests: 1, spare: 2, begun: 3 } as const
const countBytes = 16

/** A worker with this many more connections than the least busy one gets no further ones. */
const maxLead = 32
/** Connections that wait for their ClientHello, at most a quarter of all connections. */
const maxAwaiting = 2048
const restartMs = 1000
/** A pool with so many connections that no worker has begun admits only a fair share of each network. */
const busyAt = 128
/** Beyond so many, it admits only addresses of known customers. */
const lateAt = 512

/** One TLS worker and its connections. */
class TlsThread {
  private worker: Worker
  private readonly watchers = new Map<number, ConnectionWatcher>()
  private certificate: Certificate | undefined
  private given = 0
  private counts = new SharedArrayBuffer(countBytes)
  private owned: Int32Array = new Int32Array(0)
  private isWanted = true
  isRunning = true
  /** Requests of workers that died. */
  private requestsBefore = 0

  constructor(private readonly deps: Omit<TlsPoolDeps, 'count'>) {
    this.worker = this.spawn()
  }

  get open(): number {
    return this.watchers.size
  }

  begin(id: number, descriptor: number, source: string, certificate: Certificate, watcher: ConnectionWatcher): void {
    if (certificate !== this.certificate) this.post({ type: 'certificate', certificate })
    this.certificate = certificate
    this.watchers.set(id, watcher)
    this.given = (this.given + 1) | 0
    this.post({ type: 'begin', id, descriptor, source })
  }

  private readonly outbox = new Outbox<ToTlsWorker>((messages) => this.worker.postMessage(messages, []), queueMicrotask)
  readonly post = this.outbox.post

  count(of: keyof typeof http2Counts): number {
    const count = Atomics.load(new Int32Array(this.counts), http2Counts[of])
    return of === 'requests' ? this.requestsBefore + count : count
  }

  /** Connections that the worker has not begun yet. Both counts wrap at 2^32. */
  get untaken(): number {
    return (this.given - this.count('begun')) | 0
  }

  /** A wanted worker is started again. */
  terminate(): void {
    void this.worker.terminate()
  }

  stop(): void {
    this.isWanted = false
    this.post({ type: 'stop' })
    this.worker.unref()
  }

  private spawn(): Worker {
    const { maxConnections, site } = this.deps
    this.counts = new SharedArrayBuffer(countBytes)
    this.given = 0
    const owned = new SharedArrayBuffer(ownedCells * Int32Array.BYTES_PER_ELEMENT)
    this.owned = new Int32Array(owned)
    const workerData: TlsWorkerTerms = { maxConnections, counts: this.counts, owned, site: site() }
    const worker = new Worker(new URL('./tls-worker.ts', import.meta.url), { workerData })
    worker.on('message', (messages: readonly FromTlsWorker[]) => this.take(messages))
    worker.on('error', (fault) => this.deps.onFault(fault))
    worker.on('exit', () => this.bury())
    return worker
  }

  private take(messages: readonly FromTlsWorker[]): void {
    const ends: PlainEnd[] = []
    for (const message of messages) {
      if (message.type === 'tls') ends.push(message)
      else if (message.type === 'shaken') this.watchers.get(message.id)?.onShaken()
      else if (message.type === 'gone') this.end(message.id)
      else this.deps.onFault(message.fault)
    }
    if (ends.length > 0) this.deps.hand(ends)
  }

  private end(id: number): void {
    const watcher = this.watchers.get(id)
    this.watchers.delete(id)
    watcher?.onGone()
  }

  /** Bun closes the sockets of a dead worker. */
  private bury(): void {
    for (const descriptor of ownedIn(this.owned)) this.deps.kernel.close(descriptor)
    this.owned.fill(0)
    this.isRunning = false
    for (const id of this.watchers.keys()) this.end(id)
    if (!this.isWanted) return
    this.requestsBefore = this.count('requests')
    this.certificate = undefined
    this.deps.onFault(new Error('a TLS worker ended and is started again'))
    setTimeout(() => {
      if (!this.isWanted) return
      this.worker = this.spawn()
      this.isRunning = true
    }, restartMs).unref()
  }
}

type TlsPoolDeps = {
  readonly kernel: Kernel
  readonly count: number
  readonly maxConnections: number
  readonly site: () => SiteTerms | undefined
  /** Gives the plain ends of connections to the reactor. */
  readonly hand: (ends: readonly PlainEnd[]) => void
  readonly onFault: (fault: unknown) => void
}

/** Worker threads that do TLS and HTTP/2. Limits are kept by the front, on the main thread. */
export class TlsPool implements TlsThreads {
  private readonly threads: readonly TlsThread[]
  private lastId = 0
  private table: SharedArrayBuffer | undefined

  constructor(private readonly deps: Omit<TlsPoolDeps, 'site'> & { readonly site: SiteTerms | undefined }) {
    const { site: terms } = deps
    const site = () => terms && { ...terms, table: this.table ?? terms.table }
    this.threads = Array.from({ length: deps.count }, () => new TlsThread({ ...deps, site }))
  }

  get count(): number {
    return this.threads.length
  }

  get running(): number {
    return this.threads.filter(({ isRunning }) => isRunning).length
  }

  get load(): 'usual' | 'busy' | 'late' {
    const untaken = Math.max(...this.threads.map((thread) => (thread.isRunning ? thread.untaken : 0)))
    return untaken > lateAt ? 'late' : untaken > busyAt ? 'busy' : 'usual'
  }

  /** Open HTTP/2 connections. */
  get open(): number {
    return this.threads.reduce((sum, thread) => sum + thread.count('open'), 0)
  }

  get requests(): number {
    return this.threads.reduce((sum, thread) => sum + thread.count('requests'), 0)
  }

  /** Opens the port, or takes that of the previous process. */
  listen(at: { hostname: string; port: number; inherited: number | undefined }, onAccepted: OnAccepted): TlsListener {
    const { kernel, maxConnections } = this.deps
    const descriptor = at.inherited ?? openListener(kernel, at.hostname, at.port)
    const accepter = createAccepter(onAccepted, Math.min(maxAwaiting, Math.ceil(maxConnections / 4)))
    const listener = accepter.open(descriptor, kernel.portOf(descriptor))
    return {
      ...listener,
      stop() {
        listener.stop()
        accepter.end()
      },
    }
  }

  begin(descriptor: number, source: string, certificate: Certificate, watcher: ConnectionWatcher) {
    this.lastId += 1
    const id = this.lastId
    const thread = this.choose(source)
    if (thread) thread.begin(id, descriptor, source, certificate, watcher)
    else {
      this.refuse(descriptor)
      queueMicrotask(() => watcher.onGone())
    }
    return {
      terminate: () => thread?.post({ type: 'close', id }),
      // The descriptor is a number of this process; it is open until the worker reports its end.
      hasAnswered: () => this.deps.kernel.transmissionOf(descriptor).sent > 0,
    }
  }

  refuse(descriptor: number): void {
    this.deps.kernel.resetOnClose(descriptor)
    this.deps.kernel.close(descriptor)
  }

  makeRoom(): boolean {
    const thread = this.threads.find((each) => each.count('spare') > 0)
    thread?.post({ type: 'make-room' })
    return thread !== undefined
  }

  moveTable(table: SharedArrayBuffer): void {
    this.table = table
    for (const thread of this.threads) thread.post({ type: 'table', table })
  }

  drain(): void {
    for (const thread of this.threads) thread.post({ type: 'drain' })
  }

  reactorDied(): void {
    for (const thread of this.threads) thread.post({ type: 'reactor-died' })
  }

  /** Ends the workers at once; they are started again. */
  terminate(): void {
    for (const thread of this.threads) thread.terminate()
  }

  stop(): void {
    for (const thread of this.threads) thread.stop()
  }

  /** The same worker for the same client, because each worker has ticket keys of its own. */
  private choose(source: string): TlsThread | undefined {
    const running = this.threads.filter(({ isRunning }) => isRunning)
    const { clientPrefix } = prefixesOf(source)
    const own = running[Number(Bun.hash.wyhash(clientPrefix) % BigInt(Math.max(1, running.length)))]
    if (!own) return undefined
    const least = running.reduce((a, b) => (b.open < a.open ? b : a))
    return own.open <= least.open + maxLead ? own : least
  }
}

type OnAccepted = (descriptor: number, source: string) => void
