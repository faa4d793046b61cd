import { parentPort, workerData } from 'node:worker_threads'
import { createKernel } from '../linux/kernel.ts'
import { openLibc } from '../linux/libc.ts'
import { EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM } from '../linux/numbers.ts'
import type { Processor } from '../linux/structures.ts'

/** What is waited for, and what is rung to end it. Others are added to it and taken away by whoever has made it. */
export type AccepterTerms = { readonly poll: number; readonly bell: number }
export type Accepted = { readonly descriptor: number; readonly source: string }

const mostWaitMs = 60_000
/** How many are taken in from one port before the others have their turn. */
const mostAccepted = 64
/** Without room for another descriptor the system would tell of the same newcomers for ever. */
const restMs = 100
const starved = [EMFILE, ENFILE, ENOBUFS, ENOMEM].map((error) => -error)

if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
const { poll, bell } = workerData as AccepterTerms
const kernel = createKernel(openLibc(), process.arch as Processor)

/** Tells whether there was room for all. */
function acceptFrom(listener: number): boolean {
  for (let count = 0; count < mostAccepted; count += 1) {
    const descriptor = kernel.accept(listener)
    if (descriptor === -EAGAIN) return true
    if (descriptor < 0) return !starved.includes(descriptor)
    const accepted: Accepted = { descriptor, source: kernel.acceptedFrom() }
    main.postMessage(accepted, [])
  }
  return true
}

for (let isOver = false; !isOver; ) {
  const count = kernel.poll(poll, mostWaitMs)
  let hasRoom = true
  for (let index = 0; index < count; index += 1) {
    const descriptor = kernel.descriptorOf(index)
    if (descriptor === bell) isOver = true
    else hasRoom = acceptFrom(descriptor) && hasRoom
  }
  if (!hasRoom) Bun.sleepSync(restMs)
}
