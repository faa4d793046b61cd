import { parentPort, workerData } from 'node:worker_threads'
import { runReactor } from './loop.ts'
import type { ReactorTerms } from './messages.ts'

/** The thread of a reactor. It ends when the reactor does. */
if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
runReactor(workerData as ReactorTerms, (message) => main.postMessage(message, []))
