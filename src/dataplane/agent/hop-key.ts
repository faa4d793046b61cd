import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { join } from 'node:path'
import { createOwnFile, findFile } from './own-file.ts'

/** A gateway's Ed25519 key pair (RFC 8032); only the public key leaves the machine. */
export type HopKey = { readonly publicKey: string; readonly privateKey: string }

const maxKeys = 1000

/** Loads the key from the node's folder, or creates it. */
export function takeHopKey(folder: string): HopKey {
  const path = join(folder, 'hop-key')
  if (findFile(path) === undefined) createOwnFile(path, `${makeHopKey().privateKey}\n`)
  return toHopKey((findFile(path) ?? '').trim())
}

export function makeHopKey(): HopKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  return toHopKey(privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'))
}

function toHopKey(text: string): HopKey {
  const { x } = createPublicKey(privateOf(text)).export({ format: 'jwk' })
  if (x === undefined) throw new Error('the key for hops is not one of Ed25519')
  return { publicKey: x, privateKey: text }
}

const privateOf = (text: string): KeyObject =>
  createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' })

export function createSign(privateKey: string): (text: string) => string {
  const key = privateOf(privateKey)
  return (text) => sign(null, Buffer.from(text), key).toString('base64url')
}

export function createVerify(): (publicKey: string, text: string, signature: string) => boolean {
  const keys = new Map<string, KeyObject>()
  return (publicKey, text, signature) => {
    try {
      let key = keys.get(publicKey)
      if (!key) {
        key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
        if (keys.size >= maxKeys) keys.clear()
        keys.set(publicKey, key)
      }
      return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
    } catch {
      // An invalid key or signature.
      return false
    }
  }
}
