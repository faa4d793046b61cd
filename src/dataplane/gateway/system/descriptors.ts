import type { KernelPipe } from './kernel.ts'

/** The usual hard limit of a process. */
export const maxDescriptors = 1_048_576

/** Bitmap of a reactor's descriptors, in memory that outlives it, so that they can be closed after its death. */
export const ownedCells = maxDescriptors / 32

/** Reference counts of a reactor's descriptors; each is closed once. */
export class Descriptors {
  private readonly holders = new Uint8Array(maxDescriptors)
  private closing: number[] = []

  constructor(
    private readonly owned: Int32Array,
    private readonly close: (descriptor: number) => void,
    /** For tests: throws on a double own or release. */
    private readonly isStrict: boolean,
  ) {}

  /** False, and closed, if the number exceeds the table. */
  own(descriptor: number): boolean {
    if (descriptor >= maxDescriptors) {
      this.close(descriptor)
      return false
    }
    if (this.isStrict && this.holders[descriptor] !== 0) throw new Error(`descriptor ${descriptor} is owned already`)
    this.holders[descriptor] = 1
    this.mark(descriptor, true)
    return true
  }

  share(descriptor: number): void {
    if (this.isStrict && !this.isOwned(descriptor)) throw new Error(`descriptor ${descriptor} is not open`)
    this.holders[descriptor] = (this.holders[descriptor] ?? 0) + 1
  }

  /** Closed in flush(), so that the number is not reused while old events are handled. */
  release(descriptor: number): void {
    const holders = this.holders[descriptor] ?? 0
    if (holders === 0) {
      if (this.isStrict) throw new Error(`descriptor ${descriptor} is closed twice`)
      return
    }
    this.holders[descriptor] = holders - 1
    if (holders === 1) this.closing.push(descriptor)
  }

  /** Another owner closes it. */
  disown(descriptor: number): void {
    this.holders[descriptor] = 0
    this.mark(descriptor, false)
  }

  isOwned(descriptor: number): boolean {
    return (this.holders[descriptor] ?? 0) > 0
  }

  flush(): void {
    if (this.closing.length === 0) return
    for (const descriptor of this.closing) {
      this.mark(descriptor, false)
      this.close(descriptor)
    }
    this.closing = []
  }

  private mark(descriptor: number, isOwned: boolean): void {
    const cell = descriptor >> 5
    const bit = 1 << (descriptor & 31)
    this.owned[cell] = isOwned ? (this.owned[cell] ?? 0) | bit : (this.owned[cell] ?? 0) & ~bit
  }
}

/** Descriptors that a dead reactor left open. */
export function* ownedIn(owned: Int32Array): Generator<number> {
  for (const [cell, bits] of owned.entries()) {
    if (bits === 0) continue
    for (let bit = 0; bit < 32; bit += 1) if ((bits >>> bit) & 1) yield cell * 32 + bit
  }
}

/** An unprivileged user may have 64 MiB in pipes; further ones are small and slow. */
const maxPipes = 200
const connectionsOfPipe = 8
export const pipeBytes = 256 * 1024

/** Pool of pipes for splice(2). A pipe that still holds bytes is closed, never reused. */
export class PipePool {
  private readonly idle: KernelPipe[] = []
  private count = 0
  private readonly max: number

  constructor(
    private readonly open: (bytes: number) => KernelPipe | number,
    private readonly descriptors: Pick<Descriptors, 'own' | 'release'>,
    private readonly isStrict: boolean,
    /** Of the gateway, and the threads among which its pipes are divided. */
    { connections, threads }: { readonly connections: number; readonly threads: number },
  ) {
    this.max = Math.ceil(Math.min(maxPipes, Math.ceil(connections / connectionsOfPipe)) / threads)
  }

  /** Undefined at the limit: bytes are copied instead. */
  take(): KernelPipe | undefined {
    const known = this.idle.pop()
    if (known) {
      if (this.isStrict && known.held !== 0) throw new Error('a pipe in the pool holds bytes')
      return known
    }
    if (this.count >= this.max) return undefined
    const made = this.open(pipeBytes)
    if (typeof made === 'number') return undefined
    this.descriptors.own(made.readEnd)
    this.descriptors.own(made.writeEnd)
    this.count += 1
    return made
  }

  give(pipe: KernelPipe): void {
    if (this.isStrict && this.idle.includes(pipe)) throw new Error('a pipe is given back twice')
    if (pipe.held === 0) {
      this.idle.push(pipe)
      return
    }
    this.count -= 1
    this.descriptors.release(pipe.readEnd)
    this.descriptors.release(pipe.writeEnd)
  }

  get pipeCounts(): { readonly open: number; readonly idle: number } {
    return { open: this.count, idle: this.idle.length }
  }
}
