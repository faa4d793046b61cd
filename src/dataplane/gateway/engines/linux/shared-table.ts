/** Keys of one set share a lock. Far more than a set has in use, so that none overflows. */
const slotsPerSet = 64
const maxSpins = 100
/** A lock is held for a microsecond, or for the time in which its holder has no processor. */
const maxWaits = 30_000
const waitMs = 1

/** Memory of a table, to be passed to the threads that use it. */
export type TableMemory = {
  readonly buffer: SharedArrayBuffer
  readonly sets: number
  readonly threads: number
  readonly numbers: number
  /** Unpredictable, so that keys cannot be chosen to collide. */
  readonly seeds: readonly [number, number]
}

export type TableShape = {
  /** At least four times as many as keys are in use at once. */
  readonly slots: number
  /** Threads with a count of their own in each slot; 0 for a table without counts. */
  readonly threads: number
  /** Numbers of each slot. */
  readonly numbers: number
}

/** The hash of a key in one table. */
export type TableKey = readonly [first: number, second: number]
/** Hashed keys that a thread remembers of one purpose. */
const maxRemembered = 2000

export function makeTableMemory({ slots, threads, numbers }: TableShape, random: () => number): TableMemory {
  const sets = 2 ** Math.max(0, Math.ceil(Math.log2(slots / slotsPerSet)))
  const count = sets * slotsPerSet
  const bytes = count * numbers * Float64Array.BYTES_PER_ELEMENT + (sets + count * 2 + count * threads) * 4
  const seeds = [Math.floor(random() * 2 ** 32), Math.floor(random() * 2 ** 32)] as const
  return { buffer: new SharedArrayBuffer(bytes), sets, threads, numbers, seeds }
}

/**
 * A hash table in shared memory: for each key a count of each thread, and numbers. A key is known by 64 bits of a hash
 * with a random seed. Each count has one writer, so a thread that dies inside an update leaves no wrong sum: forget()
 * drops its counts and its locks. A slot is reused once its counts are zero and `isStale`.
 */
export class SharedTable {
  /** `numbers` of each slot, one slot after the other. */
  readonly values: Float64Array
  private readonly locks: Int32Array
  private readonly keys: Int32Array
  private readonly counts: Int32Array
  private readonly slots: number

  constructor(
    private readonly memory: TableMemory,
    /** The index of this thread. */
    private readonly thread: number,
    private readonly isStale: (valuesAt: number, values: Float64Array) => boolean,
  ) {
    const { buffer, sets, threads, numbers } = memory
    this.slots = sets * slotsPerSet
    let at = 0
    const nextInts = (count: number): Int32Array => {
      const view = new Int32Array(buffer, at, count)
      at += view.byteLength
      return view
    }
    this.values = new Float64Array(buffer, 0, this.slots * numbers)
    at = this.values.byteLength
    this.locks = nextInts(sets)
    this.keys = nextInts(this.slots * 2)
    this.counts = nextInts(this.slots * threads)
  }

  /** Runs `act` with the key's slot while no other thread may change it. The slot is -1 if there is no room. */
  update<Result>(key: string | TableKey, act: (slot: number) => Result): Result {
    const [first, second] = typeof key === 'string' ? this.hashOf(key) : key
    const set = this.setOf(second)
    this.lock(set)
    try {
      return act(this.findOrClaim(set, first, second))
    } finally {
      this.unlock(set)
    }
  }

  /** The same with two keys. */
  updateBoth<Result>(one: TableKey, other: TableKey, act: (slot: number, otherSlot: number) => Result): Result {
    const [firstOfOne, secondOfOne] = one
    const [firstOfOther, secondOfOther] = other
    const [set, otherSet] = [this.setOf(secondOfOne), this.setOf(secondOfOther)]
    // In one order everywhere, so that no two threads wait for each other.
    const [low, high] = [Math.min(set, otherSet), Math.max(set, otherSet)]
    this.lock(low)
    if (high !== low) this.lock(high)
    try {
      const slot = this.findOrClaim(set, firstOfOne, secondOfOne)
      // Counted meanwhile, so that the second key does not claim the same slot.
      if (slot >= 0) this.add(slot, 1)
      const otherSlot = this.findOrClaim(otherSet, firstOfOther, secondOfOther)
      if (slot >= 0) this.add(slot, -1)
      return act(slot, otherSlot)
    } finally {
      if (high !== low) this.unlock(high)
      this.unlock(low)
    }
  }

  /** The sum of all threads' counts. */
  total(slot: number): number {
    let sum = 0
    for (let thread = 0; thread < this.memory.threads; thread += 1) sum += this.counts[thread * this.slots + slot] ?? 0
    return sum
  }

  /** Changes this thread's count. */
  add(slot: number, change: number): void {
    const at = this.thread * this.slots + slot
    this.counts[at] = (this.counts[at] ?? 0) + change
  }

  /** Where the slot's numbers begin in `values`. */
  valuesAt(slot: number): number {
    return slot * this.memory.numbers
  }

  /** Drops the counts and locks of a thread that has ended. */
  forget(thread: number): void {
    const own = this.counts.subarray(thread * this.slots, (thread + 1) * this.slots)
    for (const [slot, count] of own.entries()) if (count !== 0) own[slot] = 0
    for (let set = 0; set < this.locks.length; set += 1) Atomics.compareExchange(this.locks, set, thread + 1, 0)
  }

  /** Hashes keys of one purpose, and remembers the hashes: each tunnel needs those of its customer several times. */
  keysOf(purpose: string): (name: string) => TableKey {
    const known = new Map<string, TableKey>()
    return (name) => {
      const found = known.get(name)
      if (found) return found
      const key = this.hashOf(`${purpose} ${name}`)
      if (known.size >= maxRemembered) known.clear()
      known.set(name, key)
      return key
    }
  }

  /** Never zero, which marks an empty slot. */
  private hashOf(key: string): TableKey {
    const [seed, otherSeed] = this.memory.seeds
    return [Bun.hash.xxHash32(key, seed) | 1 | 0, Bun.hash.xxHash32(key, otherSeed) | 0]
  }

  private setOf(hash: number): number {
    return (hash >>> 0) & (this.memory.sets - 1)
  }

  private findOrClaim(set: number, first: number, second: number): number {
    const { keys } = this
    const begin = set * slotsPerSet
    let free = -1
    for (let slot = begin; slot < begin + slotsPerSet; slot += 1) {
      const key = keys[slot * 2]
      if (key === first && keys[slot * 2 + 1] === second) return slot
      if (key === 0) {
        if (free < 0) free = slot
        break
      }
      if (free < 0 && this.total(slot) === 0 && this.isStale(this.valuesAt(slot), this.values)) free = slot
    }
    if (free >= 0) this.claim(free, first, second)
    return free
  }

  private claim(slot: number, first: number, second: number): void {
    this.values.fill(0, this.valuesAt(slot), this.valuesAt(slot + 1))
    this.keys[slot * 2 + 1] = second
    this.keys[slot * 2] = first
  }

  private lock(set: number): void {
    const { locks } = this
    for (let tries = 0; Atomics.compareExchange(locks, set, 0, this.thread + 1) !== 0; tries += 1) {
      if (tries < maxSpins) continue
      if (tries > maxSpins + maxWaits) throw new Error('a lock of a shared table was not released')
      const holder = Atomics.load(locks, set)
      if (holder !== 0) Atomics.wait(locks, set, holder, waitMs)
    }
  }

  private unlock(set: number): void {
    Atomics.store(this.locks, set, 0)
  }
}
