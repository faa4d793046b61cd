import type { Address } from '../../../../core/address.ts'
import type { ConnectTarget } from '../authority.ts'
import { joinBytes } from '../bytes.ts'
import { isLineEnd, readTarget } from './target.ts'

/** The longest payload that clients send. */
const maxPayload = 8192
/** Address type, length of a name, name, port, length of the payload, line end. */
const maxHeadBytes = 1 + 1 + 255 + 2 + 2 + 2
const nothing = new Uint8Array(0)

type Head = { readonly target: ConnectTarget; readonly from: number; readonly end: number }

/** Incremental reader of datagrams, each with its destination. It buffers at most one datagram. */
export class DatagramReader {
  private held: Uint8Array = nothing

  constructor(private readonly max = maxPayload) {}

  /** Passes each payload on. False if the client violates the format; feed nothing then. */
  readonly feed = (chunk: Uint8Array, onPayload: (payload: Uint8Array, target: ConnectTarget) => void): boolean => {
    const bytes = this.held.length === 0 ? chunk : joinBytes([this.held, chunk])
    let at = 0
    while (at < bytes.length) {
      const head = readHead(bytes.subarray(at, at + maxHeadBytes), this.max)
      if (head === 'malformed') return false
      if (head === undefined || bytes.length < at + head.end) break
      onPayload(bytes.subarray(at + head.from, at + head.end), head.target)
      at += head.end
    }
    // The chunk's memory may be reused.
    this.held = at === bytes.length ? nothing : bytes.slice(at)
    return true
  }
}

/** Undefined while bytes are missing. */
function readHead(bytes: Uint8Array, max: number): Head | 'malformed' | undefined {
  const read = readTarget(bytes, 0)
  if (read === undefined || read === 'malformed') return read
  const [high, low] = [bytes[read.end], bytes[read.end + 1]]
  const isEnded = isLineEnd(bytes, read.end + 2)
  if (isEnded === false) return 'malformed'
  if (high === undefined || low === undefined || isEnded === undefined) return undefined
  const length = (high << 8) | low
  const from = read.end + 4
  return length > max ? 'malformed' : { target: read.target, from, end: from + length }
}

/** A datagram to the client, with its source. A payload beyond 8192 bytes goes whole: the length has 16 bits. */
export function toDatagram(payload: Uint8Array, { version, bytes }: Address, port: number): Uint8Array {
  const head = Uint8Array.of(version === 4 ? 1 : 4, ...bytes, port >> 8, port & 255)
  const length = Uint8Array.of(payload.length >> 8, payload.length & 255, 13, 10)
  return joinBytes([head, length, payload])
}
