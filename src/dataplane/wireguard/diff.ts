import type { NodePeer } from '../../node-protocol/state.ts'
import type { PeerState } from './dump.ts'

/** What WireGuard has to know of a peer. `allowed` is in canonical text, and no two peers share a block. */
export type WantedPeer = Readonly<Pick<NodePeer, 'public_key' | 'allowed'>>

export type Difference = { readonly remove: readonly string[]; readonly set: readonly WantedPeer[] }

/** What must be done to a device so that it has exactly the wanted peers. One that is as it should be is not named. */
export function diffPeers(
  held: readonly Pick<PeerState, 'publicKey' | 'allowed'>[],
  wanted: readonly WantedPeer[],
): Difference {
  const keys = new Set(wanted.map((each) => each.public_key))
  const heldAllowed = new Map(held.map((each) => [each.publicKey, each.allowed]))
  return {
    remove: held.filter((each) => !keys.has(each.publicKey)).map((each) => each.publicKey),
    set: wanted.filter((each) => !isSame(heldAllowed.get(each.public_key), each.allowed)),
  }
}

function isSame(held: readonly string[] | undefined, wanted: readonly string[]): boolean {
  if (held?.length !== wanted.length) return false
  const all = new Set(held)
  return wanted.every((block) => all.has(block))
}
