import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Vault } from '../core/vault.ts'

const nonceBytes = 12
const tagBytes = 16

/** AES-256-GCM with a random nonce; the context is authenticated data. */
export function createVault(key: Uint8Array): Vault {
  const derived = new Uint8Array(hkdfSync('sha256', key, 'turnpike', 'vault 1', 32))
  return {
    fingerprint: new Uint8Array(hkdfSync('sha256', key, 'turnpike', 'fingerprint 1', 32)),
    seal(text, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', derived, nonce)
      cipher.setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(sealed, context) {
      const decipher = createDecipheriv('aes-256-gcm', derived, sealed.subarray(0, nonceBytes))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes))
      const body = sealed.subarray(nonceBytes + tagBytes)
      return decipher.update(body, undefined, 'utf8') + decipher.final('utf8')
    },
  }
}
