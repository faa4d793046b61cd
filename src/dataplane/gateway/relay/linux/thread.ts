import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { EngineDeps, EngineLimits } from '../engine.ts'
import { ownedIn } from './descriptors.ts'
import type { Kernel } from './kernel.ts'
import type { FromReactor, ReactorTerms, ToReactor } from './messages.ts'
import { makeMemory, noStanding, type SharedMemory, viewMemory } from './shared-memory.ts'

/** A reactor that keeps dying is started again, and not faster than this. */
const firstPauseMs = 50
const mostPauseMs = 5000
/** One that has lived this long died of something else. */
const healthyMs = 60_000

export type ReactorThread = ReturnType<typeof createThread>

/** The thread that a reactor runs on. Should it die, what it left open is closed and another is started. */
export function createThread(deps: {
  kernel: Kernel
  limits: EngineLimits
  hop: EngineDeps['hop']
  isStrict: boolean
  onMessage: (message: FromReactor) => void
  /** It has died, and what it left open is closed. */
  onDeath: (fault: unknown) => void
  /** There is a new one, which knows nothing yet. */
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

  /** Descriptors belong to the process, so they outlive the thread that opened them. */
  function bury(fault: unknown): void {
    worker = undefined
    outbox?.close()
    outbox = undefined
    for (const descriptor of ownedIn(memory.owned)) kernel.close(descriptor)
    memory.owned.fill(0)
    memory.standing = noStanding
    kernel.close(bell)
    if (!isWanted) return
    deps.onDeath(fault)
    pauseMs = performance.now() - bornAt >= healthyMs ? firstPauseMs : Math.min(mostPauseMs, pauseMs * 2)
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

    /**
     * Posts to the reactor that runs now and to no other: the next one would take the answer for that to a question of
     * its own.
     */
    replyTo(): (message: ToReactor) => void {
      const asker = worker
      return (message) => {
        if (worker === asker) post(message)
      }
    },

    /** Its end, when it comes, is what was asked for; nobody has to wait for it. */
    retire(): void {
      isWanted = false
      worker?.unref()
    },

    /** Ends it at once. One that is wanted is started again. */
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
