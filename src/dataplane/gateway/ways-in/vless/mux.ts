import type { Address } from '../../../../core/address.ts'
import type { ConnectTarget } from '../authority.ts'
import { readTarget } from './target.ts'

/** A frame of Mux.Cool. XUDP is the sub-stream 0 whose datagrams each have their own destination. */
export type MuxFrame = {
  readonly id: number
  readonly status: 'new' | 'keep' | 'end' | 'keep-alive'
  /** The sender gives the sub-stream up. */
  readonly hasFailed: boolean
  /** Of a new sub-stream; of a datagram that has its own destination. */
  readonly network: 'tcp' | 'udp' | undefined
  /** Undefined if there is none, or if it is malformed. */
  readonly target: ConnectTarget | undefined
  /** Of a client's UDP socket, which may continue on another connection. */
  readonly globalId: string | undefined
  /** A view of the input, or memory of its own. */
  readonly payload: Uint8Array | undefined
}

const statuses = { new: 1, keep: 2, end: 3, 'keep-alive': 4 } as const
const statusOf = new Map<number, MuxFrame['status']>([
  [statuses.new, 'new'],
  [statuses.keep, 'keep'],
  [statuses.end, 'end'],
  [statuses['keep-alive'], 'keep-alive'],
])
const options = { payload: 1, failed: 2 }
const networks = { tcp: 1, udp: 2 }
const minMetadata = 4
const maxMetadata = 512
const globalIdBytes = 8
/** The longest payload of a stream that clients of Mux.Cool are known to read. */
const maxStreamPayload = 8192

/** Incremental reader of frames. It buffers at most one: 64 KiB. */
export class MuxReader {
  private readonly head = new Uint8Array(2 + maxMetadata + 2)
  private headBytes = 0
  /** Of the frame whose head is whole. */
  private frame: Omit<MuxFrame, 'payload'> | undefined
  private payload: Uint8Array | undefined
  private payloadBytes = 0
  private filled = 0

  /** Passes each frame on. False if the client violates the format; feed nothing then. */
  readonly feed = (chunk: Uint8Array, onFrame: (frame: MuxFrame) => void): boolean => {
    for (let at = 0; at < chunk.length; ) {
      if (this.frame) at = this.takePayload(this.frame, chunk, at, onFrame)
      else {
        const end = Math.min(chunk.length, at + this.wantedHead() - this.headBytes)
        this.head.set(chunk.subarray(at, end), this.headBytes)
        this.headBytes += end - at
        at = end
        if (!this.takeHead(onFrame)) return false
      }
    }
    return true
  }

  private get metadataBytes(): number {
    return this.number(0)
  }

  private number(at: number): number {
    return ((this.head[at] ?? 0) << 8) | (this.head[at + 1] ?? 0)
  }

  private get hasPayload(): boolean {
    return ((this.head[5] ?? 0) & options.payload) !== 0
  }

  /** Bytes until the next decision: length, metadata, and the length of a payload. */
  private wantedHead(): number {
    if (this.headBytes < 2) return 2
    const end = 2 + this.metadataBytes
    return this.headBytes < end ? end : end + 2
  }

  private takeHead(onFrame: (frame: MuxFrame) => void): boolean {
    if (this.headBytes < 2) return true
    const { metadataBytes } = this
    if (metadataBytes < minMetadata || metadataBytes > maxMetadata) return false
    const end = 2 + metadataBytes
    if (this.headBytes < (this.headBytes >= end && this.hasPayload ? end + 2 : end)) return true
    const frame = readMetadata(this.head.subarray(2, end))
    if (!frame) return false
    this.headBytes = 0
    if (!this.hasPayload) onFrame({ ...frame, payload: undefined })
    else {
      this.payloadBytes = this.number(end)
      this.frame = frame
      if (this.payloadBytes === 0) this.finish(frame, nothing, onFrame)
    }
    return true
  }

  private takePayload(
    frame: Omit<MuxFrame, 'payload'>,
    chunk: Uint8Array,
    at: number,
    onFrame: (frame: MuxFrame) => void,
  ): number {
    const bytes = chunk.subarray(at, at + this.payloadBytes - this.filled)
    if (bytes.length === this.payloadBytes) this.finish(frame, bytes, onFrame)
    else {
      this.payload ??= new Uint8Array(this.payloadBytes)
      this.payload.set(bytes, this.filled)
      this.filled += bytes.length
      if (this.filled === this.payloadBytes) this.finish(frame, this.payload, onFrame)
    }
    return at + bytes.length
  }

  private finish(frame: Omit<MuxFrame, 'payload'>, payload: Uint8Array, onFrame: (frame: MuxFrame) => void): void {
    this.frame = undefined
    this.payload = undefined
    this.filled = 0
    onFrame({ ...frame, payload })
  }
}

const nothing = new Uint8Array(0)

/** Undefined for an unknown status. A malformed address leaves the target out: other sub-streams continue. */
function readMetadata(bytes: Uint8Array): Omit<MuxFrame, 'payload'> | undefined {
  const status = statusOf.get(bytes[2] ?? 0)
  if (!status) return undefined
  const id = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0)
  const hasFailed = ((bytes[3] ?? 0) & options.failed) !== 0
  const isNew = status === 'new'
  const network = bytes[4] === networks.udp ? 'udp' : bytes[4] === networks.tcp ? 'tcp' : undefined
  const hasTarget = isNew || (status === 'keep' && network === 'udp')
  const read = hasTarget && network ? readTarget(bytes, minMetadata + 1) : undefined
  if (read === undefined || read === 'malformed') {
    return { id, status, hasFailed, network: hasTarget ? network : undefined, target: undefined, globalId: undefined }
  }
  const after = bytes.subarray(read.end, read.end + globalIdBytes)
  const hasId = isNew && network === 'udp' && after.length === globalIdBytes && after.some((byte) => byte !== 0)
  return { id, status, hasFailed, network, target: read.target, globalId: hasId ? after.toHex() : undefined }
}

/** The frame that ends a sub-stream. */
export const toEndFrame = (id: number, hasFailed: boolean): Uint8Array =>
  Uint8Array.of(0, minMetadata, id >> 8, id & 255, statuses.end, hasFailed ? options.failed : 0)

/** Frames with bytes of a stream. */
export function toStreamFrames(id: number, bytes: Uint8Array): Uint8Array {
  const headBytes = 2 + minMetadata + 2
  const count = Math.ceil(bytes.length / maxStreamPayload)
  const frames = new Uint8Array(count * headBytes + bytes.length)
  let to = 0
  for (let at = 0; at < bytes.length; at += maxStreamPayload) {
    const part = bytes.subarray(at, at + maxStreamPayload)
    const { length } = part
    frames.set([0, minMetadata, id >> 8, id & 255, statuses.keep, options.payload, length >> 8, length & 255], to)
    frames.set(part, to + headBytes)
    to += headBytes + length
  }
  return frames
}

/** A frame with a datagram and its source. */
export function toDatagramFrame(
  id: number,
  payload: Uint8Array,
  { version, bytes }: Address,
  port: number,
): Uint8Array {
  const metadata = minMetadata + 1 + 2 + 1 + bytes.length
  const frame = new Uint8Array(2 + metadata + 2 + payload.length)
  frame.set([metadata >> 8, metadata & 255, id >> 8, id & 255, statuses.keep, options.payload, networks.udp])
  frame.set([port >> 8, port & 255, version === 4 ? 1 : 3, ...bytes], 2 + minMetadata + 1)
  frame.set([payload.length >> 8, payload.length & 255], 2 + metadata)
  frame.set(payload, 2 + metadata + 2)
  return frame
}
