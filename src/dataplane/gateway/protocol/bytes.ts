/**
 * A character for each byte from `from` to `to`. Bun has it for every array of bytes and declares it for none; what is
 * declared would copy the array first.
 */
export const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, from: number, to: number) => string
}

const nothing = new Uint8Array(0)
/** Shared by all that hold nothing, which are most. */
const none: Uint8Array[] = []

/** Bytes kept for later, up to a limit that is never exceeded. */
export class HeldBytes {
  private readonly most: number
  private parts: Uint8Array[] = none
  private length = 0

  constructor(most: number) {
    this.most = most
  }

  /**
   * Keeps a copy, for the caller's memory may be used again (and a Buffer's slice() would be none). False, and nothing
   * kept, when it would be too much.
   */
  add(bytes: Uint8Array): boolean {
    if (this.length + bytes.length > this.most) return false
    if (bytes.length === 0) return true
    if (this.parts === none) this.parts = []
    this.parts.push(new Uint8Array(bytes))
    this.length += bytes.length
    return true
  }

  /** Gives everything, and keeps nothing. */
  take(): Uint8Array {
    if (this.length === 0) return nothing
    const all = joinBytes(this.parts)
    this.parts = none
    this.length = 0
    return all
  }
}

/** One array of all; a single part is given as it is. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  if (parts.length === 1 && first) return first
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
