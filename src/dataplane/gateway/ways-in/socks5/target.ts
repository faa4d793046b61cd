import { formatAddress, readAddress, unmap } from '../../../../core/address.ts'
import { readHost } from '../authority.ts'
import { latin1Slice } from '../bytes.ts'

/**
 * The host of a request or of a datagram, whose addresses begin at the same offset. As a domain, clients such as curl
 * also send an address in canonical form.
 */
export const readTargetHost = (kind: number, bytes: Uint8Array, end: number): string | undefined =>
  readHostAt(kind, bytes, kind === 3 ? 5 : 4, end)

/** The host whose address, or whose name without its length, begins at `from`. */
export function readHostAt(kind: number, bytes: Uint8Array, from: number, end: number): string | undefined {
  if (kind === 1) return `${bytes[from]}.${bytes[from + 1]}.${bytes[from + 2]}.${bytes[from + 3]}`
  if (kind === 4) return formatAddress(unmap({ version: 6, bytes: bytes.subarray(from, from + 16) }))
  const text = latin1Slice.call(bytes, from, end)
  const name = readHost(text)
  if (name !== undefined) return name
  const address = readAddress(text)
  return address && formatAddress(address) === text ? text : undefined
}
