import type { Database, Tx } from '../../db/transaction.ts'
import { makeId, type NodeId, type RandomBytes } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Vault } from '../../kernel/vault.ts'
import { makeKeyPair, type PublicKeyOf } from '../../kernel/wireguard.ts'
import { nameTaken, noSuchNode } from './errors.ts'
import { type Endpoint, type Health, isLocationName, isNodeName, type Node, type NodeKind } from './rules.ts'
import { createEntry } from './service-entry.ts'
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
  sha256: (text: string) => Uint8Array
  vault: Vault
  publicKeyOf: PublicKeyOf
}) {
  const { db, clock, random } = deps
  const remembered = new Map<NodeKind, { nodes: Promise<Node[]>; askedAt: number }>()

  return {
    ...createEntry({ ...deps, changed: () => remembered.clear() }),

    /**
     * Adds a node. The shop makes the keys of a VPN node and keeps the private one sealed until the node fetches it.
     */
    async add(tx: Tx, wish: NodeWish): Promise<Node> {
      if (!isLocationName(wish.location)) throw new RangeError('a location is small letters, digits and dashes')
      if (!isNodeName(wish.name)) throw new RangeError('a node is named like a host')
      if (await store.findByName(tx, wish.name)) throw nameTaken()
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
        joinedAt: null,
        key: null,
        health: null,
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

    findByName: (name: string): Promise<Node | undefined> => store.findByName(db, name),

    /** Notes that a node was heard of, and what it said of itself. */
    async seen(id: NodeId, said: { version: string; health?: Health | undefined }): Promise<void> {
      await db.transact(async (tx) => {
        if (!(await store.markSeen(tx, id, clock(), said.version))) throw noSuchNode()
        if (said.health) store.writeHealth(tx, id, said.health)
      })
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
