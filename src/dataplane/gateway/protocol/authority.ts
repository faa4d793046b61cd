import { bracketed, formatAddress, hostAndPort, readAddress } from '../../../core/address.ts'

/** Where a client wants to go: a canonical address without brackets or a lower-case DNS name, and a port. */
export type Target = { readonly host: string; readonly port: number }

/** The longest name (253 and a trailing dot), brackets around an address being shorter, a colon and five digits. */
const mostCharacters = 254 + 6

/**
 * Reads `host:port` (RFC 3986, 3.2, without user information). Without a default the port must be there. Each target
 * has exactly one port and one host: a number that would wrap, a sign, a leading zero or a name in brackets is refused,
 * because the next program to read it might see another target.
 */
export function readAuthority(text: string, defaultPort?: number): Target | undefined {
  if (text.length > mostCharacters) return undefined
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(text)
  if (!match) return undefined
  const [, hostText = '', portText] = match
  const host = hostText.startsWith('[') ? readBracketed(hostText) : readHost(hostText)
  const port = portText === undefined ? defaultPort : readPort(portText)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** Writes a target the way it is read; a port that is the default is left out, as in a Host field (RFC 9110, 7.2). */
export function formatAuthority(target: Target, defaultPort?: number): string {
  return target.port === defaultPort ? bracketed(target.host) : hostAndPort(target.host, target.port)
}

/**
 * Reads a host without brackets: an IPv4 address of four plain numbers, or a DNS name. A last label that is a number in
 * any spelling (`127.1`, `0x7f.1`, `2130706433`) makes it an address to some C library, so it must be a plain one or
 * nothing.
 */
export function readHost(text: string): string | undefined {
  if (text.includes(':')) return undefined
  // An IPv4 address that is read at all has one spelling.
  return readAddress(text) ? text : readName(text)
}

/** 1 to 65535 in plain digits. `65561`, `0025` and `+25` are port 25 to a careless reader, and nothing here. */
function readPort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

/** RFC 3986, 3.2.2: only an IPv6 address stands in brackets. A mapped IPv4 address comes out as that IPv4 address. */
function readBracketed(text: string): string | undefined {
  const inner = text.slice(1, -1)
  const address = inner.includes(':') ? readAddress(inner) : undefined
  return address && formatAddress(address)
}

/**
 * RFC 1123, 2.1: labels of letters, digits and inner hyphens, 63 each and 253 in all. The underscore is let through as
 * every resolver and browser does, for there are sites with one in their name.
 */
function readName(text: string): string | undefined {
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  if (name.length === 0 || name.length > 253) return undefined
  const labels = name.split('.')
  if (!labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))) return undefined
  return /^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '') ? undefined : name
}
