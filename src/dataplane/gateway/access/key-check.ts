import type { Sha256 } from '../../../core/chain.ts'
import type { GatewayProtocol } from '../../../core/vpn-protocols.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { KeyedWayIn } from '../ways-in/key-reader.ts'
import { keyedWaysIn } from '../ways-in/table.ts'
import { digestOfKey } from './admission.ts'

export type KeyCheck = {
  /**
   * The protocol of a connection whose first bytes have the key of a VPN device in the state, and the device. The shop
   * is never asked: the wait would tell a prober that keys are checked. The engine authenticates the device again.
   */
  readonly findKeyed: (first: Uint8Array) => { readonly protocol: KeyedWayIn; readonly device: string } | undefined
  /** The device whose WebSocket and XHTTP requests have this path. */
  readonly findPath: (path: string) => string | undefined
  /** Whether the gateway serves a protocol: clients of another one get the site, like those without a key. */
  readonly isOn: (protocol: GatewayProtocol) => boolean
}

export const createKeyCheck = (snapshot: Snapshot, sha256: Sha256): KeyCheck => ({
  findKeyed(first) {
    for (const protocol of keyedWaysIn) {
      const key = protocol.readKey(first)
      const found = key === undefined ? undefined : snapshot.findDevice(protocol.name, digestOfKey(sha256, key))
      if (found) return { protocol, device: found.device.id }
    }
    return undefined
  },
  findPath: (path) => snapshot.findDeviceOfPath(path)?.device.id,
  isOn: (protocol) => snapshot.isOn(protocol),
})
