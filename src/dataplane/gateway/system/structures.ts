import { type Address, unmap } from '../../../core/address.ts'
import type { Transmission } from '../metering/tunnel-meter.ts'
import { AF_INET, AF_INET6 } from './numbers.ts'

/** Supported processors, both little-endian. */
export type Processor = 'x64' | 'arm64'

/** `struct epoll_event`: packed on x86-64, aligned elsewhere. */
type EventLayout = { readonly bytes: number; readonly oursAt: number }
export const eventLayoutOf = (processor: Processor): EventLayout =>
  processor === 'x64' ? { bytes: 12, oursAt: 4 } : { bytes: 16, oursAt: 8 }

type PollEvent = { readonly events: number; readonly descriptor: number; readonly life: number }

export function writeEvent(into: DataView, at: number, layout: EventLayout, event: PollEvent): void {
  into.setUint32(at, event.events >>> 0, true)
  into.setInt32(at + layout.oursAt, event.descriptor, true)
  into.setInt32(at + layout.oursAt + 4, event.life, true)
}

/** `sockaddr_in6`, the longer one. */
export const maxSocketAddressBytes = 28
const ipv4Bytes = 16

/** Writes `sockaddr_in` or `sockaddr_in6` (port in network order); returns the length. */
export function writeSocketAddress(into: DataView, at: number, { version, bytes }: Address, port: number): number {
  const length = version === 4 ? ipv4Bytes : maxSocketAddressBytes
  for (let offset = 0; offset < length; offset += 1) into.setUint8(at + offset, 0)
  into.setUint16(at, version === 4 ? AF_INET : AF_INET6, true)
  into.setUint16(at + 2, port, false)
  const from = at + (version === 4 ? 4 : 8)
  for (let offset = 0; offset < bytes.length; offset += 1) into.setUint8(from + offset, bytes[offset] ?? 0)
  return length
}

/** Undefined for other families. Mapped IPv4 becomes IPv4 (RFC 4291, 2.5.5.2). */
export function readSocketAddress(from: DataView, at: number): { address: Address; port: number } | undefined {
  const family = from.getUint16(at, true)
  const port = from.getUint16(at + 2, false)
  if (family === AF_INET) return { address: { version: 4, bytes: bytesAt(from, at + 4, 4) }, port }
  if (family !== AF_INET6) return undefined
  return { address: unmap({ version: 6, bytes: bytesAt(from, at + 8, 16) }), port }
}

/** An IPv4 address, also mapped into IPv6, as a number. */
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

/** Fields of `struct tcp_info`, all present since Linux 4.19. */
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
 * After a reset the kernel forgets segments in flight but keeps totals. SYN and FIN count as delivered but not as sent
 * bytes: the first is subtracted, the second counts as unknown. Retransmitted segments are derived from bytes, because
 * `tcpi_total_retrans` includes FINs.
 */
export function readTcpInfo(from: DataView, start: number): Transmission {
  const short = (offset: number): number => from.getUint32(start + offset, true)
  const long = (offset: number): number => short(offset + 4) * 2 ** 32 + short(offset)
  const segmentBytes = short(at.segmentBytes)
  const again = long(at.bytesAgain)
  const [unacknowledged, selected] = [short(at.unacknowledged), short(at.selected)]
  const isOver = from.getUint8(start + at.state) === stateClosed
  // The state is read before the rest: a reset may happen in between.
  const isForgotten = isOver || unacknowledged < selected
  const delivered = short(at.delivered) - 1
  // 32-bit overflow cancels out in the difference.
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
