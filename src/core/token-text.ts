import { base32Digit, randomBase32 } from './base32.ts'

const randomLength = 32
const checkLength = 7

/** 32 characters of 5 bits: 160 random bits. */
export const tokenRandomBytes = randomLength

/** A prefix, 160 random bits, and a checksum against typing errors. */
export function makeText(prefix: string, random: Uint8Array): string {
  if (random.length !== tokenRandomBytes) throw new RangeError('a token is made of 32 random bytes')
  const text = prefix + randomBase32(random)
  return text + checkOf(text)
}

/** Whether a text has the form of a token with this prefix, without a look-up. */
export function isText(prefix: string, text: string): boolean {
  if (text.length !== prefix.length + randomLength + checkLength || !text.startsWith(prefix)) return false
  return checkOf(text.slice(0, -checkLength)) === text.slice(-checkLength)
}

/** Constant-time comparison. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index += 1) difference |= (a[index] ?? 0) ^ (b[index] ?? 0)
  return difference === 0
}

/** CRC table: every request checks a token. */
const crcOfByte = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** CRC-32 (IEEE 802.3) in seven characters, against typing errors, not forgery. */
function checkOf(text: string): string {
  let crc = 0xffffffff
  for (let index = 0; index < text.length; index += 1) {
    crc = (crc >>> 8) ^ (crcOfByte[(crc ^ text.charCodeAt(index)) & 255] ?? 0)
  }
  let rest = (crc ^ 0xffffffff) >>> 0
  let check = ''
  for (let index = 0; index < checkLength; index += 1) {
    check = base32Digit(rest) + check
    rest >>>= 5
  }
  return check
}
