import { Worker } from 'node:worker_threads'
import { type Kernel, openKernel } from '../linux/kernel.ts'
import { EPOLLIN } from '../linux/numbers.ts'
import type { Accepted, AccepterTerms } from './accepter-worker.ts'

export type Listening = { readonly port: number; readonly descriptor: number; stop(): void }

const backlog = 4096

/** Accepts on inherited sockets on its own thread; Bun only listens on sockets it has opened. */
export function createAccepter(onAccepted: (descriptor: number, source: string) => void) {
  let running: { readonly kernel: Kernel; readonly poll: number; readonly bell: number } | undefined

  function start() {
    const kernel = openKernel()
    const [poll, bell] = [kernel.openPoll(), kernel.openBell()]
    if (poll < 0 || bell < 0) throw new Error('the system has no descriptor left to listen with')
    kernel.watch(poll, bell, EPOLLIN, 0)
    const terms: AccepterTerms = { poll, bell }
    const worker = new Worker(new URL('./accepter-worker.ts', import.meta.url), { workerData: terms })
    worker.on('message', (accepted: readonly Accepted[]) => {
      for (const { descriptor, source } of accepted) onAccepted(descriptor, source)
    })
    worker.on('exit', () => {
      kernel.close(poll)
      kernel.close(bell)
    })
    return { kernel, poll, bell }
  }

  return {
    open(descriptor: number, port: number): Listening {
      running ??= start()
      const { kernel, poll } = running
      kernel.adopt(descriptor, backlog)
      kernel.watch(poll, descriptor, EPOLLIN, port)
      return {
        port,
        descriptor,
        stop() {
          kernel.unwatch(poll, descriptor)
          kernel.close(descriptor)
        },
      }
    },

    end(): void {
      if (running) running.kernel.ring(running.bell)
      running = undefined
    },
  }
}
