import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { EngineDeps, EngineLimits } from '../engine.ts'
import { ownedIn } from './descriptors.ts'
import type { Kernel } from './kernel.ts'
import type { FromReactor, ReactorTerms, ToReactor } from './messages.ts'
import { makeMemory, noStatus, type SharedMemory, viewMemory } from './shared-memory.ts'

/** Backoff between restarts. */
const firstPauseMs = 50
const maxPauseMs = 5000
/** After this long, the backoff starts over. */
const healthyMs = 60_000

export type ReactorThread = ReturnType<typeof createThread>

/** The reactor's thread. If it dies, its descriptors are closed and another is started. */
export function createThread(deps: {
  kernel: Kernel
  limits: EngineLimits
  hop: EngineDeps['hop']
  isStrict: boolean
  onMessage: (message: FromReactor) => void
  onDeath: (fault: unknown) => void
  onBirth: () => void
}) {
  const { kernel } = deps
  let worker: Worker | undefined
  let outbox: MessagePort | undefined
  let buffer = makeMemory()
  let memory: SharedMemory = viewMemory(buffer)
  let bell = -1
  let isWanted = false
  let bornAt = 0
  let pauseMs = firstPauseMs

  function spawn(): void {
    buffer = makeMemory()
    memory = viewMemory(buffer)
    bell = kernel.openBell()
    if (bell < 0) throw new Error(`eventfd failed with ${-bell}`)
    const { port1, port2 } = new MessageChannel()
    const terms: ReactorTerms = {
      inbox: port2,
      memory: buffer,
      bell,
      limits: deps.limits,
      hop: deps.hop,
      isStrict: deps.isStrict,
    }
    const born = new Worker(new URL('./worker.ts', import.meta.url), { workerData: terms, transferList: [port2] })
    let fault: unknown = new Error('a reactor ended without a word')
    born.on('message', (message: FromReactor) => {
      if (worker === born) deps.onMessage(message)
    })
    born.on('error', (error) => {
      fault = error
    })
    born.on('exit', () => {
      if (worker === born) bury(fault)
    })
    worker = born
    outbox = port1
    bornAt = performance.now()
    deps.onBirth()
  }

  /** Descriptors belong to the process and survive the thread. */
  function bury(fault: unknown): void {
    worker = undefined
    outbox?.close()
    outbox = undefined
    for (const descriptor of ownedIn(memory.owned)) kernel.close(descriptor)
    memory.owned.fill(0)
    memory.status = noStatus
    kernel.close(bell)
    if (!isWanted) return
    deps.onDeath(fault)
    pauseMs = performance.now() - bornAt >= healthyMs ? firstPauseMs : Math.min(maxPauseMs, pauseMs * 2)
    setTimeout(() => isWanted && spawn(), pauseMs)
  }

  function post(message: ToReactor): void {
    if (!outbox) return
    outbox.postMessage(message, [])
    memory.notePosted()
    if (memory.isAsleep) kernel.ring(bell)
  }

  return {
    start(): void {
      isWanted = true
      spawn()
    },

    post,

    /** Replies to the current reactor only; its successor would mistake the answer for its own. */
    replyTo(): (message: ToReactor) => void {
      const asker = worker
      return (message) => {
        if (worker === asker) post(message)
      }
    },

    /** Its end is expected. */
    retire(): void {
      isWanted = false
      worker?.unref()
    },

    /** A wanted reactor is restarted. */
    terminate(): void {
      void worker?.terminate()
    },

    get isRunning(): boolean {
      return worker !== undefined
    },
    get memory(): SharedMemory {
      return memory
    },
  }
}
