import type { RandomBytes } from './ids.ts'

/** Curve25519 (RFC 7748): the public key of a private key, 32 bytes each. Injected. */
export type PublicKeyOf = (privateKey: Uint8Array) => Uint8Array

/** A new pair, clamped as in RFC 7748, section 5, like `wg genkey`: each key is base64 of 32 bytes. */
export function makeKeyPair(random: RandomBytes, publicKeyOf: PublicKeyOf) {
  const bytes = random(32)
  bytes[0] = (bytes[0] ?? 0) & 248
  bytes[31] = ((bytes[31] ?? 0) & 127) | 64
  return { privateKey: bytes.toBase64(), publicKey: publicKeyOf(bytes).toBase64() }
}

/** Points of small order (RFC 7748, 6.1): a tunnel with one of them has no secret. */
const weakKeys = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

/** Reads a public key strictly, so that a key has one spelling: canonical base64, and a number below 2^255 - 19. */
export function readPublicKey(text: string): string | undefined {
  const bytes = readKey(text)
  if (!bytes || (bytes[31] ?? 0) > 127 || weakKeys.has(bytes.toHex()) || isPastPrime(bytes)) return undefined
  return text
}

/** The 32 bytes of a key in canonical base64. */
export function readKey(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text)) return undefined
  return Uint8Array.fromBase64(text)
}

/** 2^255 - 19 and the numbers above it are second spellings of small ones. */
const isPastPrime = (bytes: Uint8Array): boolean =>
  (bytes[0] ?? 0) >= 0xed && bytes[31] === 0x7f && bytes.subarray(1, 31).every((byte) => byte === 0xff)
