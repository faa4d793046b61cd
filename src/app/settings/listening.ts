import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { refuseHere } from '../../core/refusal.ts'
import { docsPage } from '../program.ts'
import { BadSetting } from './reading.ts'

/** Refuses a host name that does not resolve; the runtime's own error is unclear. */
export async function assertNamed(hostname: string, setting: string): Promise<void> {
  if (isIP(hostname) !== 0 || (await lookup(hostname).catch(() => undefined))) return
  throw new BadSetting(`${setting} is ${hostname}, a name that DNS cannot resolve. ${nameOne}`)
}

const nameOne = 'Set an address of this machine, or 0.0.0.0 for all of them.'

/**
 * Opens a port, or throws one line; `what` is its owner and its setting. A port in use may be free later; every other
 * failure is a bad setting.
 */
export function listening<Result>(hostname: string, port: number, what: string, open: () => Result): Result {
  try {
    return open()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'EADDRINUSE') {
      const remedy = `"ss -ltnp" shows which one: end it, or set another port.`
      throw refuseHere(`Port ${port} of the ${what} is in use by another program. ${remedy}`, 'unavailable')
    }
    if (code === 'EACCES') {
      const remedy = `A port below 1024 needs the capability CAP_NET_BIND_SERVICE: see ${docsPage('operate/tls.md')}.`
      throw new BadSetting(`This user may not open port ${port} of the ${what}. ${remedy}`)
    }
    if (code === 'EADDRNOTAVAIL') throw new BadSetting(`${hostname} is not an address of this machine. ${nameOne}`)
    throw error
  }
}

/** Opens at an address; on a machine without IPv6, `::` is 0.0.0.0. */
export function withIpv6OrWithout<Result>(hostname: string, open: (hostname: string) => Result): Result {
  try {
    return open(hostname)
  } catch (error) {
    const isWithoutIpv6 = error instanceof Error && 'code' in error && error.code === 'EAFNOSUPPORT'
    if (!isWithoutIpv6 || hostname !== '::') throw error
    return open('0.0.0.0')
  }
}
