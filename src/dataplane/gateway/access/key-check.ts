import type { Sha256 } from '../../../core/chain.ts'
import type { Snapshot } from '../../agent/snapshot.ts'
import type { KeyedWayIn } from '../ways-in/key-reader.ts'
import { keyedWaysIn } from '../ways-in/table.ts'
import { digestOfKey } from './admission.ts'

/**
 * The protocol of a connection whose first bytes have the key of a VPN device in the state. The shop is never asked:
 * the wait would tell a prober that keys are checked. The engine authenticates the device again.
 */
export const createKeyCheck =
  (snapshot: Snapshot, sha256: Sha256) =>
  (first: Uint8Array): KeyedWayIn | undefined =>
    keyedWaysIn.find((each) => {
      const key = each.readKey(first)
      return key !== undefined && snapshot.findDevice(each.name, digestOfKey(sha256, key)) !== undefined
    })
