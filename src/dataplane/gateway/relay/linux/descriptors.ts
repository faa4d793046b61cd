import type { Pipe } from './kernel.ts'

/** More than any process may have open, as shipped by distributions. */
export const mostDescriptors = 1_048_576

/**
 * Which descriptors a reactor owns, a bit for each, in memory that outlives it: whoever looks after it closes what it
 * leaves behind.
 */
export const ownedWords = mostDescriptors / 32

/** Every descriptor of one reactor: opened, shared and closed here and nowhere else, each closed once. */
export class Descriptors {
  private readonly holders = new Uint8Array(mostDescriptors)
  private closing: number[] = []

  constructor(
    /** Bits of what is owned. */
    private readonly owned: Int32Array,
    private readonly close: (descriptor: number) => void,
    /** Throws at a descriptor that is owned twice, or let go of by somebody who does not hold it. */
    private readonly isStrict: boolean,
  ) {}

  /** Takes one that the system has just opened. False when its number is beyond the table; it is closed then. */
  own(descriptor: number): boolean {
    if (descriptor >= mostDescriptors) {
      this.close(descriptor)
      return false
    }
    if (this.isStrict && this.holders[descriptor] !== 0) throw new Error(`descriptor ${descriptor} is owned already`)
    this.holders[descriptor] = 1
    this.mark(descriptor, true)
    return true
  }

  /** Somebody else holds it too: it stays open until both have let go. */
  share(descriptor: number): void {
    if (this.isStrict && !this.isOwned(descriptor)) throw new Error(`descriptor ${descriptor} is not open`)
    this.holders[descriptor] = (this.holders[descriptor] ?? 0) + 1
  }

  /**
   * Lets go of it. It is closed with the others in flush(), so that its number does not come back while old events are
   * looked at.
   */
  release(descriptor: number): void {
    const holders = this.holders[descriptor] ?? 0
    if (holders === 0) {
      if (this.isStrict) throw new Error(`descriptor ${descriptor} is closed twice`)
      return
    }
    this.holders[descriptor] = holders - 1
    if (holders === 1) this.closing.push(descriptor)
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
    const word = descriptor >> 5
    const bit = 1 << (descriptor & 31)
    this.owned[word] = isOwned ? (this.owned[word] ?? 0) | bit : (this.owned[word] ?? 0) & ~bit
  }
}

/** What a reactor has left open, for whoever closes it. */
export function* ownedIn(owned: Int32Array): Generator<number> {
  for (const [word, bits] of owned.entries()) {
    if (bits === 0) continue
    for (let bit = 0; bit < 32; bit += 1) if ((bits >>> bit) & 1) yield word * 32 + bit
  }
}

/** A user without privileges may have 64 MiB in pipes, as shipped; what is opened beyond is small and slow. */
const mostPipes = 200
/** One for every so many connections: they are made of descriptors too. */
const connectionsOfPipe = 8
export const pipeBytes = 256 * 1024

export type Pipes = Pick<PipePool, 'take' | 'give'>

/**
 * Pipes for splice(2), used again while they are empty: one that still holds somebody's bytes is closed, never handed
 * on.
 */
export class PipePool {
  private readonly idle: Pipe[] = []
  private count = 0
  private readonly most: number

  constructor(
    private readonly open: (bytes: number) => Pipe | number,
    private readonly descriptors: Pick<Descriptors, 'own' | 'release'>,
    private readonly isStrict: boolean,
    connections: number,
  ) {
    this.most = Math.min(mostPipes, Math.ceil(connections / connectionsOfPipe))
  }

  /** Undefined when there are too many: then bytes are copied. */
  take(): Pipe | undefined {
    const known = this.idle.pop()
    if (known) {
      if (this.isStrict && known.held !== 0) throw new Error('a pipe in the pool holds bytes')
      return known
    }
    if (this.count >= this.most) return undefined
    const made = this.open(pipeBytes)
    if (typeof made === 'number') return undefined
    this.descriptors.own(made.readEnd)
    this.descriptors.own(made.writeEnd)
    this.count += 1
    return made
  }

  give(pipe: Pipe): void {
    if (this.isStrict && this.idle.includes(pipe)) throw new Error('a pipe is given back twice')
    if (pipe.held === 0) {
      this.idle.push(pipe)
      return
    }
    this.count -= 1
    this.descriptors.release(pipe.readEnd)
    this.descriptors.release(pipe.writeEnd)
  }

  /** How many exist, and how many of them wait to be used. */
  get standing(): { readonly open: number; readonly idle: number } {
    return { open: this.count, idle: this.idle.length }
  }
}
