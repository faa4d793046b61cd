import type { Extension } from '../request.ts'
import { CapsuleReader, readUdpPath, toDatagramCapsule } from './capsules.ts'

/** UDP proxying in HTTP (RFC 9298): an association with one destination, whose datagrams are in capsules. */
export const connectUdp: Extension = {
  wayIn: 'connect-udp',
  protocol: 'connect-udp',
  readPath: readUdpPath,
  // RFC 9297, 3.4.
  fields: [['Capsule-Protocol', '?1']],
  toRequest(target, asker) {
    const reader = new CapsuleReader()
    const codec = {
      feed: (bytes: Uint8Array, onPayload: (payload: Uint8Array) => void) => reader.feed(bytes, onPayload),
      toCapsule: toDatagramCapsule,
    }
    return { ...asker, asks: 'capsules', target, codec, extension: connectUdp }
  },
}
