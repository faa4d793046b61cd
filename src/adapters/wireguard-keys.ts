import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { PublicKeyOf } from '../core/wireguard.ts'

/** The PKCS #8 prefix of an X25519 private key (RFC 8410, section 7). */
const before = Buffer.from('302e020100300506032b656e04220420', 'hex')

/** X25519 by the runtime's TLS library. The public key is the last 32 bytes of its SPKI form. */
export const publicKeyOf: PublicKeyOf = (privateKey) => {
  const key = createPrivateKey({ key: Buffer.concat([before, privateKey]), format: 'der', type: 'pkcs8' })
  return new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32))
}
