import { networkInterfaces } from 'node:os'
import { type Address, formatAddress } from '../../../core/address.ts'
import type { TryAddress } from '../../agent/trials.ts'
import { edgeAddresses } from './edge-addresses.ts'
import { createKernel } from './linux/kernel.ts'
import { openLibc } from './linux/libc.ts'
import { EADDRNOTAVAIL, EAFNOSUPPORT } from './linux/numbers.ts'
import type { Processor } from './linux/structures.ts'

/** Networks that a machine is on come and go; so often they are looked at, while something is tried. */
const lookEveryMs = 10_000

const ownInterfaces = () => Object.values(networkInterfaces()).flatMap((each) => each ?? [])

/**
 * Tries whether a socket can be bound to an address, which is what leaving from it begins with. Nothing is sent. The
 * ends of a network can be bound to as well, and are no good.
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

function createBind(platform: NodeJS.Platform): TryAddress {
  if (platform !== 'linux') return tryWithBun
  const kernel = createKernel(openLibc(), process.arch as Processor)
  return (address) => {
    const outcome = kernel.tryAddress(address)
    if (outcome === 0) return undefined
    if (outcome === -EADDRNOTAVAIL) return 'not_on_this_machine'
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
