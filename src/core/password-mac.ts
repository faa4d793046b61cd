import { base32Digit, randomBase32 } from './base32.ts'
import type { RandomBytes } from './ids.ts'

/** HMAC-SHA-256. */
export type Hmac = (key: Uint8Array, text: string) => Uint8Array

/** 100 random bits: nodes need no slower hash than SHA-256, also against a thief of a MAC key. */
const secretLength = 20
/** 35 bits: against `maxPasswordKeys` keys, one guess in 2^33 has the form of a password of the shop. */
const macLength = 7

/** Keys that a gateway accepts at a time. */
export const maxPasswordKeys = 4

/** The part of a user name that is looked up: a premium login ends at the first dash, a dedicated proxy's has none. */
export const toLookupName = (username: string): string => username.split('-', 1)[0]?.toLowerCase().slice(0, 255) || '-'

/** A password of the shop: random characters, and a MAC over them and the name that it belongs to. */
export function makePassword(hmac: Hmac, key: Uint8Array, name: string, random: RandomBytes): string {
  const secret = randomBase32(random(secretLength))
  return secret + macOf(hmac, key, name, secret)
}

function macOf(hmac: Hmac, key: Uint8Array, name: string, secret: string): string {
  const digest = hmac(key, `password 1\0${name}\0${secret}`)
  // 5 of the 8 bits of each byte: each character is uniform and independent.
  return Array.from(digest.subarray(0, macLength), base32Digit).join('')
}

/** Whether the shop made this password for this name. The work depends only on the number of keys, not on a match. */
export function hasPasswordMac(hmac: Hmac, keys: readonly Uint8Array[], username: string, password: string): boolean {
  const name = toLookupName(username)
  const at = Math.max(0, password.length - macLength)
  const [secret, given] = [password.slice(0, at), password.slice(at)]
  let found = 0
  for (const key of keys) {
    const expected = macOf(hmac, key, name, secret)
    let difference = given.length ^ expected.length
    for (let index = 0; index < macLength; index += 1) {
      difference |= given.charCodeAt(index) ^ expected.charCodeAt(index)
    }
    found |= Number(difference === 0)
  }
  return found !== 0
}
