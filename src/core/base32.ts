/** Crockford's base 32: no letter that can be taken for a digit, and text order is numeric order. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

export const base32Digit = (value: number): string => alphabet.charAt(value & 31)

/** One character for five bits of each random byte: all 32 are equally likely. */
export function randomBase32(random: Uint8Array): string {
  let text = ''
  for (const byte of random) text += base32Digit(byte)
  return text
}

export function isBase32(text: string): boolean {
  for (const character of text) if (!alphabet.includes(character)) return false
  return true
}

/** Big-endian value of the characters, as far as a number is exact. */
export function readBase32(text: string): number {
  let value = 0
  for (const character of text) value = value * 32 + alphabet.indexOf(character)
  return value
}
