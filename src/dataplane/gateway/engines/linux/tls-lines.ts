import type { Clock } from '../../../../core/time.ts'
import { Bridge, innerHandlers } from '../../../tls/bridge.ts'
import { connectDescriptor } from '../../../tls/tls-socket.ts'
import type { DeliveryWatch } from '../../metering/tunnel-meter.ts'
import { StreamClient } from '../shared/http2-clients.ts'
import type { TlsClient } from '../shared/sockets.ts'
import type { Kernel } from './kernel.ts'
import type { PlainEnd } from './messages.ts'
import { makeTlsMemory, type TlsMemory, viewTlsMemory } from './shared-memory.ts'
import { TextStream } from './text-stream.ts'
import type { ReactorThread } from './thread.ts'

const lookEveryMs = 100
/** Longest wait for acknowledgements after a close. */
const settleMs = 30_000
/** After the reactor's close, a client that acknowledges nothing for this long is closed. */
const flushMs = 30_000
/** Lines beyond the limit of connections: those whose client still reads its last bytes. */
const maxFlushing = 500

class TlsLine {
  private closedAt: number | undefined
  private progress: { readonly acknowledged: number; readonly at: number } | undefined

  constructor(
    private readonly tls: Pick<TlsClient, 'isClosed' | 'terminate'>,
    private readonly memory: TlsMemory,
    private readonly watch: DeliveryWatch,
  ) {}

  /** The reactor has closed its end; the client may still read. */
  get isFlushing(): boolean {
    return this.progress !== undefined
  }

  /** Publishes acknowledgements to the reactor. */
  publish(): void {
    const { acknowledged, sent, isOver } = this.watch.transmission()
    this.memory.note(acknowledged, sent)
    if (this.tls.isClosed) this.memory.isGone = true
    if (isOver && this.tls.isClosed) this.memory.isOver = true
  }

  /** False once settled. */
  look(nowMs: number): boolean {
    this.publish()
    if (!this.tls.isClosed && (this.memory.isCut || this.hasStalled(nowMs))) this.tls.terminate()
    if (!this.tls.isClosed) return true
    this.closedAt ??= nowMs
    const isWaiting = !this.memory.isOver && !this.memory.isCut && nowMs - this.closedAt < settleMs
    if (isWaiting && this.memory.acknowledged < this.memory.sent) return true
    this.memory.isOver = true
    this.watch.close(this.memory.isCut)
    return false
  }

  noteReleased(): void {
    this.memory.isReleased = true
  }

  terminate(): void {
    if (!this.tls.isClosed) this.tls.terminate()
  }

  /** A paused socket does not notice the reactor's close, so the bridge cannot limit this time. */
  private hasStalled(nowMs: number): boolean {
    if (!this.memory.isReleased) return false
    const { acknowledged } = this.memory
    if (this.progress?.acknowledged !== acknowledged) this.progress = { acknowledged, at: nowMs }
    return nowMs - this.progress.at >= flushMs
  }
}

/** Descriptors on their way to the reactor, which duplicates them. */
export class HandedDescriptors {
  private readonly handed = new Set<number>()

  constructor(
    private readonly kernel: Pick<Kernel, 'close'>,
    private readonly thread: Pick<ReactorThread, 'post'>,
  ) {}

  hand(ends: readonly PlainEnd[]): void {
    for (const { descriptor } of ends) this.handed.add(descriptor)
    this.thread.post({ type: 'plain-ends', ends })
  }

  /** The reactor has duplicated the descriptors. */
  taken(descriptors: Iterable<number>): void {
    for (const descriptor of descriptors) if (this.handed.delete(descriptor)) this.kernel.close(descriptor)
  }

  /** The reactor takes no more. */
  close(): void {
    this.taken(this.handed)
  }
}

/** Passes the plaintext of TLS connections to the reactor by socket pairs. */
export class TlsLines {
  private readonly lines = new Set<TlsLine>()
  /** Lines that the reactor has closed, oldest first. */
  private readonly flushing = new Set<TlsLine>()
  private timer: ReturnType<typeof setInterval> | undefined

  constructor(
    private readonly deps: {
      readonly kernel: Kernel
      /** The receiver of a descriptor closes it. */
      readonly thread: { readonly isRunning: boolean; post(message: PlainEnd): void }
      readonly maxConnections: number
      /** Monotonic. */
      readonly clock: Clock
    },
  ) {}

  take(given: TlsClient): void {
    const client = given instanceof StreamClient ? new TextStream(given) : given
    const { kernel, thread } = this.deps
    // Bytes are billed when acknowledged: a client that cannot be followed is not served.
    const watch = thread.isRunning && this.makeRoom() ? client.follow() : undefined
    const pair = watch ? kernel.openPair() : -1
    if (!watch || typeof pair === 'number') {
      watch?.close(false)
      return client.terminate()
    }
    const [near, far] = pair
    const shared = makeTlsMemory()
    const memory = viewTlsMemory(shared)
    const line = new TlsLine(client, memory, watch)
    const data = new Bridge(client, { onMoved: () => line.publish(), isCut: () => memory.isCut })
    this.lines.add(line)
    this.timer ??= setInterval(() => this.look(), lookEveryMs)
    thread.post({ type: 'tls', descriptor: far, source: client.source, memory: shared })
    void connectDescriptor(near, { data, socket: innerHandlers })
  }

  reactorDied(): void {
    for (const line of this.lines) line.noteReleased()
  }

  stop(): void {
    this.look()
  }

  private look(): void {
    const nowMs = this.deps.clock()
    for (const line of this.lines) {
      const isOpen = line.look(nowMs)
      if (!isOpen) this.lines.delete(line)
      if (isOpen && line.isFlushing) this.flushing.add(line)
      else this.flushing.delete(line)
    }
    if (this.lines.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  /** When full, evicts the oldest line whose client only reads its last bytes. */
  private makeRoom(): boolean {
    if (this.lines.size < this.deps.maxConnections + maxFlushing) return true
    const [spare] = this.flushing
    if (!spare) return false
    this.flushing.delete(spare)
    spare.terminate()
    return true
  }
}
