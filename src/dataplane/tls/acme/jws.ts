import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A key of an account: a curve that every authority takes (RFC 8555, 6.2), and its public half as a JWK. */
export type AccountKey = {
  readonly pem: string
  readonly key: KeyObject
  readonly jwk: Readonly<Record<string, string>>
}

export function makeAccountKey(): AccountKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return readAccountKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
}

export function readAccountKey(pem: string): AccountKey {
  const key = createPrivateKey(pem)
  const {
    crv = '',
    kty = '',
    x = '',
    y = '',
  } = createPublicKey(pem).export({ format: 'jwk' }) as Record<string, string>
  // In this order, which the thumbprint needs (RFC 7638, 3).
  return { pem, key, jwk: { crv, kty, x, y } }
}

const toBase64Url = (value: string | Uint8Array): string => Buffer.from(value).toString('base64url')

/** What an authority expects to find where it looks for a token (RFC 8555, 8.1). */
export const keyAuthorization = (token: string, { jwk }: AccountKey): string =>
  `${token}.${toBase64Url(createHash('sha256').update(JSON.stringify(jwk)).digest())}`

/** A request as it is sent: signed with the account's key, for one address and once (RFC 8555, 6.2). */
export function signRequest(
  account: AccountKey,
  header: { readonly url: string; readonly nonce: string; readonly kid?: string },
  payload: object | '',
): string {
  const { kid, ...rest } = header
  const shown = kid === undefined ? { jwk: account.jwk } : { kid }
  const head = toBase64Url(JSON.stringify({ alg: 'ES256', ...shown, ...rest }))
  const body = payload === '' ? '' : toBase64Url(JSON.stringify(payload))
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key: account.key, dsaEncoding: 'ieee-p1363' })
  return JSON.stringify({ protected: head, payload: body, signature: toBase64Url(signature) })
}
