import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { ownedIn } from './descriptors.ts'
import type { Kernel } from './kernel.ts'
import type { FromReactor, ReactorTerms, ToReactor } from './messages.ts'
import { makeMemory, noStatus, type SharedMemory, viewMemory } from './shared-memory.ts'

/** Backoff between restarts. */
const firstPauseMs = 50
const maxPauseMs = 5000
/** After this long, the backoff starts over. */
const healthyMs = 60_000

/** The reactor's thread. If it dies, its descriptors are closed and another is started. */
export class ReactorThread {
  private readonly kernel
  private worker: Worker | undefined
  private outbox: MessagePort | undefined
  memory: SharedMemory = viewMemory(makeMemory())
  private bell = -1
  private isWanted = false
  private bornAt = 0
  private pauseMs = firstPauseMs

  constructor(
    private readonly deps: Pick<ReactorTerms, 'limits' | 'hop' | 'isStrict'> & {
      kernel: Kernel
      onMessage: (message: FromReactor) => void
      onDeath: (fault: unknown) => void
      onBirth: () => void
    },
  ) {
    this.kernel = deps.kernel
  }

  post(message: ToReactor): void {
    if (!this.outbox) return
    this.outbox.postMessage(message, [])
    this.memory.notePosted()
    if (this.memory.isAsleep) this.kernel.ring(this.bell)
  }

  start(): void {
    this.isWanted = true
    this.spawn()
  }

  /** Replies to the current reactor only; its successor would mistake the answer for its own. */
  replyTo(): (message: ToReactor) => void {
    const asker = this.worker
    return (message) => {
      if (this.worker === asker) this.post(message)
    }
  }

  /** Its end is expected. */
  retire(): void {
    this.isWanted = false
    this.worker?.unref()
  }

  /** A wanted reactor is restarted. */
  terminate(): void {
    void this.worker?.terminate()
  }

  get isRunning(): boolean {
    return this.worker !== undefined
  }

  private spawn(): void {
    const memory = makeMemory()
    this.memory = viewMemory(memory)
    this.bell = this.kernel.openBell()
    if (this.bell < 0) throw new Error(`eventfd failed with ${-this.bell}`)
    const { port1, port2 } = new MessageChannel()
    const { limits, hop, isStrict } = this.deps
    const terms: ReactorTerms = { inbox: port2, memory, bell: this.bell, limits, hop, isStrict }
    const born = new Worker(new URL('./worker.ts', import.meta.url), { workerData: terms, transferList: [port2] })
    let fault: unknown = new Error('a reactor ended without a word')
    born.on('message', (message: FromReactor) => {
      if (this.worker === born) this.deps.onMessage(message)
    })
    born.on('error', (error) => {
      fault = error
    })
    born.on('exit', () => {
      if (this.worker === born) this.bury(fault)
    })
    this.worker = born
    this.outbox = port1
    this.bornAt = performance.now()
    this.deps.onBirth()
  }

  /** Descriptors belong to the process and survive the thread. */
  private bury(fault: unknown): void {
    this.worker = undefined
    this.outbox?.close()
    this.outbox = undefined
    for (const descriptor of ownedIn(this.memory.owned)) this.kernel.close(descriptor)
    this.memory.owned.fill(0)
    this.memory.status = noStatus
    this.kernel.close(this.bell)
    if (!this.isWanted) return
    this.deps.onDeath(fault)
    this.pauseMs = performance.now() - this.bornAt >= healthyMs ? firstPauseMs : Math.min(maxPauseMs, this.pauseMs * 2)
    setTimeout(() => this.isWanted && this.spawn(), this.pauseMs)
  }
}
