import type { Eviction } from '../../access/arrivals.ts'
import { ownedCells, ownedIn } from '../../system/descriptors.ts'
import { maxSocketAddressBytes } from '../../system/structures.ts'

/** Memory shared by the main thread and a reactor; it outlives the reactor. */
const cells = {
  isAsleep: 0,
  posted: 1,
  isServing: 2,
  inUse: 3,
  evictions: 4,
  head: 5,
  tail: 6,
  taskId: 7,
  crowds: 8,
  tlsHead: 9,
  tlsTail: 10,
  shaking: 11,
  isDirect: 12,
  passed: 13,
  known: 14,
} as const
/** Other threads write these too, so they outlive a reactor. */
const commonCells: readonly number[] = [cells.head, cells.tail, cells.tlsHead, cells.tlsTail, cells.passed, cells.known]
const ownCells = Object.values(cells).filter((cell) => !commonCells.includes(cell))
const statusAt = 15
const evictionCells: Readonly<Record<Eviction, number>> = { any: cells.evictions, crowd: cells.crowds }
export const statusNames = [
  'open',
  'connections',
  'tunnels',
  'dialling',
  'settling',
  'maxHeld',
  'spared',
  'turnedAway',
  'starved',
] as const

type ReactorStatus = Record<(typeof statusNames)[number], number>
export const noStatus = Object.fromEntries(statusNames.map((name) => [name, 0])) as ReactorStatus

const countBytes = 128
const numbers = { totalBytes: 0, skewMs: 1, lastContactAt: 2, hopBytes: 3, oldestAt: 4 } as const
const numberBytes = 64

export type SharedMemory = ReturnType<typeof viewMemory>

export const makeMemory = (): SharedArrayBuffer =>
  new SharedArrayBuffer(
    countBytes + numberBytes + (ownedCells + 2 * maxArrivals * arrivalWords) * Int32Array.BYTES_PER_ELEMENT,
  )

/** Accepted descriptors on their way to a reactor. */
const maxArrivals = 1024
/** A descriptor, its port and the client's socket address. */
const arrivalWords = 2 + maxSocketAddressBytes / 4
const ringBytes = maxArrivals * arrivalWords * Int32Array.BYTES_PER_ELEMENT

type TakeArrival = (descriptor: number, port: number, words: Int32Array, at: number) => void

/** Accepted connections on their way to a reactor, from one thread. */
function viewRing(counts: Int32Array, ring: Int32Array, headCell: number, tailCell: number) {
  return {
    get size(): number {
      return (Atomics.load(counts, tailCell) - Atomics.load(counts, headCell)) | 0
    },
    /** False if the reactor is too far behind. `write` fills the client's address. */
    add: (descriptor: number, port: number, write: (into: Int32Array, at: number) => void): boolean => {
      const tail = Atomics.load(counts, tailCell)
      if (((tail - Atomics.load(counts, headCell)) | 0) >= maxArrivals) return false
      const at = (tail & (maxArrivals - 1)) * arrivalWords
      ring[at] = descriptor
      ring[at + 1] = port
      write(ring, at + 2)
      Atomics.store(counts, tailCell, (tail + 1) | 0)
      return true
    },
    /** Takes all that have arrived. One counts as arrived until `take` has returned. */
    takeAll: (take: TakeArrival): void => {
      const tail = Atomics.load(counts, tailCell)
      for (let head = Atomics.load(counts, headCell); head !== tail; ) {
        const at = (head & (maxArrivals - 1)) * arrivalWords
        take(ring[at] ?? -1, ring[at + 1] ?? 0, ring, at + 2)
        head = (head + 1) | 0
        Atomics.store(counts, headCell, head)
      }
    },
  }
}

/** Connections on their way to a reactor, and those that it should evict. */
function viewArrivals(counts: Int32Array, plain: Int32Array, overTls: Int32Array) {
  const ring = viewRing(counts, plain, cells.head, cells.tail)
  const tlsRing = viewRing(counts, overTls, cells.tlsHead, cells.tlsTail)
  return {
    get arrivalCount(): number {
      return ring.size + tlsRing.size
    },
    /** Adds an accepted connection. False if the reactor is too far behind. `write` fills the client's address. */
    addArrival: ring.add,
    takeArrivals: ring.takeAll,
    /** The same for clients over TLS, from the thread that accepts them. */
    addTlsArrival: tlsRing.add,
    takeTlsArrivals: tlsRing.takeAll,
    /** Waiting connections that other reactors want evicted. */
    get evictions(): number {
      return Atomics.load(counts, cells.evictions) + Atomics.load(counts, cells.crowds)
    },
    wantEviction: (which: Eviction): void => void Atomics.add(counts, evictionCells[which], 1),
    takeEvictions: (which: Eviction): number => Atomics.exchange(counts, evictionCells[which], 0),
  }
}

