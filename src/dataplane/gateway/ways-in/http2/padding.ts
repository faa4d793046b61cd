import type { Field } from './hpack.ts'

/** Writes and reads of each direction that have padding. */
const paddedFrames = 8
const headBytes = 3
const maxPadding = 255
/** Payload of a frame, which holds 16 bits of length: what the client does not take of it is held. */
const maxPayload = 16 * 1024
/** Characters of the field in an answer. */
const fieldCharacters = { min: 30, max: 62 }
const nothing = new Uint8Array(0)

/** The padding that a client of NaïveProxy asks for: undefined if none, else the fields of the answer. */
export function readPadding(valuesOf: (name: string) => readonly string[], random: () => number): Field[] | undefined {
  const types = valuesOf('padding-type-request').flatMap((value) => value.split(',').map((each) => each.trim()))
  if (valuesOf('padding').length === 0 || (types.length > 0 && !types.includes('1'))) return undefined
  const { min, max } = fieldCharacters
  const field: Field = ['padding', '~'.repeat(min + Math.floor(random() * (max - min + 1)))]
  return types.length > 0 ? [field, ['padding-type-reply', '1']] : [field]
}

/** Removes the padding of the first frames of a client. It buffers three bytes. */
export class PaddingReader {
  private frames = 0
  private head: number[] = []
  private payloadLeft = 0
  private paddingLeft = 0

  /** The payload in these bytes, in parts. */
  feed(chunk: Uint8Array): Uint8Array[] {
    const parts: Uint8Array[] = []
    for (let at = 0; at < chunk.length; ) {
      const rest = chunk.subarray(at)
      if (this.payloadLeft > 0) {
        const part = rest.subarray(0, this.payloadLeft)
        parts.push(part)
        this.payloadLeft -= part.length
        at += part.length
      } else if (this.paddingLeft > 0) {
        const skipped = Math.min(rest.length, this.paddingLeft)
        this.paddingLeft -= skipped
        at += skipped
      } else if (this.frames === paddedFrames) {
        parts.push(rest)
        break
      } else {
        this.head.push(chunk[at] ?? 0)
        at += 1
        this.takeHead()
      }
    }
    return parts
  }

  private takeHead(): void {
    const [high = 0, low = 0, padding = 0] = this.head
    if (this.head.length < headBytes) return
    this.payloadLeft = high * 256 + low
    this.paddingLeft = padding
    this.head = []
    this.frames += 1
  }
}

/** Adds padding to the first frames for a client. */
class PaddingWriter {
  private frames = 0

  constructor(private readonly random: () => number) {}

  get isOver(): boolean {
    return this.frames === paddedFrames
  }

  /** A frame with the first of these bytes, and their number. */
  wrap(bytes: Uint8Array): { readonly frame: Uint8Array; readonly taken: number } {
    const payload = bytes.subarray(0, maxPayload)
    const padding = Math.floor(this.random() * (maxPadding + 1))
    const frame = new Uint8Array(headBytes + payload.length + padding)
    frame.set([payload.length >> 8, payload.length & 255, padding])
    frame.set(payload, headBytes)
    this.frames += 1
    return { frame, taken: payload.length }
  }
}

/** The padding of one stream, whose frames may be taken in part. */
export class PaddedWrites {
  private readonly writer: PaddingWriter
  private held: Uint8Array = nothing
  private heldPayload = 0

  constructor(
    random: () => number,
    private readonly write: (bytes: Uint8Array) => number,
    /** Payload bytes have been taken with their frame. */
    private readonly noteTaken: (payloadBytes: number) => void,
  ) {
    this.writer = new PaddingWriter(random)
  }

  /** Bytes of a frame wait. */
  get isHolding(): boolean {
    return this.held.length > 0
  }

  /** Returns the payload bytes taken. */
  take(bytes: Uint8Array): number {
    let at = 0
    while (at < bytes.length && !this.writer.isOver && !this.isHolding) {
      const { frame, taken } = this.writer.wrap(bytes.subarray(at))
      this.held = frame
      this.heldPayload = taken
      at += taken
      this.flush()
    }
    if (at === bytes.length || this.isHolding) return at
    const taken = this.write(bytes.subarray(at))
    if (taken > 0) this.noteTaken(taken)
    return at + taken
  }

  /** False if some bytes still wait. */
  flush(): boolean {
    if (!this.isHolding) return true
    this.held = this.held.subarray(this.write(this.held))
    if (this.isHolding) return false
    this.noteTaken(this.heldPayload)
    return true
  }
}
