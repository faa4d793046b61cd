import { createCipheriv, createDecipheriv, createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto'
import type { RandomBytes } from '../core/ids.ts'
import type { Hmac } from '../core/password-mac.ts'
import type { Vault } from '../core/vault.ts'
import type { PublicKeyOf } from '../core/wireguard.ts'

export const sha256 = (text: string): Uint8Array => Bun.SHA256.hash(text) as Uint8Array

export const sha224 = (text: string): Uint8Array => new Bun.CryptoHasher('sha224').update(text).digest()

export const hmacSha256: Hmac = (key, text) => new Bun.CryptoHasher('sha256', key).update(text).digest()

const block = new Uint8Array(4096)
let used = block.length

/** The system's randomness, fetched in blocks of 4 KiB, because an id takes 10 bytes. */
export const randomBytes: RandomBytes = (count) => {
  if (count > 256) return crypto.getRandomValues(new Uint8Array(count))
  if (used + count > block.length) {
    crypto.getRandomValues(block)
    used = 0
  }
  const taken = block.slice(used, used + count)
  // The bytes may become a password, so they are erased here.
  block.fill(0, used, used + count)
  used += count
  return taken
}

const nonceBytes = 12
const tagBytes = 16

/** AES-256-GCM with a random nonce; the context is authenticated data. */
export function createVault(key: Uint8Array): Vault {
  const derived = new Uint8Array(hkdfSync('sha256', key, 'turnpike', 'vault 1', 32))
  return {
    fingerprint: new Uint8Array(hkdfSync('sha256', key, 'turnpike', 'fingerprint 1', 32)),
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', key, 'turnpike', `derived 1 ${purpose}`, 32)),
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

/** The PKCS #8 prefix of an X25519 private key (RFC 8410, section 7). */
const privateKeyHeader = Buffer.from('302e020100300506032b656e04220420', 'hex')

/** X25519 by the runtime's TLS library. The public key is the last 32 bytes of its SPKI form. */
export const publicKeyOf: PublicKeyOf = (privateKey) => {
  const key = createPrivateKey({ key: Buffer.concat([privateKeyHeader, privateKey]), format: 'der', type: 'pkcs8' })
  return new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32))
}
