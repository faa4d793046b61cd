import type { RandomBytes } from '../../core/ids.ts'
import type { Clock } from '../../core/time.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Vault } from '../../core/vault.ts'
import type { PublicKeyOf } from '../../core/wireguard.ts'
import type { Database } from '../../db/transaction.ts'
import type { NodeKind } from './rules.ts'
import * as store from './store.ts'

/** How long a look-up is cached. A revocation in another process takes effect after this long at most. */
const cacheTtlMs = 500
const nodeKinds = 2
const maxCached = 10_000

type Given = {
  db: Database
  clock: Clock
  random: RandomBytes
  sha256: (text: string) => Uint8Array
  vault: Vault
  publicKeyOf: PublicKeyOf
}

export type FleetDeps = ReturnType<typeof withCaches>

export const withCaches = (given: Given) => ({
  ...given,
  lists: createTtlCache({
    load: (kind: NodeKind) => store.listNodes(given.db, kind),
    clock: given.clock,
    ttlMs: cacheTtlMs,
    maxEntries: nodeKinds,
  }),
  /** Unknown secrets are not cached. */
  secrets: createTtlCache({
    load: (text: string) => store.findBySecret(given.db, given.sha256(text)),
    clock: given.clock,
    ttlMs: cacheTtlMs,
    maxEntries: maxCached,
    shouldKeep: (found) => found !== undefined,
  }),
})
