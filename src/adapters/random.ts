import type { RandomBytes } from '../core/ids.ts'

/** The system's randomness, fetched in blocks because an id wants only ten bytes of it at a time. */
function createRandomBytes(): RandomBytes {
  const block = new Uint8Array(4096)
  let used = block.length
  return (count) => {
    if (count > 256) return crypto.getRandomValues(new Uint8Array(count))
    if (used + count > block.length) {
      crypto.getRandomValues(block)
      used = 0
    }
    const taken = block.slice(used, used + count)
    // What was given out is not kept: it may be a password.
    block.fill(0, used, used + count)
    used += count
    return taken
  }
}

export const randomBytes: RandomBytes = createRandomBytes()