/** The reactor's status, and numbers beyond 32 bits. */
function viewStatus(counts: Int32Array, reals: Float64Array) {
  return {
    get status(): ReactorStatus {
      const status = { ...noStatus }
      for (const [index, name] of statusNames.entries()) status[name] = Atomics.load(counts, statusAt + index)
      return status
    },
    /** Stores changes only, last to first: a reader who sees nothing open sees no tunnels either. */
    set status(status: ReactorStatus) {
      for (let index = statusNames.length - 1; index >= 0; index -= 1) {
        const value = status[statusNames[index] ?? 'open']
        if (counts[statusAt + index] !== value) Atomics.store(counts, statusAt + index, value)
      }
    },
    get totalBytes(): number {
      return reals[numbers.totalBytes] ?? 0
    },
    set totalBytes(bytes: number) {
      reals[numbers.totalBytes] = bytes
    },
    get hopBytes(): number {
      return reals[numbers.hopBytes] ?? 0
    },
    set hopBytes(bytes: number) {
      reals[numbers.hopBytes] = bytes
    },
    /** The shop's clock minus this machine's. */
    get skewMs(): number {
      return reals[numbers.skewMs] ?? 0
    },
    set skewMs(ms: number) {
      reals[numbers.skewMs] = ms
    },
    get lastContactAt(): number {
      return reals[numbers.lastContactAt] ?? 0
    },
    set lastContactAt(at: number) {
      reals[numbers.lastContactAt] = at
    },
    /** When the oldest waiting connection came, about. */
    get oldestAt(): number {
      return reals[numbers.oldestAt] ?? 0
    },
    set oldestAt(at: number) {
      reals[numbers.oldestAt] = at
    },
  }
}

/** Clients over TLS of the reactor. */
function viewTls(counts: Int32Array<SharedArrayBuffer>) {
  const own = {
    /** Clients over TLS whose handshake has not ended. */
    get shaking(): number {
      return Atomics.load(counts, cells.shaking)
    },
    noteShaking: (change: 1 | -1): void => void Atomics.add(counts, cells.shaking, change),
    /** The thread that accepts clients over TLS may pass them to this reactor before the front has judged them. */
    get isDirect(): boolean {
      return Atomics.load(counts, cells.isDirect) === 1
    },
    set isDirect(yes: boolean) {
      if (Atomics.load(counts, cells.isDirect) !== (yes ? 1 : 0)) Atomics.store(counts, cells.isDirect, yes ? 1 : 0)
    },
    /** Clients that were passed so, and that the front does not know yet. */
    get unjudged(): number {
      return (Atomics.load(counts, cells.passed) - Atomics.load(counts, cells.known)) | 0
    },
    notePassed: (change: 1 | -1): void => void Atomics.add(counts, cells.passed, change),
    /** The front has learned of so many. Never more than were passed: a thread's end may have counted one already. */
    noteKnown(count: number): void {
      Atomics.add(counts, cells.known, Math.max(0, Math.min(count, own.unjudged)))
    },
  }
  return own
}

function partsOf(memory: SharedArrayBuffer) {
  const ringsAt = countBytes + numberBytes + ownedCells * Int32Array.BYTES_PER_ELEMENT
  return {
    counts: new Int32Array(memory, 0, countBytes / Int32Array.BYTES_PER_ELEMENT),
    reals: new Float64Array(memory, countBytes, numberBytes / Float64Array.BYTES_PER_ELEMENT),
    owned: new Int32Array(memory, countBytes + numberBytes, ownedCells),
    ring: new Int32Array(memory, ringsAt, maxArrivals * arrivalWords),
    tlsRing: new Int32Array(memory, ringsAt + ringBytes, maxArrivals * arrivalWords),
  }
}

