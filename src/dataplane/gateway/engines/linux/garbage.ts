import type { Clock } from '../../../../core/time.ts'

const mebibyte = 1024 * 1024
/** Garbage that is collected in a quiet and in a busy moment: so much, and so large a part of the memory in use. */
const worthCollecting = {
  quiet: { bytes: mebibyte, part: 1 / 8 },
  busy: { bytes: 16 * mebibyte, part: 1 / 2 },
} as const
/** Collections take a thousandth of the time, within these limits of the time between two. */
const intervalPerPause = 1000
const minIntervalMs = 2000
const maxIntervalMs = 30_000

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
  private earliestAt = 0

  constructor(
    private readonly clock: Clock,
    private readonly heap: Heap = openOwnHeap(),
  ) {
    this.keptBytes = heap.bytes()
  }

  /** Call a few times a second. `isQuiet`: few clients would notice a pause. */
  collectIfWorth(isQuiet: boolean): void {
    const fromMs = this.clock()
    if (fromMs < this.earliestAt) return
    const { bytes, part } = worthCollecting[isQuiet ? 'quiet' : 'busy']
    if (this.heap.bytes() - this.keptBytes < Math.max(bytes, this.keptBytes * part)) return
    this.heap.collect()
    this.keptBytes = this.heap.bytes()
    const toMs = this.clock()
    const intervalMs = intervalPerPause * (toMs - fromMs)
    this.earliestAt = toMs + Math.min(maxIntervalMs, Math.max(minIntervalMs, intervalMs))
  }
}
