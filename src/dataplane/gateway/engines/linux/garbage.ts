import type { Clock } from '../../../../core/time.ts'

const mebibyte = 1024 * 1024
/**
 * When garbage is collected: so many bytes of it, and so large a part of the memory in use. `rest`: the time until the
 * next collection, in pauses of this one.
 */
const limits = {
  quiet: { bytes: mebibyte, part: 1 / 8, rest: 100 },
  busy: { bytes: 16 * mebibyte, part: 1 / 2, rest: 1000 },
} as const
const minRestMs = 500
const maxRestMs = 30_000

type Heap = {
  /** Memory of the thread's objects and buffers, garbage included. */
  readonly bytes: () => number
  /** Collects all garbage, and returns its memory to the allocator. */
  readonly collect: () => void
}

/** Buffers that exist already, such as memory that the reactors share, are never garbage. */
function openOwnHeap(): Heap {
  const { external: lasting } = process.memoryUsage()
  return {
    bytes: () => {
      const { heapTotal, external } = process.memoryUsage()
      return heapTotal + Math.max(0, external - lasting)
    },
    collect: () => Bun.gc(true),
  }
}

/**
 * Collects the garbage of a thread that never returns to Bun's loop: Bun shrinks a heap in that loop only. Without it a
 * heap keeps the largest size that it had, which is twice its objects and all memory that the reactors share.
 */
export class GarbageCollection {
  private keptBytes: number
  private endedAt = Number.NEGATIVE_INFINITY
  private pauseMs = 0

  constructor(
    private readonly clock: Clock,
    private readonly heap: Heap = openOwnHeap(),
  ) {
    this.keptBytes = heap.bytes()
  }

  /** Call a few times a second. `isQuiet`: few clients would notice a pause. */
  collectIfWorth(isQuiet: boolean): void {
    const { bytes, part, rest } = limits[isQuiet ? 'quiet' : 'busy']
    const fromMs = this.clock()
    const restMs = Math.min(maxRestMs, Math.max(minRestMs, rest * this.pauseMs))
    if (fromMs - this.endedAt < restMs) return
    if (this.heap.bytes() - this.keptBytes < Math.max(bytes, this.keptBytes * part)) return
    this.heap.collect()
    this.keptBytes = this.heap.bytes()
    this.endedAt = this.clock()
    this.pauseMs = this.endedAt - fromMs
  }
}
