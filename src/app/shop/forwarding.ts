import { type Address, formatAddress } from '../../core/address.ts'
import type { Log } from '../../core/log.ts'

/** What `/readyz` warns of, and the doctor reads there. */
export const untrustedProxy = 'TURNPIKE_TRUSTED_PROXIES lacks a proxy that requests come through'

/** Keeps in mind that requests come through a proxy whose word on their source is not taken. */
export function createForwarding(log: Log) {
  let isSeen = false
  return {
    onUntrusted(proxy: Address): void {
      isSeen = true
      log.warn('a proxy is not trusted', {
        setting: 'TURNPIKE_TRUSTED_PROXIES',
        proxy: formatAddress(proxy),
        explanation: 'all who come through it count as one source, with one limit; name its address in the setting',
      })
    },
    warnings: (): readonly string[] => (isSeen ? [untrustedProxy] : []),
  }
}
