import { formatAddress, readAddress, unmap } from '../../../../core/address.ts'
import { readHost } from '../authority.ts'
import { latin1Slice } from '../bytes.ts'

/**
 * The host of a request or of a datagram, whose addresses begin at the same offset. As a domain, clients such as curl
 * also send an address in canonical form.
 */
export function readTargetHost(kind: number, bytes: Uint8Array, end: number): string | undefined {
  if (kind === 1) return `${bytes[4]}.${bytes[5]}.${bytes[6]}.${bytes[7]}`
  if (kind === 4) return formatAddress(unmap({ version: 6, bytes: bytes.subarray(4, 20) }))
  const text = latin1Slice.call(bytes, 5, end)
  const name = readHost(text)
  if (name !== undefined) return name
  const address = readAddress(text)
  return address && formatAddress(address) === text ? text : undefined
}
