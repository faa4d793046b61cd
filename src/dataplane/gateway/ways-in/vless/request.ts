import { maxUdpPayload } from '../connect-udp/capsules.ts'
import type { KeyedHead, KeyedWayIn } from '../key-reader.ts'
import { readHostAt } from '../socks5/target.ts'
import { LengthReader, toLengthCapsule } from './datagrams.ts'

const version = 0
const uuidBytes = 16
const addonsAt = 1 + uuidBytes
const commands = { tcp: 1, udp: 2 }
/** The address types of SOCKS5 by those of VLESS: IPv4, name, IPv6. */
const kinds = new Map([
  [1, 1],
  [2, 3],
  [3, 4],
])

/** A UUID as text, from its 16 bytes. */
function toUuid(bytes: Uint8Array): string {
  const text = bytes.toHex()
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-')
}

/**
 * Version, UUID, addons, command, port, address. Addons hold a flow, which this gateway does not have. Each byte is
 * checked as soon as it is there.
 */
function readHead(bytes: Uint8Array): KeyedHead | 'malformed' | undefined {
  const [addons, command] = [bytes[addonsAt], bytes[addonsAt + 1]]
  if ((bytes[0] ?? version) !== version || (addons ?? 0) !== 0) return 'malformed'
  if (command === undefined) return undefined
  if (command !== commands.tcp && command !== commands.udp) return 'malformed'
  const portAt = addonsAt + 2
  const written = bytes[portAt + 2]
  if (written === undefined) return undefined
  const kind = kinds.get(written)
  const from = kind === 3 ? portAt + 4 : portAt + 3
  const length = kind === 3 ? bytes[portAt + 3] : kind === 1 ? 4 : 16
  if (kind === undefined || length === 0) return 'malformed'
  if (length === undefined || bytes.length < from + length) return undefined
  const used = from + length
  const host = readHostAt(kind, bytes, from, used)
  const port = ((bytes[portAt] ?? 0) << 8) | (bytes[portAt + 1] ?? 0)
  if (host === undefined || port === 0) return 'malformed'
  const [key, target] = [toUuid(bytes.subarray(1, addonsAt)), { host, port }]
  if (command === commands.tcp) return { key, asks: 'tunnel', target, used }
  const reader = new LengthReader(maxUdpPayload)
  return { key, asks: 'capsules', target, codec: { feed: reader.feed, toCapsule: toLengthCapsule }, used }
}

/** VLESS without encryption of its own, flow and Mux: TCP, and UDP of one destination. */
export const vless: KeyedWayIn = {
  name: 'vless',
  maxHeadBytes: addonsAt + 5 + 1 + 255,
  readHead,
  accepted: Uint8Array.of(version, 0),
  readKey: (first) =>
    first[0] === version && first.length >= addonsAt ? toUuid(first.subarray(1, addonsAt)) : undefined,
}
