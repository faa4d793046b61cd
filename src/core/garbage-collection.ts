import type { Clock } from './time.ts'

const mebibyte = 1024 * 1024
/**
 * When garbage is collected: so many bytes of it, and so large a part of the memory in use. `restMs`: the time to the
 * next collection, for each mebibyte in use, whose collection takes 0.5 to 1 ms of processor time.
 */
const limits = {
  quiet: { bytes: mebibyte, part: 1 / 8, restMs: 50 },
  busy: { bytes: 16 * mebibyte, part: 1 / 2, restMs: 500 },
} as const
const minRestMs = 500

export type CollectedHeap = {
  /** Memory of the thread's objects and buffers, garbage included. */
  readonly bytes: () => number
  /** Collects all garbage, and returns its memory to the allocator. */
  readonly collect: () => void
}

/**
 * Returns the memory of a thread's garbage to the system. By itself Bun lets a heap grow to twice of what the last
 * collection left, and counts there the memory that threads share. It shrinks a heap in its own loop only, to which a
 * reactor never returns.
 */
export class GarbageCollection {
  private keptBytes: number
  private endedAt = Number.NEGATIVE_INFINITY

  constructor(
    private readonly clock: Clock,
    private readonly heap: CollectedHeap,
  ) {
    this.keptBytes = heap.bytes()
  }

  /** Call a few times a second. `isQuiet`: few clients would notice a pause. */
  collectIfWorth(isQuiet: boolean): void {
    const { bytes, part, restMs } = limits[isQuiet ? 'quiet' : 'busy']
    const usedBytes = this.heap.bytes()
    this.keptBytes = Math.min(this.keptBytes, usedBytes)
    if (usedBytes - this.keptBytes < Math.max(bytes, this.keptBytes * part)) return
    if (this.clock() - this.endedAt < Math.max(minRestMs, (restMs * this.keptBytes) / mebibyte)) return
    this.heap.collect()
    this.keptBytes = this.heap.bytes()
    this.endedAt = this.clock()
  }
}
