import type { CollectedHeap } from '../../core/garbage-collection.ts'

/** The heap of this thread. Buffers that exist already, such as memory that threads share, are never garbage. */
export function openOwnHeap(): CollectedHeap {
  const { external: lasting } = process.memoryUsage()
  return {
    bytes: () => {
      const { heapTotal, external } = process.memoryUsage()
      return heapTotal + Math.max(0, external - lasting)
    },
    collect: () => Bun.gc(true),
  }
}
