/** Latin-1 text of a range; Bun has this on every Uint8Array undeclared, the declared ones copy. */
export const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, from: number, to: number) => string
}

const nothing = new Uint8Array(0)
/** Shared by empty instances. */
const none: Uint8Array[] = []

/** A byte buffer with a limit. */
export class HeldBytes {
  private parts: Uint8Array[] = none
  private length = 0

  constructor(private readonly max: number) {}

  /** Stores a copy. Returns false, and stores nothing, if the limit would be exceeded. */
  add(bytes: Uint8Array): boolean {
    if (this.length + bytes.length > this.max) return false
    if (bytes.length === 0) return true
    if (this.parts === none) this.parts = []
    this.parts.push(new Uint8Array(bytes))
    this.length += bytes.length
    return true
  }

  take(): Uint8Array {
    if (this.length === 0) return nothing
    const all = joinBytes(this.parts)
    this.parts = none
    this.length = 0
    return all
  }
}

/** Concatenates; a single part is returned as is. */
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
