import { latin1Slice } from '../bytes.ts'
import type { KeyedHead, KeyedWayIn } from '../key-reader.ts'
import { DatagramReader, toDatagram } from './datagrams.ts'
import { isLineEnd, readTarget } from './target.ts'

/** SHA-224 in hex digits. */
const keyCharacters = 56
const commands = { connect: 1, associate: 3 }

/** Of UDP ASSOCIATE: the target is not used, and may be 0.0.0.0:0. */
function skipTarget(bytes: Uint8Array, at: number): number | 'malformed' | undefined {
  const kind = bytes[at]
  if (kind === undefined) return undefined
  const length = kind === 1 ? 4 : kind === 4 ? 16 : kind === 3 ? bytes[at + 1] : -1
  if (length === -1) return 'malformed'
  const end = at + 1 + (kind === 3 ? 1 : 0) + (length ?? 0) + 2
  return length === undefined || bytes.length < end ? undefined : end
}

function readHead(bytes: Uint8Array): KeyedHead | 'malformed' | undefined {
  const key = readKey(bytes)
  if (key === undefined) return bytes.length < keyCharacters ? undefined : 'malformed'
  const isEnded = isLineEnd(bytes, keyCharacters)
  const command = bytes[keyCharacters + 2]
  if (isEnded === false) return 'malformed'
  if (command === undefined) return undefined
  if (command !== commands.connect && command !== commands.associate) return 'malformed'
  const at = keyCharacters + 3
  const read = command === commands.connect ? readTarget(bytes, at) : skipTarget(bytes, at)
  if (read === undefined || read === 'malformed') return read
  const end = typeof read === 'number' ? read : read.end
  const isWhole = isLineEnd(bytes, end)
  if (!isWhole) return isWhole === false ? 'malformed' : undefined
  const used = end + 2
  if (typeof read !== 'number') return { key, asks: 'tunnel', target: read.target, used }
  const reader = new DatagramReader()
  return { key, asks: 'capsules', target: undefined, codec: { feed: reader.feed, toCapsule: toDatagram }, used }
}

function readKey(first: Uint8Array): string | undefined {
  if (first.length < keyCharacters) return undefined
  const text = latin1Slice.call(first, 0, keyCharacters)
  return /^[0-9a-f]{56}$/.test(text) ? text : undefined
}

/** Trojan: CONNECT, and UDP of many destinations in the connection. */
export const trojan: KeyedWayIn = {
  name: 'trojan',
  maxHeadBytes: keyCharacters + 2 + 1 + 2 + 255 + 2 + 2,
  readHead,
  accepted: new Uint8Array(0),
  readKey,
}
