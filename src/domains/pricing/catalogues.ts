import type { Clock } from '../../core/time.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { noCatalogue } from './errors.ts'
import { readCatalogue } from './read.ts'
import type { Catalogue } from './rules.ts'
import { difference, effectsOf, type HeldGoods, type PriceEffect } from './rules-effects.ts'
import * as store from './store.ts'

/** How long a price list is believed to be the latest. An order names the version it was priced with in any case. */
const cacheTtlMs = 500
const mostVersionsKept = 100

export type Pricing = ReturnType<typeof createPricing>

export function createPricing(deps: { db: Database; clock: Clock }) {
  const { db, clock } = deps
  const versions = new Map<number, Catalogue>()

  function parse(stored: store.StoredCatalogue): Catalogue {
    const known = versions.get(stored.version)
    if (known) return known
    const catalogue = readCatalogue(stored.version, JSON.parse(stored.text))
    if (versions.size >= mostVersionsKept) versions.clear()
    versions.set(stored.version, catalogue)
    return catalogue
  }

  async function findVersion(reader: Reader, version: number): Promise<Catalogue | undefined> {
    const known = versions.get(version)
    if (known) return known
    const stored = await store.findVersion(reader, version)
    return stored && parse(stored)
  }

  const latest = createTtlCache({
    async load(): Promise<Catalogue | undefined> {
      const stored = await store.findLatest(db)
      return stored && parse(stored)
    },
    clock,
    ttlMs: cacheTtlMs,
    maxEntries: 1,
    shouldKeep: (catalogue) => catalogue !== undefined,
  })

  return {
    /** The price list in force, at most half a second old, or the promised version. */
    async current(promised?: number): Promise<Catalogue> {
      const catalogue = await (promised === undefined ? latest.get(undefined) : findVersion(db, promised))
      if (!catalogue) throw noCatalogue()
      return catalogue
    },

    /** The same; undefined if there is none yet. */
    find: (): Promise<Catalogue | undefined> => latest.get(undefined),

    version: findVersion,

    /** Puts a price list in force, given as plain JSON. It is validated before anything is written. */
    async apply(tx: Tx, value: unknown): Promise<number> {
      const before = await store.findLatest(tx)
      const version = (before?.version ?? 0) + 1
      readCatalogue(version, value)
      await store.insertVersion(tx, { version, text: JSON.stringify(value), appliedAt: clock() })
      latest.clear()
      return version
    },

    /** Validates a price list without applying it. Returns each leaf that it would change. */
    async changesOf(value: unknown): Promise<string[]> {
      readCatalogue(0, value)
      const stored = await store.findLatest(db)
      return difference(stored && JSON.parse(stored.text), value)
    },

    /** The effects of a price list on present holders. */
    async effectsOf(value: unknown, held: readonly HeldGoods[]): Promise<PriceEffect[]> {
      const after = readCatalogue(0, value)
      const before = await store.findLatest(db)
      return before ? effectsOf(parse(before), after, held) : []
    },

    /** A price list as it was applied; the latest without a number. */
    async show(version?: number): Promise<{ version: number; value: unknown; appliedAt: number } | undefined> {
      const stored = version === undefined ? await store.findLatest(db) : await store.findVersion(db, version)
      if (!stored) return undefined
      const value: unknown = JSON.parse(stored.text)
      return { version: stored.version, value, appliedAt: stored.appliedAt }
    },

    versions: () => store.listVersions(db),
  }
}
