import { parentPort, workerData } from 'node:worker_threads'
import { openKernel } from '../linux/kernel.ts'
import { EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM } from '../linux/numbers.ts'

/** An epoll descriptor of listeners, and an eventfd that ends the thread. */
export type AccepterTerms = { readonly poll: number; readonly bell: number }
export type Accepted = { readonly descriptor: number; readonly source: string }

const maxWaitMs = 60_000
/** Accepted per port and turn. */
const maxAccepted = 64
/** Pause when the process is out of descriptors. */
const restMs = 100
const starved = [EMFILE, ENFILE, ENOBUFS, ENOMEM].map((error) => -error)

if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
const { poll, bell } = workerData as AccepterTerms
const kernel = openKernel()

/** Returns false if descriptors ran out. */
function acceptFrom(listener: number, accepted: Accepted[]): boolean {
  for (let count = 0; count < maxAccepted; count += 1) {
    const descriptor = kernel.accept(listener)
    if (descriptor === -EAGAIN) return true
    if (descriptor < 0) return !starved.includes(descriptor)
    accepted.push({ descriptor, source: kernel.acceptedFrom() })
  }
  return true
}

for (let isOver = false; !isOver; ) {
  const count = kernel.poll(poll, maxWaitMs)
  let hasRoom = true
  const accepted: Accepted[] = []
  for (let index = 0; index < count; index += 1) {
    const descriptor = kernel.descriptorOf(index)
    if (descriptor === bell) isOver = true
    else hasRoom = acceptFrom(descriptor, accepted) && hasRoom
  }
  if (accepted.length > 0) main.postMessage(accepted, [])
  if (!hasRoom) Bun.sleepSync(restMs)
}
