import type { NetworkInterfaceInfo } from 'node:os'
import { addressFromNumber, addressToNumber, formatAddress, readAddress } from '../../../core/address.ts'

type Interface = Pick<NetworkInterfaceInfo, 'address' | 'cidr' | 'internal'>

/** Below this a network has no address but those that machines have (RFC 3021). */
const longestWithEdges = 30

/**
 * Addresses that a socket can be bound to though nothing is reached at them and nothing leaves from them: of each IPv4
 * network that the machine is on, the broadcast address and, where it is on a wire, the network's own. What an
 * interface has been given is its own all the same.
 */
export function edgeAddresses(interfaces: readonly Interface[]): ReadonlySet<string> {
  const edges = new Set<string>()
  for (const { address, cidr, internal } of interfaces) {
    const [own, length] = [readAddress(address), Number(cidr?.split('/')[1] ?? 32)]
    if (own?.version !== 4 || own.bytes[0] === 127 || length > longestWithEdges) continue
    const size = 1n << BigInt(32 - length)
    const first = (addressToNumber(own) / size) * size
    for (const number of internal ? [first + size - 1n] : [first, first + size - 1n]) {
      edges.add(formatAddress(addressFromNumber(4, number)))
    }
  }
  for (const { address } of interfaces) {
    const own = readAddress(address)
    if (own) edges.delete(formatAddress(own))
  }
  return edges
}
