import { ownedCells } from './descriptors.ts'

/** Memory shared by the main thread and a reactor; it outlives the reactor. */
const cells = { isAsleep: 0, posted: 1 } as const
const statusAt = 2
const statusNames = [
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

const countBytes = 64
const numbers = { totalBytes: 0, skewMs: 1, lastContactAt: 2, hopBytes: 3 } as const
const numberBytes = 64

export type SharedMemory = ReturnType<typeof viewMemory>

export const makeMemory = (): SharedArrayBuffer =>
  new SharedArrayBuffer(countBytes + numberBytes + ownedCells * Int32Array.BYTES_PER_ELEMENT)

/** Each value has one writer. */
export function viewMemory(memory: SharedArrayBuffer) {
  const counts = new Int32Array(memory, 0, countBytes / Int32Array.BYTES_PER_ELEMENT)
  const reals = new Float64Array(memory, countBytes, numberBytes / Float64Array.BYTES_PER_ELEMENT)
  return {
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
    owned: new Int32Array(memory, countBytes + numberBytes, ownedCells),
  }
}

/** Two numbers and four flags. */
const memoryBytes = 32

export const makeTlsMemory = (): SharedArrayBuffer => new SharedArrayBuffer(memoryBytes)

export type TlsMemory = ReturnType<typeof viewTlsMemory>

/** State of a TLS connection, shared by the TLS thread and the reactor. */
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