/** Each value has one writer, except `evictions`. */
export function viewMemory(memory: SharedArrayBuffer) {
  const { counts, reals, owned, ring, tlsRing } = partsOf(memory)
  const own = {
    /** The reactor waits in the kernel and must be woken. */
    get isAsleep(): boolean {
      return Atomics.load(counts, cells.isAsleep) === 1
    },
    set isAsleep(yes: boolean) {
      Atomics.store(counts, cells.isAsleep, yes ? 1 : 0)
    },
    /** Number of posted messages, to skip an empty inbox. */
    get posted(): number {
      return Atomics.load(counts, cells.posted)
    },
    notePosted: (): void => void Atomics.add(counts, cells.posted, 1),
    /** Accepts connections of other reactors, since its state is complete. */
    get isServing(): boolean {
      return Atomics.load(counts, cells.isServing) === 1
    },
    set isServing(yes: boolean) {
      Atomics.store(counts, cells.isServing, yes ? 1 : 0)
    },
    /** Open and lingering connections, at this moment; `status` is as of the end of a turn. */
    get inUse(): number {
      return Atomics.load(counts, cells.inUse)
    },
    set inUse(count: number) {
      Atomics.store(counts, cells.inUse, count)
    },
    /** The kernel's number of the thread. */
    get taskId(): number {
      return Atomics.load(counts, cells.taskId)
    },
    set taskId(id: number) {
      Atomics.store(counts, cells.taskId, id)
    },
    owned,
  }
  const withTls = withAccessors(own, viewTls(counts))
  const view = withAccessors(withAccessors(withTls, viewStatus(counts, reals)), viewArrivals(counts, ring, tlsRing))
  return Object.assign(view, {
    /**
     * After the thread's end. Returns the descriptors that it owned or should have taken. The accepting thread may
     * still add one: the next reactor takes it.
     */
    clear(): ReadonlySet<number> {
      view.isServing = false
      const left = new Set(ownedIn(view.owned))
      view.takeArrivals((descriptor) => left.add(descriptor))
      view.takeTlsArrivals((descriptor) => left.add(descriptor))
      view.noteKnown(view.unjudged)
      view.owned.fill(0)
      for (const cell of ownCells) Atomics.store(counts, cell, 0)
      view.status = noStatus
      view.totalBytes = 0
      view.hopBytes = 0
      return left
    },
  })
}

/** Adds getters and setters, which a spread would read once. */
const withAccessors = <One extends object, Other extends object>(one: One, other: Other): One & Other =>
  Object.defineProperties(one, Object.getOwnPropertyDescriptors(other)) as One & Other

/** Two numbers and four flags. */
const memoryBytes = 32

export const makeTlsMemory = (): SharedArrayBuffer => new SharedArrayBuffer(memoryBytes)

export type TlsMemory = ReturnType<typeof viewTlsMemory>

/** State of a hop's TLS connection, shared by the main thread and the reactor. */
export function viewTlsMemory(memory: SharedArrayBuffer) {
  const bytes = new Float64Array(memory, 0, 2)
  const flags = new Int32Array(memory, 16, 4)
  return {
    /** Plaintext bytes. */
    get acknowledged(): number {
      return bytes[0] ?? 0
    },
    get sent(): number {
      return bytes[1] ?? 0
    },
    note(acknowledged: number, sent: number): void {
      bytes[0] = acknowledged
      bytes[1] = sent
    },
    /** No further acknowledgements. */
    get isOver(): boolean {
      return Atomics.load(flags, 0) === 1
    },
    set isOver(yes: boolean) {
      Atomics.store(flags, 0, yes ? 1 : 0)
    },
    /** The client has gone. */
    get isGone(): boolean {
      return Atomics.load(flags, 1) === 1
    },
    set isGone(yes: boolean) {
      Atomics.store(flags, 1, yes ? 1 : 0)
    },
    /** The reactor wants it closed at once. */
    get isCut(): boolean {
      return Atomics.load(flags, 2) === 1
    },
    set isCut(yes: boolean) {
      Atomics.store(flags, 2, yes ? 1 : 0)
    },
    /** The reactor has closed its end. */
    get isReleased(): boolean {
      return Atomics.load(flags, 3) === 1
    },
    set isReleased(yes: boolean) {
      Atomics.store(flags, 3, yes ? 1 : 0)
    },
  }
}
