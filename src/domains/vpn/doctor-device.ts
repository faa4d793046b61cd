import { randomBase32 } from '../../core/base32.ts'
import { toUuid } from '../../core/device-exits.ts'
import type { AccessKeys } from './access-keys.ts'
import type { VpnDeps } from './subscriptions.ts'

/** After this many characters an id of the shop ends (`core/ids.ts`). */
const idLength = 26

/**
 * The device with which `doctor` connects to a gateway. It is in no table, so no customer can get it: id and keys
 * follow from the shop's secret key, and differ at each gateway. Gateways have it as a device that has ended, which
 * reaches the shop only, slowly and unbilled.
 */
export function doctorDevice(
  { vault, hmac }: Pick<VpnDeps, 'vault' | 'hmac'>,
  node: string,
): AccessKeys & { readonly id: string } {
  const secret = vault.derive(`doctor's device at ${node}`)
  return {
    id: `dev_${randomBase32(hmac(secret, 'id')).slice(0, idLength)}`,
    uuid: toUuid(hmac(secret, 'uuid')),
    password: randomBase32(hmac(secret, 'password')),
  }
}
