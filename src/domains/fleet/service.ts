import type { Database, Tx } from '../../db/transaction.ts'
import { makeId, type NodeId, type RandomBytes } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Vault } from '../../kernel/vault.ts'
import { makeKeyPair, type PublicKeyOf } from '../../kernel/wireguard.ts'
import { noSuchNode } from './errors.ts'
import { type Endpoint, isLocationName, type Node, type NodeKind } from './rules.ts'
import * as store from './store.ts'

/** How long a look at the fleet is believed; a node counts as live for far longer. */
const rememberMs = 500

export type Fleet = ReturnType<typeof createFleet>

export type NodeWish = {
  readonly kind: NodeKind
  readonly name: string
  readonly location: string
  readonly countryCode?: string
  readonly city?: string
  readonly endpoint?: Endpoint
}

export function createFleet(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  vault: Vault
  publicKeyOf: PublicKeyOf
}) {
  const { db, clock, random } = deps
  const remembered = new Map<NodeKind, { nodes: Promise<Node[]>; askedAt: number }>()

  return {
    /** Adds a node. The shop makes the keys of a VPN node and keeps the private one sealed until the node fetches it. */
    async add(tx: Tx, wish: NodeWish): Promise<Node> {
      if (!isLocationName(wish.location)) throw new RangeError('a location is small letters, digits and dashes')
      const nowMs = clock()
      const pair = wish.kind === 'vpn' ? makeKeyPair(random, deps.publicKeyOf) : undefined
      const node: Node = {
        id: makeId('node', nowMs, random),
        kind: wish.kind,
        name: wish.name,
        location: wish.location,
        countryCode: wish.countryCode ?? null,
        city: wish.city ?? null,
        endpoint: wish.endpoint ?? null,
        publicKey: pair?.publicKey ?? null,
        state: 'open',
        version: null,
        lastSeenAt: null,
        createdAt: nowMs,
      }
      await store.insertNode(tx, node, pair ? deps.vault.seal(pair.privateKey, contextOf(node.id)) : null)
      remembered.clear()
      return node
    },

    /** All nodes of a kind, as they were at most half a second ago. */
    nodes(kind: NodeKind): Promise<Node[]> {
      const nowMs = clock()
      const entry = remembered.get(kind)
      if (entry && Math.abs(nowMs - entry.askedAt) < rememberMs) return entry.nodes
      const nodes = store.listNodes(db, kind)
      remembered.set(kind, { nodes, askedAt: nowMs })
      nodes.catch(() => remembered.delete(kind))
      return nodes
    },

    /** Notes that a node was heard of. */
    async seen(tx: Tx, id: NodeId, version: string): Promise<void> {
      if (!(await store.markSeen(tx, id, clock(), version))) throw noSuchNode()
      remembered.clear()
    },

    /** The private key that the shop has made for a node, for that node alone. */
    async privateKey(id: NodeId): Promise<string | undefined> {
      const found = await store.findSealedKey(db, id)
      if (!found) throw noSuchNode()
      return found.sealed === null ? undefined : deps.vault.open(found.sealed, contextOf(id))
    },
  }
}

const contextOf = (id: NodeId): string => `node ${id} private key`
