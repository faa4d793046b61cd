import type { ConnectTarget } from '../authority.ts'
import { readHostAt } from '../socks5/target.ts'

/** The address types of SOCKS5 by those of VLESS: IPv4, name, IPv6. */
const kinds = new Map([
  [1, 1],
  [2, 3],
  [3, 4],
])

/** Port, address type and address, and where they end; undefined while bytes are missing. */
export function readTarget(
  bytes: Uint8Array,
  at: number,
): { readonly target: ConnectTarget; readonly end: number } | 'malformed' | undefined {
  const written = bytes[at + 2]
  if (written === undefined) return undefined
  const kind = kinds.get(written)
  const from = kind === 3 ? at + 4 : at + 3
  const length = kind === 3 ? bytes[at + 3] : kind === 1 ? 4 : 16
  if (kind === undefined || length === 0) return 'malformed'
  if (length === undefined || bytes.length < from + length) return undefined
  const end = from + length
  const host = readHostAt(kind, bytes, from, end)
  const port = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
  return host === undefined || port === 0 ? 'malformed' : { target: { host, port }, end }
}
