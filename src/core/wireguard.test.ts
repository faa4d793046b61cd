import { beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { needWireguardTools, toolsWithinMs, wgPrivateKey, wgPublicKey } from '../../test/harness/wireguard.ts'
import { publicKeyOf } from '../adapters/crypto.ts'
import { makeKeyPair, readKey, readPublicKey } from './wireguard.ts'

const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))

describe('WireGuard keys', () => {
  beforeAll(needWireguardTools, toolsWithinMs)

  test('wg pubkey derives the same public key from a private key of makeKeyPair', async () => {
    for (let round = 0; round < 50; round += 1) {
      const pair = makeKeyPair(random, publicKeyOf)
      expect(await wgPublicKey(pair.privateKey)).toBe(pair.publicKey)
    }
  })

  test('publicKeyOf derives the same public key as wg pubkey from a private key of wg genkey', async () => {
    for (let round = 0; round < 20; round += 1) {
      const privateKey = await wgPrivateKey()
      expect(publicKeyOf(readKey(privateKey)!).toBase64()).toBe(await wgPublicKey(privateKey))
    }
  })

  test('readPublicKey accepts every public key of makeKeyPair', () => {
    for (let round = 0; round < 1000; round += 1) {
      const { publicKey } = makeKeyPair(random, publicKeyOf)
      expect(readPublicKey(publicKey)).toBe(publicKey)
    }
  })

  test('readPublicKey accepts only canonical base64, so a key has one spelling', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytes.toBase64()),
      fc.base64String({ minLength: 44, maxLength: 44 }),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const read = readPublicKey(text)
        return read === undefined || (Uint8Array.fromBase64(read).toBase64() === text && readKey(text)?.length === 32)
      }),
      { numRuns: 2000 },
    )
  })

  test('readPublicKey refuses points of small order and a second spelling of a point', () => {
    const refused = [
      '00'.repeat(32),
      `01${'00'.repeat(31)}`,
      'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
      '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
      `ec${'ff'.repeat(30)}7f`,
      `ed${'ff'.repeat(30)}7f`,
      `f6${'ff'.repeat(30)}7f`,
      `09${'00'.repeat(30)}80`,
    ]
    for (const hex of refused) expect(readPublicKey(Uint8Array.fromHex(hex).toBase64())).toBeUndefined()
    expect(readPublicKey(Uint8Array.fromHex(`09${'00'.repeat(31)}`).toBase64())).toBeDefined()
  })
})
