import { randomBase32 } from './base32.ts'
import type { Hmac } from './password-mac.ts'

/**
 * Keys by which a VPN device leaves from an exit behind an entry: its protocols have no field for an exit, so the key
 * says which one. All follow from the device's password. An entry gets a secret of its own, from which the keys for
 * other entries do not follow.
 */

/** The secret of a device from which those for the entries are made. Only the shop has it. */
export const toExitsSecret = (hmac: Hmac, password: string): string =>
  hmac(new TextEncoder().encode(password), 'vpn exits 1').toHex()

/** The secret that an entry gets of a device, in hex. */
export const toEntrySecret = (hmac: Hmac, exitsSecret: string, entry: string): string =>
  hmac(Uint8Array.fromHex(exitsSecret), `entry ${entry}`).toHex()

/** The keys of a device at an entry for one of its exits. */
export function keysOfExit(hmac: Hmac, entrySecret: string, exit: string) {
  const secret = Uint8Array.fromHex(entrySecret)
  return {
    uuid: toUuid(hmac(secret, `uuid ${exit}`)),
    password: randomBase32(hmac(secret, `password ${exit}`)),
  }
}

/** The user name of a device at an HTTP proxy for an exit; both are ids without a dash. */
export const loginOfExit = (device: string, exit: string): string => `${device}-${exit}`

/** A UUID of version 4 (RFC 9562) of 16 random bytes: 122 bits. */
export function toUuid(chance: Uint8Array): string {
  const bytes = chance.slice(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 15) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 63) | 0x80
  const text = bytes.toHex()
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-')
}
