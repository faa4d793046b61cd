import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { RandomBytes, WebhookId } from '../../core/ids.ts'
import type { Vault } from '../../core/vault.ts'

/** The HMAC secret and the seed of the ed25519 key, 32 bytes each, in base64. */
export type Secrets = { readonly secret: string; readonly seed: string }

const contextOf = (id: WebhookId): string => `webhook ${id}`

export const makeSecrets = (random: RandomBytes): Secrets => ({
  secret: random(32).toBase64(),
  seed: random(32).toBase64(),
})

export const sealSecrets = (vault: Vault, id: WebhookId, secrets: Secrets): Uint8Array =>
  vault.seal(`${secrets.secret} ${secrets.seed}`, contextOf(id))

export function openSecrets(vault: Vault, id: WebhookId, sealed: Uint8Array): Secrets {
  const [secret = '', seed = ''] = vault.open(sealed, contextOf(id)).split(' ')
  return { secret, seed }
}

/** The secret as its owner gets it, once. */
export const shownSecret = ({ secret }: Secrets): string => `whsec_${secret}`

/** The PKCS #8 prefix of an ed25519 private key (RFC 8410, section 7). */
const privateKeyHeader = Buffer.from('302e020100300506032b657004220420', 'hex')

const keyOf = ({ seed }: Secrets) =>
  createPrivateKey({
    key: Buffer.concat([privateKeyHeader, Buffer.from(seed, 'base64')]),
    format: 'der',
    type: 'pkcs8',
  })

/** The public key that verifies `v1a` signatures. */
export const publicKeyOf = (secrets: Secrets): string =>
  `whpk_${createPublicKey(keyOf(secrets)).export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`

/** The keys of secrets, ready to sign: reading an ed25519 key costs as much as a signature. */
export type SigningKey = { readonly secret: Uint8Array; readonly key: KeyObject }

export const toSigningKey = (secrets: Secrets): SigningKey => ({
  secret: Buffer.from(secrets.secret, 'base64'),
  key: keyOf(secrets),
})

/** Signs by the Standard Webhooks specification, with both schemes and each of the keys. */
export function signMessage(keys: readonly SigningKey[], id: string, timestamp: number, body: string): string {
  const text = `${id}.${timestamp}.${body}`
  return keys
    .flatMap(({ secret, key }) => [
      `v1,${createHmac('sha256', secret).update(text).digest('base64')}`,
      `v1a,${sign(null, Buffer.from(text), key).toString('base64')}`,
    ])
    .join(' ')
}
