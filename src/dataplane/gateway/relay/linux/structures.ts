import { type Address, unmap } from '../../../../core/address.ts'
import type { Transmission } from '../../metering/tunnel-meter.ts'
import { AF_INET, AF_INET6 } from './numbers.ts'
/** The processors whose kernel interface is known here. Both count bytes from the little end. */
export type Processor = 'x64' | 'arm64'

/**
 * `struct epoll_event`: 32 bits of events, 64 bits that are ours. It is packed on x86-64 and aligned everywhere else.
 */
type EventLayout = { readonly bytes: number; readonly oursAt: number }
export const eventLayoutOf = (processor: Processor): EventLayout =>
  processor === 'x64' ? { bytes: 12, oursAt: 4 } : { bytes: 16, oursAt: 8 }

/**
 * An epoll event as we write and read it: what happened, the descriptor, and which of its lives it was registered in.
 */
type PollEvent = { readonly events: number; readonly descriptor: number; readonly life: number }

export function writeEvent(into: DataView, at: number, layout: EventLayout, event: PollEvent): void {
  into.setUint32(at, event.events >>> 0, true)
  into.setInt32(at + layout.oursAt, event.descriptor, true)
  into.setInt32(at + layout.oursAt + 4, event.life, true)
}

export function readEvent(from: DataView, at: number, layout: EventLayout): PollEvent {
  return {
    events: from.getUint32(at, true),
    descriptor: from.getInt32(at + layout.oursAt, true),
    life: from.getInt32(at + layout.oursAt + 4, true),
  }
}

/** The longest of the two: `sockaddr_in6`. */
export const mostSocketAddressBytes = 28
const ipv4Bytes = 16

/**
 * `sockaddr_in` or `sockaddr_in6`. The family counts in the processor's order, the port in the network's. Returns the
 * length.
 */
export function writeSocketAddress(into: DataView, at: number, { version, bytes }: Address, port: number): number {
  const length = version === 4 ? ipv4Bytes : mostSocketAddressBytes
  for (let offset = 0; offset < length; offset += 1) into.setUint8(at + offset, 0)
  into.setUint16(at, version === 4 ? AF_INET : AF_INET6, true)
  into.setUint16(at + 2, port, false)
  const from = at + (version === 4 ? 4 : 8)
  for (let offset = 0; offset < bytes.length; offset += 1) into.setUint8(from + offset, bytes[offset] ?? 0)
  return length
}

/**
 * Undefined for a family that is neither. An IPv4 address mapped into IPv6 is that IPv4 address (RFC 4291, 2.5.5.2).
 */
export function readSocketAddress(from: DataView, at: number): { address: Address; port: number } | undefined {
  const family = from.getUint16(at, true)
  const port = from.getUint16(at + 2, false)
  if (family === AF_INET) return { address: { version: 4, bytes: bytesAt(from, at + 4, 4) }, port }
  if (family !== AF_INET6) return undefined
  return { address: unmap({ version: 6, bytes: bytesAt(from, at + 8, 16) }), port }
}

/** An IPv4 address, mapped into IPv6 or not, as one number. Undefined for every other. */
export function readQuadAt(from: DataView, at: number): number | undefined {
  const family = from.getUint16(at, true)
  if (family === AF_INET) return from.getUint32(at + 4, false)
  const isMapped =
    family === AF_INET6 &&
    from.getUint32(at + 8, false) === 0 &&
    from.getUint32(at + 12, false) === 0 &&
    from.getUint32(at + 16, false) === 0xffff
  return isMapped ? from.getUint32(at + 20, false) : undefined
}

function bytesAt(from: DataView, at: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let offset = 0; offset < length; offset += 1) bytes[offset] = from.getUint8(at + offset)
  return bytes
}

/**
 * Of `struct tcp_info`: the state, options, `tcpi_snd_mss`, `tcpi_unacked`, `tcpi_sacked`, `tcpi_bytes_acked` (which an
 * accepted connection counts from 0), `tcpi_data_segs_out`, `tcpi_delivered`, `tcpi_bytes_sent` and
 * `tcpi_bytes_retrans`. Linux has them all since 4.19.
 */
export const tcpInfoBytes = 216
const at = {
  state: 0,
  options: 5,
  segmentBytes: 16,
  unacknowledged: 24,
  selected: 28,
  acknowledged: 120,
  segmentsOut: 156,
  delivered: 192,
  bytesOut: 200,
  bytesAgain: 208,
} as const
const stateClosed = 7
const hasSelective = 2

/**
 * Once a connection was reset the system forgets how many segments are under way, but not how many have gone out and
 * how many have been delivered since it began. It counts the two ends of a connection as delivered, and only bytes as
 * gone out: the first is taken off, the second counts as one that is unknown. How many went out again is taken from the
 * bytes that did, at their fewest: `tcpi_total_retrans` counts ends that were sent again as well.
 */
export function readTcpInfo(from: DataView, start: number): Transmission {
  const short = (offset: number): number => from.getUint32(start + offset, true)
  const long = (offset: number): number => short(offset + 4) * 2 ** 32 + short(offset)
  const segmentBytes = short(at.segmentBytes)
  const again = long(at.bytesAgain)
  const [unacknowledged, selected] = [short(at.unacknowledged), short(at.selected)]
  const isOver = from.getUint8(start + at.state) === stateClosed
  // The state is told of a moment before the rest: a reset can lie between, and all that was under way is forgotten.
  const isForgotten = isOver || unacknowledged < selected
  const delivered = short(at.delivered) - 1
  // The system's own counts begin again after 2^32; their difference does not.
  const unknownSegments = isForgotten
    ? (short(at.segmentsOut) - Math.ceil(again / Math.max(1, segmentBytes)) - delivered + 1) | 0
    : unacknowledged - selected
  return {
    acknowledged: long(at.acknowledged),
    sent: long(at.bytesOut) - again,
    selectedSegments: from.getUint8(start + at.options) & hasSelective ? selected : 0,
    unknownSegments: Math.max(0, unknownSegments),
    segmentBytes,
    isOver,
  }
}
