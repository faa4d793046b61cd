/** Incremental reader of datagrams with two bytes of length in front. It buffers at most one datagram. */
export class LengthReader {
  private length = 0
  private lengthBytes = 0
  private payload: Uint8Array | undefined
  private filled = 0

  constructor(private readonly max: number) {}

  /** Passes each payload on. False if a datagram is too long; feed nothing then. */
  readonly feed = (chunk: Uint8Array, onPayload: (payload: Uint8Array) => void): boolean => {
    let at = 0
    while (at < chunk.length) {
      if (!this.payload) {
        this.length = (this.length << 8) | (chunk[at] ?? 0)
        this.lengthBytes += 1
        at += 1
        if (this.lengthBytes < 2) continue
        if (this.length > this.max) return false
        this.payload = new Uint8Array(this.length)
      } else {
        const bytes = chunk.subarray(at, at + this.length - this.filled)
        this.payload.set(bytes, this.filled)
        this.filled += bytes.length
        at += bytes.length
      }
      if (this.filled === this.length) this.finish(this.payload, onPayload)
    }
    return true
  }

  private finish(payload: Uint8Array, onPayload: (payload: Uint8Array) => void): void {
    this.payload = undefined
    this.length = 0
    this.lengthBytes = 0
    this.filled = 0
    onPayload(payload)
  }
}

/** A datagram with two bytes of length in front. */
export function toLengthCapsule(payload: Uint8Array): Uint8Array {
  const capsule = new Uint8Array(2 + payload.length)
  capsule[0] = payload.length >> 8
  capsule[1] = payload.length & 255
  capsule.set(payload, 2)
  return capsule
}
