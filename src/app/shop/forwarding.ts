import { type Address, formatAddress } from '../../core/address.ts'
import type { Log } from '../../core/log.ts'

/** Warning of `/readyz`, which the doctor reads. */
export const untrustedProxy = 'TURNPIKE_TRUSTED_PROXIES lacks a proxy that requests come through'

/** Remembers that requests come through a proxy that is not trusted. */
export function createForwarding(log: Log) {
  let isSeen = false
  return {
    onUntrusted(proxy: Address): void {
      isSeen = true
      log.warn('a proxy is not trusted', {
        setting: 'TURNPIKE_TRUSTED_PROXIES',
        proxy: formatAddress(proxy),
        explanation: 'All clients behind it count as one source with one rate limit. Add its address to the setting.',
      })
    },
    warnings: (): readonly string[] => (isSeen ? [untrustedProxy] : []),
  }
}
