export type Credentials = { readonly username: string; readonly password: string }

const maxUsernameBytes = 512
const maxPasswordBytes = 256
const maxEncoded = 4 * Math.ceil((maxUsernameBytes + 1 + maxPasswordBytes) / 3)
const colon = 0x3a
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Cache: decoding is expensive, and callers use the object's identity as a cache key. */
const pairs = new Map<string, Credentials>()
const maxPairs = 2000

function remember(spelling: string, pair: Credentials | undefined): Credentials | undefined {
  if (!pair) return undefined
  if (pairs.size >= maxPairs) pairs.clear()
  pairs.set(spelling, pair)
  return pair
}

/** Parses `Basic <base64>` (RFC 7617). The base64 must be canonical. */
export const readBasic = (value: string): Credentials | undefined =>
  pairs.get(value) ?? remember(value, readBasicAfresh(value))

function readBasicAfresh(value: string): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1]
  if (encoded === undefined || encoded.length > maxEncoded) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  const end = bytes.indexOf(colon)
  return end < 0 ? undefined : readCredentials(bytes.subarray(0, end), bytes.subarray(end + 1))
}

/** Parses an RFC 1929 message given as Latin-1 text; the name ends at `nameEnd`. */
export const readLogin = (message: string, nameEnd: number): Credentials | undefined =>
  pairs.get(message) ?? remember(message, readLoginAfresh(message, nameEnd))

function readLoginAfresh(message: string, nameEnd: number): Credentials | undefined {
  const bytes = Buffer.from(message, 'latin1')
  return readCredentials(bytes.subarray(2, nameEnd), bytes.subarray(nameEnd + 1))
}

/** UTF-8 without control characters (RFC 7617, 2). */
export function readCredentials(username: Uint8Array, password: Uint8Array): Credentials | undefined {
  if (username.length > maxUsernameBytes || password.length > maxPasswordBytes) return undefined
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
