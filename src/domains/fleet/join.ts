import { makeId, type NodeId, type RandomBytes } from '../../core/ids.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import { makeKeyPair, type PublicKeyOf } from '../../core/wireguard.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { invalidJoinKey, invalidNodeSecret, noSuchNode } from './errors.ts'
import type { Forgotten, NodeSide } from './nodes.ts'
import {
  contextOf,
  type Endpoint,
  type Health,
  isLocationName,
  isNodeName,
  isSecretText,
  keyLastsMs,
  keyRandomBytes,
  makeKeyText,
  type Node,
  type NodeKind,
  usualLinkMegabits,
} from './rules.ts'
import * as store from './store.ts'

/** How long a look-up is cached. A revocation in another process takes effect after this long at most. */
const cacheTtlMs = 500
const nodeKinds = 2
const maxCached = 10_000

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

/** The nodes: how they are added, join, authenticate and are kept out. */
export function createFleet(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Vault
  publicKeyOf: PublicKeyOf
}) {
  const { db, clock, random, sha256 } = deps
  const lists = createTtlCache({
    load: (kind: NodeKind) => store.listNodes(db, kind),
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: nodeKinds,
  })
  /** Unknown secrets are not cached. */
  const secrets = createTtlCache({
    load: (text: string) => store.findBySecret(db, sha256(text)),
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
    shouldKeep: (found) => found !== undefined,
  })

  function forget(): void {
    secrets.clear()
    lists.clear()
  }

  async function change(name: string, work: (tx: Tx, node: Node) => Promise<void>): Promise<Node> {
    const node = await db.transact(async (tx) => {
      const found = await store.findByName(tx, name)
      if (!found) throw noSuchNode()
      await work(tx, found)
      return (await store.findByName(tx, name)) ?? found
    })
    forget()
    return node
  }

  return {
    /** Adds a node. The shop makes the key pair of a VPN node and keeps the private key sealed until it is fetched. */
    async add(tx: Tx, asked: NewNode): Promise<Node> {
      if (!isLocationName(asked.location)) throw new RangeError('a location is small letters, digits and dashes')
      if (!isNodeName(asked.name)) throw new RangeError('a node is named like a host')
      if (await store.findByName(tx, asked.name)) throw new Refusal('node_name_taken')
      const nowMs = clock()
      const pair = asked.kind === 'vpn' ? makeKeyPair(random, deps.publicKeyOf) : undefined
      const node: Node = {
        countryCode: null,
        city: null,
        endpoint: null,
        linkMegabits: usualLinkMegabits,
        ...asked,
        id: makeId('node', nowMs, random),
        publicKey: pair?.publicKey ?? null,
        state: 'open',
        version: null,
        lastSeenAt: null,
        createdAt: nowMs,
        joinedAt: null,
        key: null,
        health: null,
        drainedAt: null,
      }
      await store.insertNode(tx, node, pair ? deps.vault.seal(pair.privateKey, contextOf(node.id)) : null)
      lists.clear()
      return node
    },

    /** All nodes of a kind, at most half a second old. */
    nodes: (kind: NodeKind): Promise<Node[]> => lists.get(kind),

    /** A node's bandwidth, which limits what it can claim to have carried. */
    findLink: async (reader: Reader, id: string): Promise<{ megabits: number; joinedAt: number | null }> =>
      (await store.findLink(reader, id)) ?? { megabits: usualLinkMegabits, joinedAt: null },

    findByName: (name: string): Promise<Node | undefined> => store.findByName(db, name),

    /** Records a node's call and its report of itself. */
    async seen(id: NodeId, report: { version: string; health?: Health | undefined }): Promise<void> {
      await db.transact(async (tx) => {
        if (!(await store.markSeen(tx, id, clock(), report.version))) throw noSuchNode()
        if (report.health) store.writeHealth(tx, id, report.health)
      })
      lists.clear()
    },

    /** The private key that the shop has made for a node, for that node alone. */
    async privateKey(id: NodeId): Promise<string | undefined> {
      const found = await store.findSealedKey(db, id)
      if (!found) throw noSuchNode()
      return found.sealed === null ? undefined : deps.vault.open(found.sealed, contextOf(id))
    },

    /**
     * A join key: it works once, within a day, and replaces the one before. Its text is in this answer only. The secret
     * of an earlier join stays valid until another join replaces it.
     */
    async issueKey(name: string): Promise<{ text: string; node: Node }> {
      const text = makeKeyText(random(keyRandomBytes))
      const node = await change(name, async (tx, found) => {
        if (found.state === 'closed') throw new Refusal('node_closed')
        await store.writeKey(tx, found.id, sha256(text), clock() + keyLastsMs)
      })
      return { text, node }
    },

    /**
     * Lets a node in with a join key and the secret that it will authenticate with. The same key with the same secret
     * may be repeated until the key expires, after a lost answer; with another secret it is refused.
     */
    async join(key: string, secret: string, version: string): Promise<Node> {
      if (!isSecretText(secret)) throw invalidJoinKey()
      const node = await db.transact(async (tx) => {
        const nowMs = clock()
        const found = await store.lockByKey(tx, sha256(key))
        if (!found?.node.key || found.node.key.expiresAt <= nowMs || found.node.state === 'closed') {
          throw invalidJoinKey()
        }
        const digest = sha256(secret)
        if (found.node.key.usedAt !== null) {
          if (!found.secretDigest || !sameBytes(found.secretDigest, digest)) throw invalidJoinKey()
          return found.node
        }
        const owner = await store.findBySecret(tx, digest)
        if (owner && owner.node.id !== found.node.id) throw invalidJoinKey()
        await store.writeJoin(tx, found.node.id, digest, nowMs)
        await store.markSeen(tx, found.node.id, nowMs, version)
        return found.node
      })
      forget()
      return node
    },

    /** The node of a secret. A malformed secret costs no look-up. */
    async authenticate(secret: string | undefined): Promise<Node> {
      if (secret === undefined || !isSecretText(secret)) throw invalidNodeSecret()
      const known = await secrets.get(secret)
      if (!known || !sameBytes(known.digest, sha256(secret)) || known.node.state === 'closed') {
        throw invalidNodeSecret()
      }
      return known.node
    },

    /** Closes a node and deletes its secret and its key. If it is opened again, it needs a new key. */
    revoke: (name: string): Promise<Node> =>
      change(name, async (tx, node) => {
        await store.setState(tx, node.id, 'closed', clock())
        await store.forgetSecrets(tx, node.id)
      }),

    async loadClosed(name: string): Promise<Node> {
      const node = await store.findByName(db, name)
      if (!node) throw noSuchNode()
      if (node.state !== 'closed') throw new Refusal('node_open', { name })
      return node
    },

    /** Sets a node's bandwidth. It applies to claims from now on. */
    setLink: (name: string, megabits: number): Promise<Node> =>
      change(name, (tx, node) => store.setLink(tx, node.id, megabits)),

    /** Keeps a node out until it is opened; its secret stays. */
    close: (name: string): Promise<Node> => change(name, (tx, node) => store.setState(tx, node.id, 'closed', clock())),

    open: (name: string): Promise<Node> => change(name, (tx, node) => store.setState(tx, node.id, 'open', clock())),

    /** Drains a node, or ends that: it gets nothing new and its goods move elsewhere, but it keeps serving them. */
    drain: (name: string, drained: boolean): Promise<Node> =>
      change(name, (tx, node) => store.setDrained(tx, node.id, drained ? clock() : null)),
  }
}

/** Gives customers back all that a closed node has claimed to have carried for them since a moment. */
export const createForgetting =
  (deps: { readonly fleet: Pick<Fleet, 'loadClosed'>; readonly nodeSides: readonly NodeSide[] }) =>
  async (name: string, sinceAt: number, dryRun: boolean): Promise<Forgotten & { readonly node: Node }> => {
    const node = await deps.fleet.loadClosed(name)
    let [things, bytes] = [0, 0n]
    for (const side of deps.nodeSides.filter((each) => each.kind === node.kind)) {
      const forgotten = await side.forgetUsage(node.id, sinceAt, dryRun)
      things += forgotten.things
      bytes += forgotten.bytes
    }
    return { node, things, bytes }
  }
