import { makeId, type NodeId, type RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import { makeKeyPair, type PublicKeyOf } from '../../core/wireguard.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { nameTaken, noSuchNode } from './errors.ts'
import {
  contextOf,
  type Endpoint,
  type Health,
  isLocationName,
  isNodeName,
  type Node,
  type NodeKind,
  usualLinkMegabits,
} from './rules.ts'
import { createEntry } from './service-entry.ts'
import * as store from './store.ts'

/** How long a look at the fleet is believed; a node counts as live for far longer. */
const cacheTtlMs = 500
const nodeKinds = 2

export type Fleet = ReturnType<typeof createFleet>

export type NewNode = {
  readonly kind: NodeKind
  readonly name: string
  readonly location: string
  readonly countryCode?: string
  readonly city?: string
  readonly endpoint?: Endpoint
  readonly linkMegabits?: number
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
  const lists = createTtlCache({
    load: (kind: NodeKind) => store.listNodes(db, kind),
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: nodeKinds,
  })

  return {
    ...createEntry({ ...deps, changed: lists.clear }),

    /**
     * Adds a node. The shop makes the keys of a VPN node and keeps the private one sealed until the node fetches it.
     */
    async add(tx: Tx, asked: NewNode): Promise<Node> {
      if (!isLocationName(asked.location)) throw new RangeError('a location is small letters, digits and dashes')
      if (!isNodeName(asked.name)) throw new RangeError('a node is named like a host')
      if (await store.findByName(tx, asked.name)) throw nameTaken()
      const nowMs = clock()
      const pair = asked.kind === 'vpn' ? makeKeyPair(random, deps.publicKeyOf) : undefined
      const node: Node = {
        id: makeId('node', nowMs, random),
        kind: asked.kind,
        name: asked.name,
        location: asked.location,
        countryCode: asked.countryCode ?? null,
        city: asked.city ?? null,
        endpoint: asked.endpoint ?? null,
        publicKey: pair?.publicKey ?? null,
        state: 'open',
        version: null,
        lastSeenAt: null,
        createdAt: nowMs,
        joinedAt: null,
        key: null,
        health: null,
        linkMegabits: asked.linkMegabits ?? usualLinkMegabits,
        drainedAt: null,
      }
      await store.insertNode(tx, node, pair ? deps.vault.seal(pair.privateKey, contextOf(node.id)) : null)
      lists.clear()
      return node
    },

    /** All nodes of a kind, as they were at most half a second ago. */
    nodes: (kind: NodeKind): Promise<Node[]> => lists.get(kind),

    /** What a node can carry, for who judges its claims. */
    findLink: async (reader: Reader, id: string): Promise<{ megabits: number; joinedAt: number | null }> =>
      (await store.findLink(reader, id)) ?? { megabits: usualLinkMegabits, joinedAt: null },

    findByName: (name: string): Promise<Node | undefined> => store.findByName(db, name),

    /** Notes that a node was heard of, and what it said of itself. */
    async seen(id: NodeId, said: { version: string; health?: Health | undefined }): Promise<void> {
      await db.transact(async (tx) => {
        if (!(await store.markSeen(tx, id, clock(), said.version))) throw noSuchNode()
        if (said.health) store.writeHealth(tx, id, said.health)
      })
      lists.clear()
    },

    /** The private key that the shop has made for a node, for that node alone. */
    async privateKey(id: NodeId): Promise<string | undefined> {
      const found = await store.findSealedKey(db, id)
      if (!found) throw noSuchNode()
      return found.sealed === null ? undefined : deps.vault.open(found.sealed, contextOf(id))
    },
  }
}
