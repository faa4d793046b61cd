import { bracketed, formatAddress, hostAndPort, readAddress } from '../../../core/address.ts'

/** A canonical address or lower-case DNS name, and a port. */
export type ConnectTarget = { readonly host: string; readonly port: number }

/** Name of 253 and a trailing dot, a colon and five digits. */
const maxCharacters = 254 + 6

/**
 * Parses `host:port` (RFC 3986, 3.2, without user information). Ambiguous spellings (overflow, sign, leading zero, name
 * in brackets) are rejected: another parser might see another target.
 */
export function readAuthority(text: string, defaultPort?: number): ConnectTarget | undefined {
  if (text.length > maxCharacters) return undefined
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(text)
  if (!match) return undefined
  const [, hostText = '', portText] = match
  const host = hostText.startsWith('[') ? readBracketed(hostText) : readHost(hostText)
  const port = portText === undefined ? defaultPort : readPort(portText)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** Omits the default port, as in a Host field (RFC 9110, 7.2). */
export function formatAuthority(target: ConnectTarget, defaultPort?: number): string {
  return target.port === defaultPort ? bracketed(target.host) : hostAndPort(target.host, target.port)
}

/**
 * Parses a dotted-quad IPv4 address or a DNS name. A name with a numeric last label (`127.1`, `0x7f.1`) is rejected: C
 * libraries read it as an address.
 */
export function readHost(text: string): string | undefined {
  if (text.includes(':')) return undefined
  return readAddress(text) ? text : readName(text)
}

/** Rejects `65561`, `0025` and `+25`, which lenient parsers read as 25. */
export function readPort(text: string): number | undefined {
  if (!/^[1-9]\d{0,4}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

/** RFC 3986, 3.2.2: only IPv6 addresses have brackets. Mapped IPv4 becomes IPv4. */
function readBracketed(text: string): string | undefined {
  const inner = text.slice(1, -1)
  const address = inner.includes(':') ? readAddress(inner) : undefined
  return address && formatAddress(address)
}

/** RFC 1123, 2.1, plus underscores, which some sites use. */
function readName(text: string): string | undefined {
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  if (name.length === 0 || name.length > 253) return undefined
  const labels = name.split('.')
  if (!labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))) return undefined
  return /^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '') ? undefined : name
}
