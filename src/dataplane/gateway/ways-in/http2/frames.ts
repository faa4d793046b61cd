/** Frame types of RFC 9113, 6. */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const

/** Error codes of RFC 9113, 7. */
export const errorCodes = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  connect: 10,
  enhanceYourCalm: 11,
} as const

export type ErrorName = keyof typeof errorCodes

/** Settings of RFC 9113, 6.5.2, and of RFC 8441, 3. */
export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
} as const

export const headBytes = 9
/** The smallest value of SETTINGS_MAX_FRAME_SIZE, which both sides always accept. */
export const maxFrameBytes = 16_384
export const maxWindow = 0x7fff_ffff
export const defaultWindow = 65_535
/** A stream of the peer may send this much before its reader has taken anything. */
export const firstWindow = 131_072

export const clientPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

export type Frame = {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Uint8Array
}

/** The peer broke the protocol: the connection ends with GOAWAY and this code. */
export class ConnectionError extends Error {
  constructor(
    readonly code: ErrorName,
    message: string,
  ) {
    super(message)
  }
}

const nothing = new Uint8Array(0)

/** Splits a byte stream into frames. It holds at most one incomplete frame. */
export class FrameReader {
  private held: Uint8Array = nothing

  /** Calls `onFrame` for every complete frame. Its payload is valid until the call returns. */
  feed(bytes: Uint8Array, onFrame: (frame: Frame) => void): void {
    let rest = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes])
    for (;;) {
      if (rest.length < headBytes) break
      const length = ((rest[0] ?? 0) << 16) | ((rest[1] ?? 0) << 8) | (rest[2] ?? 0)
      if (length > maxFrameBytes) throw new ConnectionError('frameSize', `a frame of ${length} bytes`)
      if (rest.length < headBytes + length) break
      onFrame({
        type: rest[3] ?? 0,
        flags: rest[4] ?? 0,
        stream: readUint31(rest, 5),
        payload: rest.subarray(headBytes, headBytes + length),
      })
      rest = rest.subarray(headBytes + length)
    }
    // The chunk's memory may be reused.
    this.held = rest.length === 0 ? nothing : rest.slice()
  }
}

export const readUint31 = (bytes: Uint8Array, at: number): number => readUint32(bytes, at) & 0x7fff_ffff

export const readUint32 = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

/** A frame with room for its payload, which begins at `headBytes`. */
export function makeFrame(type: number, frameFlags: number, stream: number, payloadBytes: number): Uint8Array {
  const frame = new Uint8Array(headBytes + payloadBytes)
  writeHead(frame, 0, type, frameFlags, stream, payloadBytes)
  return frame
}

function writeHead(
  to: Uint8Array,
  at: number,
  type: number,
  frameFlags: number,
  stream: number,
  payloadBytes: number,
): void {
  to[at] = payloadBytes >>> 16
  to[at + 1] = payloadBytes >>> 8
  to[at + 2] = payloadBytes
  to[at + 3] = type
  to[at + 4] = frameFlags
  writeUint32(to, at + 5, stream)
}

export function toFrame(type: number, frameFlags: number, stream: number, payload: Uint8Array): Uint8Array {
  const frame = makeFrame(type, frameFlags, stream, payload.length)
  frame.set(payload, headBytes)
  return frame
}

/** DATA frames of at most the size that every peer accepts, in one piece of memory. */
export function toDataFrames(stream: number, bytes: Uint8Array): Uint8Array {
  const count = Math.max(1, Math.ceil(bytes.length / maxFrameBytes))
  const frames = new Uint8Array(bytes.length + count * headBytes)
  for (let at = 0, to = 0; at === 0 || at < bytes.length; at += maxFrameBytes) {
    const part = bytes.subarray(at, at + maxFrameBytes)
    writeHead(frames, to, frameTypes.data, 0, stream, part.length)
    frames.set(part, to + headBytes)
    to += headBytes + part.length
  }
  return frames
}

/** HEADERS, and CONTINUATION frames if the block exceeds one frame. */
export function toHeaders(stream: number, block: Uint8Array, isEnd: boolean): Uint8Array {
  const frames: Uint8Array[] = []
  for (let at = 0; at === 0 || at < block.length; at += maxFrameBytes) {
    const part = block.subarray(at, at + maxFrameBytes)
    const isLast = at + maxFrameBytes >= block.length
    const frameFlags = (isLast ? flags.endHeaders : 0) | (at === 0 && isEnd ? flags.endStream : 0)
    frames.push(toFrame(at === 0 ? frameTypes.headers : frameTypes.continuation, frameFlags, stream, part))
  }
  return frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames)
}

export function toSettings(settings: Partial<Record<keyof typeof settingIds, number>>): Uint8Array {
  const entries = Object.entries(settings) as [keyof typeof settingIds, number][]
  const frame = makeFrame(frameTypes.settings, 0, 0, entries.length * 6)
  for (const [index, [name, value]] of entries.entries()) {
    frame[headBytes + index * 6 + 1] = settingIds[name]
    writeUint32(frame, headBytes + index * 6 + 2, value)
  }
  return frame
}

export const settingsAck: Uint8Array = makeFrame(frameTypes.settings, flags.ack, 0, 0)

export const toReset = (stream: number, code: ErrorName): Uint8Array =>
  toNumber(frameTypes.reset, stream, errorCodes[code])

export const toWindowUpdate = (stream: number, bytes: number): Uint8Array =>
  toNumber(frameTypes.windowUpdate, stream, bytes)

function toNumber(type: number, stream: number, value: number): Uint8Array {
  const frame = makeFrame(type, 0, stream, 4)
  writeUint32(frame, headBytes, value)
  return frame
}

export function toGoaway(lastStream: number, code: ErrorName): Uint8Array {
  const frame = makeFrame(frameTypes.goaway, 0, 0, 8)
  writeUint32(frame, headBytes, lastStream)
  writeUint32(frame, headBytes + 4, errorCodes[code])
  return frame
}

/** The payload of a DATA or HEADERS frame without its padding (RFC 9113, 6.1). */
export function withoutPadding({ flags: frameFlags, payload }: Frame): Uint8Array {
  if (!(frameFlags & flags.padded)) return payload
  const padding = payload[0] ?? 0
  if (payload.length === 0 || padding >= payload.length) throw new ConnectionError('protocol', 'padding too long')
  return payload.subarray(1, payload.length - padding)
}
