import { readFileSync } from 'node:fs'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Kernel } from '../../system/kernel.ts'
import type { FromReactor, ReactorTerms, ToReactor } from './messages.ts'
import { makeMemory, type SharedMemory, viewMemory } from './shared-memory.ts'

/** Backoff between restarts. */
const firstPauseMs = 50
const maxPauseMs = 5000
/** After this long, the backoff starts over. */
const healthyMs = 60_000

const nsPerSecond = 1e9

/** Processor seconds of a thread of this process; 0 if it has ended. */
export function readThreadSeconds(taskId: number): number {
  try {
    const [onProcessorNs] = readFileSync(`/proc/self/task/${taskId}/schedstat`, 'latin1').split(' ')
    return Number(onProcessorNs) / nsPerSecond
  } catch {
    return 0
  }
}

/** A reactor's thread. If it dies, its descriptors are closed and another is started in its place. */
export class ReactorThread {
  private readonly kernel
  private worker: Worker | undefined
  private outbox: MessagePort | undefined
  /** Outlives a reactor. */
  readonly buffer = makeMemory()
  readonly memory: SharedMemory = viewMemory(this.buffer)
  readonly bell: number
  private isWanted = false
  private isBellOpen = true
  private bornAt = 0
  private pauseMs = firstPauseMs

  constructor(
    /** Its place among the gateway's reactors. */
    readonly index: number,
    private readonly deps: {
      readonly kernel: Kernel
      readonly terms: () => Omit<ReactorTerms, 'inbox' | 'thread'>
      readonly onMessage: (message: FromReactor) => void
      /** It ended, wanted or not. */
      readonly onEnd: () => void
      readonly onDeath: (fault: unknown) => void
      readonly onBirth: () => void
    },
  ) {
    this.kernel = deps.kernel
    this.bell = this.kernel.openBell()
    if (this.bell < 0) throw new Error(`eventfd failed with ${-this.bell}`)
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
    const { port1, port2 } = new MessageChannel()
    const terms: ReactorTerms = { ...this.deps.terms(), inbox: port2, thread: this.index }
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
    this.deps.onEnd()
    for (const descriptor of this.memory.clear()) this.kernel.close(descriptor)
    if (!this.isWanted) return
    this.deps.onDeath(fault)
    this.pauseMs = performance.now() - this.bornAt >= healthyMs ? firstPauseMs : Math.min(maxPauseMs, this.pauseMs * 2)
    setTimeout(() => this.isWanted && this.spawn(), this.pauseMs)
  }

  /** Call after all reactors have ended: they wake each other. */
  closeBell(): void {
    if (this.isBellOpen) this.kernel.close(this.bell)
    this.isBellOpen = false
  }
}
