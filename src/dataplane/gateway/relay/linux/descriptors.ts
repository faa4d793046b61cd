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
