import { parentPort, workerData } from 'node:worker_threads'
import type { Certificate } from '../../../tls/certificate.ts'
import { type ConnectionWatcher, Front } from '../../../tls/front.ts'
import type { TlsSocket } from '../../../tls/tls-socket.ts'
import { openSite } from '../../site/server.ts'
import { after } from '../portable/dialler.ts'
import { Http2Clients } from '../shared/http2-clients.ts'
import { createSockets, toTlsClient } from '../shared/sockets.ts'
import { Descriptors } from './descriptors.ts'
import { openKernel } from './kernel.ts'
import { Outbox } from './messages.ts'
import { TlsLines } from './tls-lines.ts'
import { type FromTlsWorker, http2Counts, type TlsWorkerTerms, type ToTlsWorker } from './tls-pool.ts'

const countEveryMs = 100
/**
 * In each turn of its loop, Bun reads 5 sockets that are in a handshake, the newest first. A handshake takes two reads,
 * so with more than this the oldest would wait as long as new ones come.
 */
const beginsPerTurn = 2

if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
const { maxConnections, counts, owned, site: terms } = workerData as TlsWorkerTerms
const shared = new Int32Array(counts)
const { post } = new Outbox<FromTlsWorker>((messages) => main.postMessage(messages, []), setImmediate)
const onFault = (fault: unknown): void => post({ type: 'fault', fault })
const clock = (): number => performance.now()
const kernel = openKernel()
const descriptors = new Descriptors(new Int32Array(owned), (descriptor) => kernel.close(descriptor), false)
const sockets = createSockets(process.platform, descriptors)
const lines = new TlsLines({ kernel, thread: { isRunning: true, post }, maxConnections, clock })
const http2 = new Http2Clients({ sockets, take: (client) => lines.take(client), after, clock })
const opened =
  terms &&
  openSite(terms, {
    take: (client) => lines.take(client),
    sockets,
    after,
    onFault,
  })
const site = opened?.site
const connections = new Map<number, ConnectionWatcher>()
/** Not yet begun, oldest first. */
const waiting = new Map<number, Begin>()
let certificate: Certificate | undefined
let accept: (descriptor: number, source: string, watcher: ConnectionWatcher) => void = () => {}

function takeTls(tls: TlsSocket): void {
  const shown = site?.isFor(tls) ? site : undefined
  if (tls.protocol === 'h2') http2.take(tls, shown)
  else if (shown) shown.take(tls)
  else lines.take(toTlsClient(tls, sockets))
}

const front = new Front({
  hostname: '',
  port: 0,
  certificate: () => certificate,
  max: maxConnections,
  isAdmitted: true,
  offersHttp2: true,
  onTls: takeTls,
  onFault,
  adopt(onAccepted) {
    accept = onAccepted
    return { port: 0, descriptor: -1, stop() {} }
  },
})

setInterval(() => {
  Atomics.store(shared, http2Counts.open, http2.open)
  Atomics.store(shared, http2Counts.requests, http2.requests)
  Atomics.store(shared, http2Counts.spare, http2.spare + (site?.open ?? 0))
}, countEveryMs).unref()

type Begin = Extract<ToTlsWorker, { type: 'begin' }>

function enqueue(message: Begin): void {
  if (!descriptors.own(message.descriptor)) return post({ type: 'gone', id: message.id })
  waiting.set(message.id, message)
  if (waiting.size === 1) setImmediate(beginNext)
}

function beginNext(): void {
  for (const message of waiting.values().take(beginsPerTurn)) {
    leaveQueue(message)
    descriptors.disown(message.descriptor)
    begin(message)
  }
  if (waiting.size > 0) setImmediate(beginNext)
}

function leaveQueue({ id }: Begin): void {
  waiting.delete(id)
  Atomics.add(shared, http2Counts.begun, 1)
}

function close(id: number): void {
  const message = waiting.get(id)
  if (!message) return connections.get(id)?.terminate?.()
  leaveQueue(message)
  descriptors.release(message.descriptor)
  descriptors.flush()
  post({ type: 'gone', id })
}

function begin({ id, descriptor, source }: Begin): void {
  const watcher: ConnectionWatcher = {
    onShaken: () => post({ type: 'shaken', id }),
    onGone() {
      connections.delete(id)
      post({ type: 'gone', id })
    },
  }
  connections.set(id, watcher)
  accept(descriptor, source, watcher)
}

function take(message: ToTlsWorker): void {
  if (message.type === 'begin') enqueue(message)
  else if (message.type === 'certificate') certificate = message.certificate
  else if (message.type === 'close') close(message.id)
  else if (message.type === 'make-room') void (site?.makeRoom() || http2.makeRoom())
  else if (message.type === 'table') opened?.moveTable(message.table)
  else if (message.type === 'reactor-died') lines.reactorDied()
  else if (message.type === 'drain') {
    http2.drain()
    site?.drain()
  } else {
    for (const id of waiting.keys()) close(id)
    front.end()
    lines.stop()
    // After the last messages.
    setImmediate(() => main.close())
  }
}

main.on('message', (messages: readonly ToTlsWorker[]) => messages.forEach(take))
