import { type Address, formatAddress } from '../../../kernel/address.ts'
import type { TryAddress } from '../../agent/trials.ts'
import { createKernel } from './linux/kernel.ts'
import { openLibc } from './linux/libc.ts'
import { EADDRNOTAVAIL, EAFNOSUPPORT } from './linux/numbers.ts'
import type { Processor } from './linux/structures.ts'

/** Tries whether a socket can be bound to an address, which is what leaving from it begins with. Nothing is sent. */
export function createTryAddress(platform: NodeJS.Platform): TryAddress {
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
