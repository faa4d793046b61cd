import { maxUdpPayload } from '../connect-udp/capsules.ts'
import type { KeyedHead, KeyedWayIn } from '../key-reader.ts'
import { LengthReader, toLengthCapsule } from './datagrams.ts'
import { readTarget } from './target.ts'

const version = 0
const uuidBytes = 16
const addonsAt = 1 + uuidBytes
const commands = { tcp: 1, udp: 2, mux: 3 }

/** A UUID as text, from its 16 bytes. */
function toUuid(bytes: Uint8Array): string {
  const text = bytes.toHex()
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-')
}

/**
 * Version, UUID, addons, command, and port and address but for Mux. Addons hold a flow, which this gateway does not
 * have. Each byte is checked as soon as it is there.
 */
function readHead(bytes: Uint8Array): KeyedHead | 'malformed' | undefined {
  const [addons, command] = [bytes[addonsAt], bytes[addonsAt + 1]]
  if ((bytes[0] ?? version) !== version || (addons ?? 0) !== 0) return 'malformed'
  if (command === undefined) return undefined
  const key = toUuid(bytes.subarray(1, addonsAt))
  if (command === commands.mux) return { key, asks: 'streams', used: addonsAt + 2 }
  if (command !== commands.tcp && command !== commands.udp) return 'malformed'
  const read = readTarget(bytes, addonsAt + 2)
  if (read === undefined || read === 'malformed') return read
  const { target, end: used } = read
  if (command === commands.tcp) return { key, asks: 'tunnel', target, used }
  const reader = new LengthReader(maxUdpPayload)
  return { key, asks: 'capsules', target, codec: { feed: reader.feed, toCapsule: toLengthCapsule }, used }
}

/** VLESS without encryption of its own and flow: TCP, UDP of one destination, and Mux for many of both. */
export const vless: KeyedWayIn = {
  name: 'vless',
  maxHeadBytes: addonsAt + 5 + 1 + 255,
  readHead,
  accepted: Uint8Array.of(version, 0),
  readKey: (first) =>
    first[0] === version && first.length >= addonsAt ? toUuid(first.subarray(1, addonsAt)) : undefined,
}
