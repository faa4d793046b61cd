import type { ConnectTarget } from '../authority.ts'
import { readHostAt } from '../socks5/target.ts'

const [cr, lf] = [13, 10]

/** Target, and where it ends; undefined while bytes are missing. Each byte is checked as soon as it is there. */
export function readTarget(
  bytes: Uint8Array,
  at: number,
): { target: ConnectTarget; end: number } | 'malformed' | undefined {
  const kind = bytes[at]
  if (kind === undefined) return undefined
  if (kind !== 1 && kind !== 3 && kind !== 4) return 'malformed'
  const from = kind === 3 ? at + 2 : at + 1
  const length = kind === 3 ? bytes[at + 1] : kind === 1 ? 4 : 16
  if (length === undefined) return undefined
  if (length === 0) return 'malformed'
  const end = from + length + 2
  if (bytes.length < end) return undefined
  const host = readHostAt(kind, bytes, from, end - 2)
  const port = ((bytes[end - 2] ?? 0) << 8) | (bytes[end - 1] ?? 0)
  return host === undefined || port === 0 ? 'malformed' : { target: { host, port }, end }
}

/** Undefined while bytes are missing. */
export function isLineEnd(bytes: Uint8Array, at: number): boolean | undefined {
  const [first, second] = [bytes[at], bytes[at + 1]]
  if (first !== undefined && first !== cr) return false
  return second === undefined ? undefined : second === lf
}
