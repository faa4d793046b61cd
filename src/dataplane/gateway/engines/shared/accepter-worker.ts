import { parentPort, workerData } from 'node:worker_threads'
import { prefixesOf, Seat, Seats } from '../../../tls/seats.ts'
import { openKernel } from '../../system/kernel.ts'
import { EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM, EPOLLET, EPOLLIN, EPOLLRDHUP } from '../../system/numbers.ts'
import { maxSocketAddressBytes } from '../../system/structures.ts'
import { viewMemory } from '../linux/shared-memory.ts'
import { TlsPassing } from '../linux/tls-passing.ts'
import { type Accepted, type AccepterTerms, isWholeHello } from './accepter.ts'

const maxWaitMs = 60_000
/** Accepted per port and turn. */
const maxAccepted = 64
/** Pause when the process is out of descriptors. */
const restMs = 100
/** Beyond so many, connections wait in the kernel's queue, where they cost no descriptor. */
const maxUntaken = 512
const untakenMs = 2
const maxWaits = 500
const starved = [EMFILE, ENFILE, ENOBUFS, ENOMEM].map((error) => -error)

/** The time limit of a handshake; the front has the same. */
const helloMs = 10_000
/** A ClientHello comes in few segments. After so many looks, or with so many bytes, TLS reads what there is. */
const maxLooks = 8
const maxPeekedBytes = 18_432

if (!parentPort) throw new Error('this runs as a worker of the engine')
const main = parentPort
const { poll, bell, untaken, tls } = workerData as AccepterTerms
const maxAwaiting = tls?.maxAwaiting ?? 0
const untakenCount = new Int32Array(untaken)
const kernel = openKernel()
const passing =
  tls &&
  new TlsPassing(
    tls.reactors.map((each) => ({ memory: viewMemory(each.memory), bell: each.bell })),
    {
      ring: (each) => kernel.ring(each),
      random: Math.random,
      now: () => performance.now(),
      isSticky: tls.isSticky,
    },
  )
type Awaiting = {
  readonly source: string
  /** The client's socket address. */
  readonly address: Int32Array
  readonly sinceMs: number
  readonly seat: Seat
  looks: number
}
/** Connections without a whole ClientHello by descriptor, the oldest first. */
const awaiting = new Map<number, Awaiting>()
/** When there are too many, the oldest of the network with most of them is closed. */
const seats = new Seats(0, () => 0)

/** Returns false if descriptors ran out. */
function acceptFrom(listener: number, accepted: Accepted[]): boolean {
  for (let count = 0; count < maxAccepted; count += 1) {
    const descriptor = kernel.accept(listener)
    if (descriptor === -EAGAIN) return true
    if (descriptor < 0) return !starved.includes(descriptor)
    const source = kernel.acceptedFrom()
    if (maxAwaiting === 0 || hasHello(descriptor)) handOn(descriptor, source, kernel.copyAccepted, accepted)
    else awaitHello(descriptor, source)
  }
  return true
}

/** To a reactor, or to the main thread, which judges the client first. */
function handOn(
  descriptor: number,
  source: string,
  write: (into: Int32Array, at: number) => void,
  accepted: Accepted[],
): void {
  const reactor = passing?.choose(source) ?? -1
  // None overtakes those on their way through the main thread.
  const mayPass = accepted.length === 0 && Atomics.load(untakenCount, 0) === 0
  if (!mayPass || !passing?.pass(reactor, descriptor, source, write)) accepted.push({ descriptor, source, reactor })
}

/** Also true at the end of the stream or after an error. */
function hasHello(descriptor: number): boolean {
  const bytes = kernel.peekUpTo(descriptor, maxPeekedBytes)
  if (bytes === -EAGAIN) return false
  return bytes <= 0 || bytes === maxPeekedBytes || isWholeHello(kernel.received.subarray(0, bytes))
}

function awaitHello(descriptor: number, source: string): void {
  if (awaiting.size >= maxAwaiting) seats.makeRoom()
  const seat = new Seat(prefixesOf(source), () => drop(descriptor))
  const address = new Int32Array(maxSocketAddressBytes / 4)
  kernel.copyAccepted(address, 0)
  awaiting.set(descriptor, { source, address, sinceMs: performance.now(), seat, looks: 0 })
  seats.add(seat)
  kernel.watch(poll, descriptor, EPOLLIN | EPOLLRDHUP | EPOLLET, 0)
}

function forget(descriptor: number, { seat }: Awaiting): void {
  seats.remove(seat)
  awaiting.delete(descriptor)
}

function drop(descriptor: number): void {
  const known = awaiting.get(descriptor)
  if (!known) return
  forget(descriptor, known)
  kernel.resetOnClose(descriptor)
  kernel.close(descriptor)
}

/** More bytes, or the end of the stream, on a connection that waits. */
function look(descriptor: number, events: number, accepted: Accepted[]): void {
  const known = awaiting.get(descriptor)
  if (!known) return
  known.looks += 1
  if (!(events & ~EPOLLIN) && known.looks < maxLooks && !hasHello(descriptor)) return
  forget(descriptor, known)
  kernel.unwatch(poll, descriptor)
  handOn(descriptor, known.source, (into, at) => into.set(known.address, at), accepted)
}

function dropLate(): void {
  const nowMs = performance.now()
  for (const [descriptor, { sinceMs }] of awaiting) {
    if (nowMs < sinceMs + helloMs) break
    drop(descriptor)
  }
}

function nextWaitMs(): number {
  const [oldest] = awaiting.values()
  return oldest ? Math.max(1, Math.ceil(oldest.sinceMs + helloMs - performance.now())) : maxWaitMs
}

// A connection accepted before the listener passed to another process is still served.
for (let isOver = false; !isOver || awaiting.size > 0; ) {
  const count = kernel.poll(poll, nextWaitMs())
  let hasRoom = true
  const accepted: Accepted[] = []
  for (let index = 0; index < count; index += 1) {
    const descriptor = kernel.descriptorOf(index)
    if (descriptor === bell) {
      isOver = true
      kernel.unwatch(poll, bell)
    } else if (awaiting.has(descriptor)) look(descriptor, kernel.eventsOf(index), accepted)
    else hasRoom = acceptFrom(descriptor, accepted) && hasRoom
  }
  dropLate()
  passing?.flush()
  if (accepted.length > 0) {
    Atomics.add(untakenCount, 0, accepted.length)
    main.postMessage(accepted, [])
  }
  for (let waits = 0; waits < maxWaits && Atomics.load(untakenCount, 0) > maxUntaken; waits += 1)
    Bun.sleepSync(untakenMs)
  if (!hasRoom) Bun.sleepSync(restMs)
}
