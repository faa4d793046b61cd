import type { RandomBytes } from '../core/ids.ts'

const block = new Uint8Array(4096)
let used = block.length

/** The system's randomness, fetched in blocks of 4 KiB, because an id takes 10 bytes. */
export const randomBytes: RandomBytes = (count) => {
  if (count > 256) return crypto.getRandomValues(new Uint8Array(count))
  if (used + count > block.length) {
    crypto.getRandomValues(block)
    used = 0
  }
  const taken = block.slice(used, used + count)
  // The bytes may become a password, so they are erased here.
  block.fill(0, used, used + count)
  used += count
  return taken
}
