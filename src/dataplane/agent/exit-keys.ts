import { keysOfExit } from '../../core/device-exits.ts'
import type { Hmac } from '../../core/password-mac.ts'

export const hmac: Hmac = (key, text) => new Bun.CryptoHasher('sha256', key).update(text).digest()
const sha256 = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')
const sha224 = (text: string): string => new Bun.CryptoHasher('sha224').update(text).digest('hex')

/** SHA-256 of what a client presents for an exit, as the state has it of a device's own keys. */
export function digestsOfExit(secret: string, exit: string) {
  const { uuid, password } = keysOfExit(hmac, secret, exit)
  return { vless: sha256(uuid), trojan: sha256(sha224(password)), password: sha256(password) }
}
