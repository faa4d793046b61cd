import type { Address } from '../../../../core/address.ts'
import type { ConnectTarget } from '../authority.ts'
import type { DatagramCodec } from '../request.ts'
import { readTargetHost } from './target.ts'

type SocksDatagram = { readonly target: ConnectTarget; readonly payload: Uint8Array }

/** Two reserved bytes, the fragment number and the address type. */
const fixedBytes = 4

/**
 * Reads a client's datagram (RFC 1928, 7); the payload is a view of it. Undefined for fragments, which need not be
 * supported, and for malformed headers.
 */
export function readSocksDatagram(bytes: Uint8Array): SocksDatagram | undefined {
  if (bytes[0] !== 0 || bytes[1] !== 0 || bytes[2] !== 0) return undefined
  const kind = bytes[3] ?? 0
  const from = kind === 3 ? fixedBytes + 1 : fixedBytes
  const length = kind === 1 ? 4 : kind === 4 ? 16 : kind === 3 ? bytes[4] : undefined
  if (length === undefined || length === 0) return undefined
  const end = from + length + 2
  if (bytes.length < end) return undefined
  const host = readTargetHost(kind, bytes, end - 2)
  const port = ((bytes[end - 2] ?? 0) << 8) | (bytes[end - 1] ?? 0)
  return host === undefined || port === 0 ? undefined : { target: { host, port }, payload: bytes.subarray(end) }
}

/** The header of a datagram to the client: where it comes from. */
export function toSocksHeader({ version, bytes }: Address, port: number): Uint8Array {
  const header = new Uint8Array(fixedBytes + bytes.length + 2)
  header[3] = version === 4 ? 1 : 4
  header.set(bytes, fixedBytes)
  header[header.length - 2] = port >> 8
  header[header.length - 1] = port & 255
  return header
}

/** RFC 1928, 6: the association is open, and the client sends its datagrams to this address and port. */
export function toAssociateReply(address: Address, port: number): Uint8Array {
  const reply = toSocksHeader(address, port)
  reply[0] = 5
  return reply
}

/** The datagrams of UDP ASSOCIATE. */
export const socksDatagrams: DatagramCodec = { read: readSocksDatagram, toHeader: toSocksHeader }
