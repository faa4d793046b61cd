import type { RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { sameBytes } from '../../core/token-text.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, Tx } from '../../db/transaction.ts'
import { invalidJoinKey, invalidNodeSecret, nodeClosed, nodeOpen, noSuchNode } from './errors.ts'
import { isSecretText, keyLastsMs, keyRandomBytes, makeKeyText, type Node } from './rules.ts'
import * as store from './store.ts'

/** How long a look-up is believed. A revocation in another process is known after this long at most. */
const cacheTtlMs = 500
const maxCached = 10_000

/** How nodes get in and are kept out. `changed` is called whenever a node is no more what it was. */
export function createEntry(deps: {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  changed: () => void
}) {
  const { db, clock } = deps
  /** Many requests of one node share a look-up. What is nobody's secret is forgotten at once. */
  const secrets = createTtlCache({
    load: (text: string) => store.findBySecret(db, deps.sha256(text)),
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
    shouldKeep: (found) => found !== undefined,
  })

  function forget(): void {
    secrets.clear()
    deps.changed()
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
    /**
     * A key that lets this node join, once and within a day. Its text is in the answer and nowhere else; the key before
     * it opens nothing any more. A secret that the node has joined with stays good until another join replaces it.
     */
    async issueKey(name: string): Promise<{ text: string; node: Node }> {
      const text = makeKeyText(deps.random(keyRandomBytes))
      const node = await change(name, async (tx, found) => {
        if (found.state === 'closed') throw nodeClosed()
        await store.writeKey(tx, found.id, deps.sha256(text), clock() + keyLastsMs)
      })
      return { text, node }
    },

    /**
     * Lets a node in that brings a key and the secret it will show from now on. The same two again are let in again
     * until the key expires, so an answer that was lost is mended by asking once more; the same key with another secret
     * is not.
     */
    async join(key: string, secret: string, version: string): Promise<Node> {
      if (!isSecretText(secret)) throw invalidJoinKey()
      const node = await db.transact(async (tx) => {
        const nowMs = clock()
        const found = await store.lockByKey(tx, deps.sha256(key))
        if (!found?.node.key || found.node.key.expiresAt <= nowMs || found.node.state === 'closed') {
          throw invalidJoinKey()
        }
        const digest = deps.sha256(secret)
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

    /** Which node shows this secret. Its shape is looked at before the database is. */
    async authenticate(secret: string | undefined): Promise<Node> {
      if (secret === undefined || !isSecretText(secret)) throw invalidNodeSecret()
      const known = await secrets.get(secret)
      if (!known || !sameBytes(known.digest, deps.sha256(secret)) || known.node.state === 'closed') {
        throw invalidNodeSecret()
      }
      return known.node
    },

    /**
     * Shuts a node out for good: it is closed, and its secret and its key are forgotten. Opened again it needs a new
     * key.
     */
    revoke: (name: string): Promise<Node> =>
      change(name, async (tx, node) => {
        await store.setState(tx, node.id, 'closed', clock())
        await store.forgetSecrets(tx, node.id)
      }),

    /** A node that is shut out, so that what it has claimed can be judged as a whole. */
    async loadClosed(name: string): Promise<Node> {
      const node = await store.findByName(db, name)
      if (!node) throw noSuchNode()
      if (node.state !== 'closed') throw nodeOpen(name)
      return node
    },

    /** Says what a node's network carries at most. It holds for claims from now on. */
    setLink: (name: string, megabits: number): Promise<Node> =>
      change(name, (tx, node) => store.setLink(tx, node.id, megabits)),

    /** Shuts a node out until it is opened; its secret is good again then. */
    close: (name: string): Promise<Node> => change(name, (tx, node) => store.setState(tx, node.id, 'closed', clock())),

    open: (name: string): Promise<Node> => change(name, (tx, node) => store.setState(tx, node.id, 'open', clock())),

    /**
     * Takes a node out of use by and by, or puts it back: nothing new comes to it, and what it has goes elsewhere. It
     * goes on to carry what is still there.
     */
    drain: (name: string, drained: boolean): Promise<Node> =>
      change(name, (tx, node) => store.setDrained(tx, node.id, drained ? clock() : null)),
  }
}
