import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { join } from 'node:path'
import { createOwnFile, findFile } from './own-file.ts'

/** An Ed25519 key of a gateway's own (RFC 8032): the private one never leaves the machine, the public one is told. */
export type HopKey = { readonly publicKey: string; readonly privateKey: string }

const fileName = 'hop-key'
const mostKeys = 1000

/** The key in the node's folder; the first time it is made. */
export function takeHopKey(folder: string): HopKey {
  const path = join(folder, fileName)
  const found = findFile(path)
  if (found === undefined) createOwnFile(path, `${makeHopKey().privateKey}\n`)
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

/** Whether a text was signed with the private key that belongs to a public one. */
export function createVerify(): (publicKey: string, text: string, signature: string) => boolean {
  const keys = new Map<string, KeyObject>()
  return (publicKey, text, signature) => {
    try {
      let key = keys.get(publicKey)
      if (!key) {
        key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
        if (keys.size >= mostKeys) keys.clear()
        keys.set(publicKey, key)
      }
      return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
    } catch {
      // A key that is none has signed nothing.
      return false
    }
  }
}
