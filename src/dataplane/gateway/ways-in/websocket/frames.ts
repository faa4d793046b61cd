/** RFC 6455, 5.2. */
const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 }
const finalBit = 0x80
const maskBit = 0x80
const maxControlBytes = 125
/** The first two bytes, a length of 8 bytes, the mask. */
const maxHeadBytes = 14

export type WebSocketEvent =
  /** A part of a message, in memory that the reader may reuse. */
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'ping'; readonly bytes: Uint8Array }
  | { readonly type: 'close' }

type Frame = { readonly opcode: number; readonly mask: readonly number[]; left: number; at: number }

/** Incremental reader of a client's frames. It buffers at most one control frame. */
export class WebSocketReader {
  private readonly head = new Uint8Array(maxHeadBytes)
  private headBytes = 0
  private frame: Frame | undefined
  private control: number[] = []
  private isInMessage = false

  /** Passes each event on. False if the client violates the format, or has closed; feed nothing then. */
  feed(chunk: Uint8Array, onEvent: (event: WebSocketEvent) => void): boolean {
    for (let at = 0; at < chunk.length; ) {
      if (this.frame) {
        const part = chunk.subarray(at, at + this.frame.left)
        at += part.length
        if (!this.takePayload(this.frame, part, onEvent)) return false
      } else {
        this.head[this.headBytes] = chunk[at] ?? 0
        this.headBytes += 1
        at += 1
        if (!this.takeHead(onEvent)) return false
      }
    }
    return true
  }

  private takeHead(onEvent: (event: WebSocketEvent) => void): boolean {
    const [first = 0, second = 0] = this.head
    if (this.headBytes < 2) return true
    const short = second & 0x7f
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    const opcode = first & 0x0f
    const isControl = opcode >= opcodes.close
    // A client masks all frames (5.1); extensions are not negotiated.
    if ((first & 0x70) !== 0 || (second & maskBit) === 0) return false
    if (isControl && (opcode > opcodes.pong || short > maxControlBytes || (first & finalBit) === 0)) return false
    if (!isControl && (opcode > opcodes.binary || (opcode === opcodes.continuation) !== this.isInMessage)) return false
    const headBytes = 2 + lengthBytes + 4
    if (this.headBytes < headBytes) return true
    let left = lengthBytes === 0 ? short : 0
    for (let at = 2; at < 2 + lengthBytes; at += 1) left = left * 256 + (this.head[at] ?? 0)
    if (left > Number.MAX_SAFE_INTEGER) return false
    if (!isControl) this.isInMessage = (first & finalBit) === 0
    this.frame = { opcode, mask: [...this.head.subarray(headBytes - 4, headBytes)], left, at: 0 }
    this.headBytes = 0
    return left > 0 || this.takePayload(this.frame, nothing, onEvent)
  }

  private takePayload(frame: Frame, part: Uint8Array, onEvent: (event: WebSocketEvent) => void): boolean {
    const bytes = unmask(part, frame)
    frame.left -= part.length
    frame.at += part.length
    const isControl = frame.opcode >= opcodes.close
    if (isControl) this.control.push(...bytes)
    else if (bytes.length > 0) onEvent({ type: 'bytes', bytes })
    if (frame.left > 0) return true
    this.frame = undefined
    if (!isControl) return true
    const control = Uint8Array.from(this.control)
    this.control = []
    if (frame.opcode === opcodes.ping) onEvent({ type: 'ping', bytes: control })
    if (frame.opcode === opcodes.close) onEvent({ type: 'close' })
    return frame.opcode !== opcodes.close
  }
}

const nothing = new Uint8Array(0)

/** The payload of these bytes, four at a time (RFC 6455, 5.3). */
function unmask(part: Uint8Array, { mask, at }: Frame): Uint8Array {
  const bytes = new Uint8Array(part)
  const turned = Uint8Array.from({ length: 4 }, (_, index) => mask[(at + index) & 3] ?? 0)
  const [word = 0] = new Uint32Array(turned.buffer)
  const words = new Uint32Array(bytes.buffer, 0, bytes.length >> 2)
  for (let index = 0; index < words.length; index += 1) words[index] = (words[index] ?? 0) ^ word
  for (let index = words.length * 4; index < bytes.length; index += 1)
    bytes[index] = (bytes[index] ?? 0) ^ (turned[index & 3] ?? 0)
  return bytes
}

function toFrame(opcode: number, payload: Uint8Array): Uint8Array {
  const { length } = payload
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const frame = new Uint8Array(2 + lengthBytes + length)
  frame[0] = finalBit | opcode
  frame[1] = lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127
  const view = new DataView(frame.buffer)
  if (lengthBytes === 2) view.setUint16(2, length)
  if (lengthBytes === 8) view.setBigUint64(2, BigInt(length))
  frame.set(payload, 2 + lengthBytes)
  return frame
}

export const toBinaryFrame = (payload: Uint8Array): Uint8Array => toFrame(opcodes.binary, payload)
export const toPongFrame = (payload: Uint8Array): Uint8Array => toFrame(opcodes.pong, payload)
/** Status 1000. */
export const toCloseFrame = (): Uint8Array => toFrame(opcodes.close, Uint8Array.of(0x03, 0xe8))
