/** A TCP segment over IPv4 (RFC 9293, 3.1), with the fields that a test client needs. Addresses are 32-bit numbers. */
export type Segment = {
  readonly from: { readonly address: number; readonly port: number }
  readonly to: { readonly address: number; readonly port: number }
  readonly seq: number
  readonly ack: number
  readonly flags: number
  readonly window: number
  readonly options: Uint8Array
  readonly payload: Uint8Array
}

export const flag = { fin: 1, syn: 2, rst: 4, psh: 8, ack: 16 } as const

const ipBytes = 20
const tcpBytes = 20
const tcp = 6

export function writeSegment(segment: Segment): Uint8Array {
  const optionBytes = Math.ceil(segment.options.length / 4) * 4
  const length = ipBytes + tcpBytes + optionBytes + segment.payload.length
  const packet = new Uint8Array(length)
  const view = new DataView(packet.buffer)
  view.setUint16(0, 0x4500)
  view.setUint16(2, length)
  view.setUint16(6, 0x4000)
  view.setUint16(8, (64 << 8) | tcp)
  view.setUint32(12, segment.from.address)
  view.setUint32(16, segment.to.address)
  view.setUint16(10, checksum(view, 0, ipBytes, 0))
  view.setUint16(20, segment.from.port)
  view.setUint16(22, segment.to.port)
  view.setUint32(24, segment.seq >>> 0)
  view.setUint32(28, segment.ack >>> 0)
  view.setUint16(32, (((tcpBytes + optionBytes) / 4) << 12) | segment.flags)
  view.setUint16(34, segment.window)
  // The options are padded with no-operation.
  packet.fill(1, ipBytes + tcpBytes, ipBytes + tcpBytes + optionBytes)
  packet.set(segment.options, ipBytes + tcpBytes)
  packet.set(segment.payload, ipBytes + tcpBytes + optionBytes)
  view.setUint16(36, checksum(view, ipBytes, length - ipBytes, pseudoHeader(view, length - ipBytes)))
  return packet
}

/** Undefined for other packets. Checksums are not verified: the packet comes from this machine. */
export function readSegment(packet: Uint8Array): Segment | undefined {
  if (packet.length < ipBytes + tcpBytes || packet[0] !== 0x45 || packet[9] !== tcp) return undefined
  const view = new DataView(packet.buffer, packet.byteOffset, packet.length)
  const headerBytes = (view.getUint16(32) >> 12) * 4
  return {
    from: { address: view.getUint32(12), port: view.getUint16(20) },
    to: { address: view.getUint32(16), port: view.getUint16(22) },
    seq: view.getUint32(24),
    ack: view.getUint32(28),
    flags: view.getUint16(32) & 63,
    window: view.getUint16(34),
    options: packet.slice(ipBytes + tcpBytes, ipBytes + headerBytes),
    payload: packet.slice(ipBytes + headerBytes, view.getUint16(2)),
  }
}

const pseudoHeader = (view: DataView, length: number): number =>
  view.getUint16(12) + view.getUint16(14) + view.getUint16(16) + view.getUint16(18) + tcp + length

/** RFC 1071. */
function checksum(view: DataView, at: number, length: number, begin: number): number {
  let sum = begin
  for (let offset = 0; offset + 1 < length; offset += 2) sum += view.getUint16(at + offset)
  if (length % 2 === 1) sum += view.getUint8(at + length - 1) << 8
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
