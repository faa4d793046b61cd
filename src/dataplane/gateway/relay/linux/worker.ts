import { parentPort, workerData } from 'node:worker_threads'
import { createLoop } from './loop.ts'
import type { ReactorTerms } from './messages.ts'

if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
createLoop(workerData as ReactorTerms, (message) => main.postMessage(message, [])).run()
