import { parentPort, workerData } from 'node:worker_threads'
import { ReactorLoop } from './loop.ts'
import type { ReactorTerms } from './messages.ts'

if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
new ReactorLoop(workerData as ReactorTerms, (message) => main.postMessage(message, [])).run()
