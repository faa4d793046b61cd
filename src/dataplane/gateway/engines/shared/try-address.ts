import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import {
  type Address,
  addressFromNumber,
  addressToNumber,
  formatAddress,
  readAddress,
  unmap,
} from '../../../../core/address.ts'
import type { TryAddress } from '../../../agent/trials.ts'
import { openKernel } from '../../system/kernel.ts'
import { openLibc } from '../../system/libc.ts'
import { EADDRNOTAVAIL, EAFNOSUPPORT, EMFILE, ENFILE, ENOBUFS, ENOMEM } from '../../system/numbers.ts'
import { openRouteLookup } from '../../system/routes.ts'

/** Errors that say nothing about the address. */
const scarce = new Set([EMFILE, ENFILE, ENOBUFS, ENOMEM])

/** Network interfaces are read again this often. */
const lookEveryMs = 10_000

const ownInterfaces = () => Object.values(networkInterfaces()).flatMap((each) => each ?? [])

/**
 * Tries to bind to an address. Network and broadcast addresses bind but cannot be used. With `ip_nonlocal_bind` any
 * address binds, so on Linux its route must also end at this machine.
 */
export function createTryAddress(
  platform: NodeJS.Platform,
  interfaces: () => Parameters<typeof edgeAddresses>[0] = ownInterfaces,
  now = () => performance.now(),
): TryAddress {
  const bind = createBind(platform)
  let edges: ReadonlySet<string> = new Set()
  let lookedAt = Number.NEGATIVE_INFINITY
  return (address) => {
    if (now() - lookedAt >= lookEveryMs) {
      edges = edgeAddresses(interfaces())
      lookedAt = now()
    }
    return edges.size > 0 && edges.has(formatAddress(address)) ? 'edge_of_its_network' : bind(address)
  }
}

/**
 * Customers connect to an IPv4 proxy at its own address. A listener on one address refuses them at every other, so
 * those are not sold. Customers of a gateway behind an entry connect to the entry instead.
 */
export function createTryListener(hostname: string, isBehindEntry: () => boolean): TryAddress {
  const listener = readAddress(hostname)
  const only = listener && unmap(listener)
  // A host name is not compared: its addresses can change while the listener stays.
  if (!only || only.bytes.every((byte) => byte === 0)) return () => undefined
  const heard = formatAddress(only)
  return (address) =>
    address.version === 6 || isBehindEntry() || formatAddress(address) === heard ? undefined : 'not_listened_on'
}

function createBind(platform: NodeJS.Platform): TryAddress {
  if (platform !== 'linux') return tryWithBun
  const kernel = openKernel()
  const { isDeliveredHere } = openRouteLookup(openLibc())
  return (address) => {
    const outcome = kernel.tryAddress(address)
    if (outcome === 0) return isDeliveredHere(address, 0, undefined, 'tcp') ? undefined : 'not_on_this_machine'
    if (outcome === -EADDRNOTAVAIL) return 'not_on_this_machine'
    if (scarce.has(-outcome)) throw new Error(`no descriptor or memory to try an address with (errno ${-outcome})`)
    return outcome === -EAFNOSUPPORT ? 'no_such_family' : 'cannot_bind'
  }
}

function tryWithBun(address: Address): string | undefined {
  try {
    Bun.listen({ hostname: formatAddress(address), port: 0, socket: { data() {} } }).stop(true)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    return code === 'EADDRNOTAVAIL' ? 'not_on_this_machine' : 'cannot_bind'
  }
}

type Interface = Pick<NetworkInterfaceInfo, 'address' | 'cidr' | 'internal'>

/** RFC 3021: a /31 or /32 has no network or broadcast address. */
const maxLengthWithEdges = 30

/** Network and broadcast addresses of this machine's IPv4 networks, unless assigned to an interface. */
export function edgeAddresses(interfaces: readonly Interface[]): ReadonlySet<string> {
  const edges = new Set<string>()
  for (const { address, cidr, internal } of interfaces) {
    const [own, length] = [readAddress(address), Number(cidr?.split('/')[1] ?? 32)]
    if (own?.version !== 4 || own.bytes[0] === 127 || length > maxLengthWithEdges) continue
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
