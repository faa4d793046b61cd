export type Dialect = 'http' | 'socks5' | 'socks4' | 'unknown'

/**
 * Tells the protocols of one port apart by the first byte: SOCKS begins with its version (RFC 1928, 3), an HTTP request
 * with the letter of a method. A TLS hello (22), an empty line and everything else is unknown.
 */
export function detect(firstByte: number): Dialect {
  if (firstByte === 5) return 'socks5'
  if (firstByte === 4) return 'socks4'
  const lower = firstByte | 0x20
  return firstByte < 0x80 && lower >= 0x61 && lower <= 0x7a ? 'http' : 'unknown'
}
