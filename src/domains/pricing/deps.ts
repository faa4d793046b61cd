import type { Clock } from '../../core/time.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database } from '../../db/transaction.ts'
import { readCatalogue } from './read.ts'
import type { Catalogue } from './rules.ts'
import * as store from './store.ts'

/** How long a price list is believed to be the latest. An order names the version it was priced with in any case. */
const cacheTtlMs = 500
const maxVersionsKept = 100

type KeptVersions = Map<number, Catalogue>

export type PricingDeps = ReturnType<typeof withCaches>

export function withCaches(given: { db: Database; clock: Clock }) {
  const kept: KeptVersions = new Map()
  const latest = createTtlCache({
    async load(): Promise<Catalogue | undefined> {
      const stored = await store.findLatest(given.db)
      return stored && parse(kept, stored)
    },
    clock: given.clock,
    ttlMs: cacheTtlMs,
    maxEntries: 1,
    shouldKeep: (catalogue) => catalogue !== undefined,
  })
  return { ...given, kept, latest }
}

/** Parses a stored price list, or returns the parsed one that is kept. */
export function parse(kept: KeptVersions, stored: store.StoredCatalogue): Catalogue {
  const known = kept.get(stored.version)
  if (known) return known
  const catalogue = readCatalogue(stored.version, JSON.parse(stored.text))
  if (kept.size >= maxVersionsKept) kept.clear()
  kept.set(stored.version, catalogue)
  return catalogue
}
