import {
  type Address,
  addressFromNumber,
  addressToNumber,
  contains,
  type Prefix,
  readAddress,
  readPrefix,
} from '../../core/address.ts'
import { readPublicKey } from '../../core/wireguard.ts'
import type { NodePeer } from '../../node-protocol/state.ts'
import type { PeerCounts } from './counts.ts'
import { toAllowed } from './peers.ts'
/** The node's own address inside the tunnel, and the network that it shares with its peers. */
export type TunnelAddress = { readonly text: string; readonly own: Address; readonly network: Prefix }

/** Reads `10.66.0.1/16`: an address with the length of its network. */
export function readTunnelAddress(text: string): TunnelAddress | undefined {
  const [addressText = '', lengthText = '', ...rest] = text.split('/')
  const address = readAddress(addressText)
  if (!address || rest.length > 0 || !/^[1-9]\d{0,2}$/.test(lengthText)) return undefined
  const [most, length] = [address.bytes.length * 8, Number(lengthText)]
  if (length > most) return undefined
  const hostBits = BigInt(most - length)
  const base = addressFromNumber(address.version, (addressToNumber(address) >> hostBits) << hostBits)
  return { text: `${addressText}/${length}`, own: address, network: { base, length } }
}

/**
 * A peer that has been read: its key is one that WireGuard takes, its addresses are within the tunnel and in canonical
 * text.
 */
type Held = {
  readonly peer: NodePeer
  /** What the peer had carried when the shop said how much is left. */
  readonly carriedBefore: number
}

/**
 * What the shop wants of this node, as far as it has told. Decides by itself when time or traffic of a device is over.
 */
export function createDesired(deps: {
  readonly networks: readonly TunnelAddress[]
  readonly counts: Pick<PeerCounts, 'totalOf' | 'takenOf'>
  readonly refuse: (id: string, problem: string) => void
}) {
  const held = new Map<string, Held>()
  /**
   * Whose key it is. Of two devices with one key the one that was told last has it: the shop lets a key be held once.
   */
  const owners = new Map<string, string>()

  /**
   * What is left was true when the shop said so, and the shop knew at most what the agent had taken by then. The same
   * number again says nothing new: otherwise each repetition would grant what was carried in between.
   */
  function carriedBefore(peer: NodePeer): number {
    const before = held.get(peer.id)
    return before && before.peer.left === peer.left ? before.carriedBefore : deps.counts.takenOf(peer.id)
  }

  function take(peer: NodePeer): void {
    const before = held.get(peer.id)
    if (before && isSame(before.peer, peer) && owners.get(peer.public_key) === peer.id) return
    const problem = findProblem(peer, deps.networks)
    if (problem !== undefined) {
      deps.refuse(peer.id, problem)
      held.delete(peer.id)
      return
    }
    held.set(peer.id, {
      peer: { ...peer, allowed: peer.allowed.flatMap(toCanonical) },
      carriedBefore: carriedBefore(peer),
    })
    if (peer.state === 'up') owners.set(peer.public_key, peer.id)
  }

  const mayPass = ({ peer, carriedBefore: before }: Held, nowMs: number): boolean =>
    peer.state === 'up' &&
    peer.expires_at > nowMs &&
    (peer.left === null || deps.counts.totalOf(peer.id) - before < peer.left)

  return {
    /** Changes: each is all there is to know about one device. Hearing the same twice changes nothing. */
    take(peers: readonly NodePeer[]): void {
      for (const peer of peers) take(peer)
    },

    /** Everything there is: a device that is not among these is not wanted any more. */
    replace(peers: readonly NodePeer[]): void {
      const named = new Set(peers.map((each) => each.id))
      for (const id of held.keys()) if (!named.has(id)) held.delete(id)
      for (const peer of peers) take(peer)
    },

    ownerOf: (publicKey: string): string | undefined => owners.get(publicKey),

    /** Those that may pass traffic now. A block or key that two of them claim goes to the one that was told first. */
    passing(nowMs: number): NodePeer[] {
      const claimed = new Map<string, string>()
      const mayClaim = (peer: NodePeer): boolean => {
        const claims = [peer.public_key, ...peer.allowed]
        const rival = claims.find((claim) => claimed.has(claim))
        if (rival !== undefined) deps.refuse(peer.id, `has ${rival}, which ${claimed.get(rival)} has already`)
        else for (const claim of claims) claimed.set(claim, peer.id)
        return rival === undefined
      }
      return [...held.values()].flatMap((each) => {
        const isOwner = owners.get(each.peer.public_key) === each.peer.id
        return isOwner && mayPass(each, nowMs) && mayClaim(each.peer) ? [each.peer] : []
      })
    },

    /** Once the device has what was wanted, nothing needs to be known of keys and devices that are off it. */
    forgetAllBut(keysOnDevice: ReadonlySet<string>): void {
      for (const [id, { peer }] of held) if (peer.state === 'down') held.delete(id)
      for (const [key, id] of owners) if (!keysOnDevice.has(key) && !held.has(id)) owners.delete(key)
    },

    get size(): number {
      return held.size
    },
  }
}

function toCanonical(text: string): string[] {
  const prefix = readPrefix(text)
  return prefix ? [toAllowed(prefix)] : []
}

const isSame = (a: NodePeer, b: NodePeer): boolean =>
  a.state === b.state &&
  a.expires_at === b.expires_at &&
  a.left === b.left &&
  a.speed_mbit === b.speed_mbit &&
  a.public_key === b.public_key &&
  a.allowed.join() === b.allowed.join()

function findProblem(peer: NodePeer, networks: readonly TunnelAddress[]): string | undefined {
  if (peer.state === 'down') return undefined
  if (readPublicKey(peer.public_key) === undefined) return 'has no proper public key'
  if (peer.allowed.length === 0) return 'has no address'
  for (const text of peer.allowed) {
    const prefix = readPrefix(text)
    if (!prefix) return `has ${text}, which is not a block of addresses`
    const home = networks.find(({ network }) => contains(network, prefix.base) && prefix.length >= network.length)
    if (!home) return `has ${text}, which is outside the tunnel`
    if (contains(prefix, home.own)) return `has ${text}, which is the node's own`
  }
  return undefined
}
