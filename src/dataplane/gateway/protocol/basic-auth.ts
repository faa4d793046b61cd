export type Credentials = { readonly username: string; readonly password: string }

const mostUsernameBytes = 512
const mostPasswordBytes = 256
/** Base64 of the longest pair and the colon between. */
const mostEncoded = 4 * Math.ceil((mostUsernameBytes + 1 + mostPasswordBytes) / 3)
const colon = 0x3a
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The same pair comes again and again, and reading it costs more than all else in a request. Whoever has shown a pair
 * before gets the very same object, so that whoever judged it may know it again. In memory only, and never many.
 */
const pairs = new Map<string, Credentials>()
const mostPairs = 2000

function remember(spelling: string, pair: Credentials | undefined): Credentials | undefined {
  if (!pair) return undefined
  if (pairs.size >= mostPairs) pairs.clear()
  pairs.set(spelling, pair)
  return pair
}

/**
 * Reads `Basic <base64>` (RFC 7617). The scheme is written in any case; the base64 must be canonical, so that one pair
 * of name and password has one spelling. The name ends at the first colon.
 */
export const readBasic = (value: string): Credentials | undefined =>
  pairs.get(value) ?? remember(value, readBasicAfresh(value))

function readBasicAfresh(value: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1]
  if (encoded === undefined || encoded.length > mostEncoded) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  const end = bytes.indexOf(colon)
  return end < 0 ? undefined : readCredentials(bytes.subarray(0, end), bytes.subarray(end + 1))
}

/**
 * Reads the name and the password of RFC 1929, whose message this is a character for each byte, and which lie in it
 * from `2` to `nameEnd` and behind `nameEnd + 1`.
 */
export const readLogin = (message: string, nameEnd: number): Credentials | undefined =>
  pairs.get(message) ?? remember(message, readLoginAfresh(message, nameEnd))

function readLoginAfresh(message: string, nameEnd: number): Credentials | undefined {
  const bytes = Buffer.from(message, 'latin1')
  return readCredentials(bytes.subarray(2, nameEnd), bytes.subarray(nameEnd + 1))
}

/** The two texts are UTF-8 without control characters (RFC 7617, 2), whichever protocol brought them. */
export function readCredentials(username: Uint8Array, password: Uint8Array): Credentials | undefined {
  if (username.length > mostUsernameBytes || password.length > mostPasswordBytes) return undefined
  const name = readText(username)
  const secret = readText(password)
  return name === undefined || secret === undefined ? undefined : { username: name, password: secret }
}

function readText(bytes: Uint8Array): string | undefined {
  if (bytes.some((byte) => byte < 0x20 || byte === 0x7f)) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
