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

/** The node's address inside the tunnel, and its network. */
export type TunnelAddress = { readonly text: string; readonly own: Address; readonly network: Prefix }

/** Parses `10.66.0.1/16`. */
export function readTunnelAddress(text: string): TunnelAddress | undefined {
  const [addressText = '', lengthText = '', ...rest] = text.split('/')
  const address = readAddress(addressText)
  if (!address || rest.length > 0 || !/^[1-9]\d{0,2}$/.test(lengthText)) return undefined
  const [max, length] = [address.bytes.length * 8, Number(lengthText)]
  if (length > max) return undefined
  const hostBits = BigInt(max - length)
  const base = addressFromNumber(address.version, (addressToNumber(address) >> hostBits) << hostBits)
  return { text: `${addressText}/${length}`, own: address, network: { base, length } }
}

/** A validated peer with canonical addresses. */
type Held = {
  readonly peer: NodePeer
  /** Total when the shop reported `left`. */
  readonly usedBefore: number
}

/** The desired peers. Decides by itself when a peer's time or traffic is used up. */
export class DesiredPeers {
  private readonly held = new Map<string, Held>()
  /** Owner of each key; the last one named wins. */
  private readonly owners = new Map<string, string>()

  constructor(
    private readonly deps: {
      readonly networks: readonly TunnelAddress[]
      readonly counts: Pick<PeerCounts, 'totalOf' | 'takenOf'>
      readonly refuse: (id: string, problem: string) => void
    },
  ) {}

  take(peers: readonly NodePeer[]): void {
    for (const peer of peers) this.put(peer)
  }

  /** The complete list: other peers are dropped. */
  replace(peers: readonly NodePeer[]): void {
    const named = new Set(peers.map((each) => each.id))
    for (const id of this.held.keys()) if (!named.has(id)) this.held.delete(id)
    for (const peer of peers) this.put(peer)
  }

  ownerOf(publicKey: string): string | undefined {
    return this.owners.get(publicKey)
  }

  /** Peers that may pass now. Of two with the same key or block, the first wins. */
  passing(nowMs: number): NodePeer[] {
    const claimed = new Map<string, string>()
    const mayClaim = (peer: NodePeer): boolean => {
      const claims = [peer.public_key, ...peer.allowed]
      const rival = claims.find((claim) => claimed.has(claim))
      if (rival !== undefined) this.deps.refuse(peer.id, `has ${rival}, which ${claimed.get(rival)} has already`)
      else for (const claim of claims) claimed.set(claim, peer.id)
      return rival === undefined
    }
    return [...this.held.values()].flatMap((each) => {
      const isOwner = this.owners.get(each.peer.public_key) === each.peer.id
      return isOwner && this.mayPass(each, nowMs) && mayClaim(each.peer) ? [each.peer] : []
    })
  }

  /** Drops peers and keys that are off the device. */
  forgetAllBut(keysOnDevice: ReadonlySet<string>): void {
    for (const [id, { peer }] of this.held) if (peer.state === 'down') this.held.delete(id)
    for (const [key, id] of this.owners) if (!keysOnDevice.has(key) && !this.held.has(id)) this.owners.delete(key)
  }

  get size(): number {
    return this.held.size
  }

  private put(peer: NodePeer): void {
    const before = this.held.get(peer.id)
    if (Bun.deepEquals(before?.peer, peer) && this.owners.get(peer.public_key) === peer.id) return
    const problem = findProblem(peer, this.deps.networks)
    if (problem !== undefined) {
      this.deps.refuse(peer.id, problem)
      this.held.delete(peer.id)
      return
    }
    // `left` is relative to the total that the shop knew. A repeated value must not grant the bytes used in between.
    const usedBefore = before?.peer.left === peer.left ? before.usedBefore : this.deps.counts.takenOf(peer.id)
    const allowed = peer.allowed.flatMap((text) => readPrefix(text) ?? []).map(toAllowed)
    this.held.set(peer.id, { peer: { ...peer, allowed }, usedBefore })
    if (peer.state === 'up') this.owners.set(peer.public_key, peer.id)
  }

  private mayPass({ peer, usedBefore: before }: Held, nowMs: number): boolean {
    return (
      peer.state === 'up' &&
      peer.expires_at > nowMs &&
      (peer.left === null || this.deps.counts.totalOf(peer.id) - before < peer.left)
    )
  }
}

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
