import { Worker } from 'node:worker_threads'
import { type Kernel, openKernel } from '../../system/kernel.ts'
import { EPOLLIN } from '../../system/numbers.ts'

/** An epoll descriptor of listeners, and an eventfd that ends the thread. */
export type AccepterTerms = {
  readonly poll: number
  readonly bell: number
  /** Connections handed on that the other thread has not taken yet. */
  readonly untaken: SharedArrayBuffer
  readonly tls: TlsAccepting | undefined
}

/** Reactors that do TLS. */
export type TlsAccepting = {
  readonly reactors: readonly { readonly memory: SharedArrayBuffer; readonly bell: number }[]
  /** Connections of an address go to the same reactor, if its load permits. */
  readonly isSticky: boolean
  /** Connections that may wait for their ClientHello. */
  readonly maxAwaiting: number
}

/** `reactor`: the chosen one's place; -1 if there is none. */
export type Accepted = { readonly descriptor: number; readonly source: string; readonly reactor: number }

export type Listening = { readonly port: number; readonly descriptor: number; stop(): void }

const backlog = 4096

/** A handshake record of TLS, and the largest ClientHello that TLS libraries read. */
const handshakeRecord = 22
const maxHelloBytes = 16_384
const [recordHeadBytes, messageHeadBytes] = [5, 4]

/** False while more of a ClientHello must come. True for anything else: TLS itself refuses it. */
export function isWholeHello(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const message: number[] = []
  let wanted = messageHeadBytes
  let gathered = 0
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshakeRecord) return true
    if (bytes.length < at + recordHeadBytes) return false
    const length = view.getUint16(at + 3)
    if (length === 0 || length > maxHelloBytes) return true
    const from = at + recordHeadBytes
    const content = bytes.subarray(from, from + length)
    gathered += content.length
    if (message.length < messageHeadBytes) message.push(...content.subarray(0, messageHeadBytes - message.length))
    const [, high = 0, middle = 0, low = 0] = message
    if (message.length === messageHeadBytes) wanted = messageHeadBytes + high * 65_536 + middle * 256 + low
    if (gathered >= wanted || wanted > maxHelloBytes) return message.length === messageHeadBytes
    at = from + length
  }
  return false
}

/**
 * Accepts on inherited sockets on its own thread; Bun only listens on sockets it has opened. With `tls`, a connection
 * is handed on when its ClientHello is whole, so that half-open handshakes cost the reactors nothing. Beyond
 * `maxAwaiting`, the oldest of the network with most waiting connections is closed.
 */
export function createAccepter(
  onAccepted: (descriptor: number, source: string, reactor: number) => void,
  tls?: TlsAccepting,
) {
  let running: { readonly kernel: Kernel; readonly poll: number; readonly bell: number } | undefined

  function start() {
    const kernel = openKernel()
    const [poll, bell] = [kernel.openPoll(), kernel.openBell()]
    if (poll < 0 || bell < 0) throw new Error('the system has no descriptor left to listen with')
    kernel.watch(poll, bell, EPOLLIN, 0)
    const untaken = new SharedArrayBuffer(4)
    const untakenCount = new Int32Array(untaken)
    const terms: AccepterTerms = { poll, bell, untaken, tls }
    const worker = new Worker(new URL('./accepter-worker.ts', import.meta.url), { workerData: terms })
    worker.on('message', (accepted: readonly Accepted[]) => {
      // Before they are taken: a fault in one would leave the others counted for good.
      Atomics.sub(untakenCount, 0, accepted.length)
      for (const { descriptor, source, reactor } of accepted) onAccepted(descriptor, source, reactor)
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
