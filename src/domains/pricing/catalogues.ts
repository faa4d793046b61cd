import { Refusal } from '../../core/refusal.ts'
import type { Clock } from '../../core/time.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import type { Database, Reader, Tx } from '../../db/transaction.ts'
import { readCatalogue } from './read.ts'
import type { Catalogue } from './rules.ts'
import { difference, effectsOf as effectsBetween, type HeldGoods, type PriceEffect } from './rules-effects.ts'
import * as store from './store.ts'

/** How long a price list is believed to be the latest. An order names the version it was priced with in any case. */
const cacheTtlMs = 500
const maxVersionsKept = 100

type PricingDeps = ReturnType<typeof withCaches>

export function withCaches(given: { db: Database; clock: Clock }) {
  const kept = new Map<number, Catalogue>()
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
function parse(kept: PricingDeps['kept'], stored: store.StoredCatalogue): Catalogue {
  const known = kept.get(stored.version)
  if (known) return known
  const catalogue = readCatalogue(stored.version, JSON.parse(stored.text))
  if (kept.size >= maxVersionsKept) kept.clear()
  kept.set(stored.version, catalogue)
  return catalogue
}

/** The price list in force, at most half a second old, or the promised version. */
export async function current(deps: PricingDeps, promised?: number): Promise<Catalogue> {
  const catalogue = await (promised === undefined ? deps.latest.get(undefined) : version(deps, deps.db, promised))
  if (!catalogue) throw new Refusal('no_prices', {}, { charged: false })
  return catalogue
}

/** The same; undefined if there is none yet. */
export const find = (deps: PricingDeps): Promise<Catalogue | undefined> => deps.latest.get(undefined)

/** A price list by its version. */
export async function version(deps: PricingDeps, reader: Reader, wanted: number): Promise<Catalogue | undefined> {
  const known = deps.kept.get(wanted)
  const stored = known ? undefined : await store.findVersion(reader, wanted)
  return known ?? (stored && parse(deps.kept, stored))
}

/** Puts a price list in force, given as plain JSON. It is validated before anything is written. */
export async function apply(deps: PricingDeps, tx: Tx, value: unknown): Promise<number> {
  const before = await store.findLatest(tx)
  const next = (before?.version ?? 0) + 1
  readCatalogue(next, value)
  await store.insertVersion(tx, { version: next, text: JSON.stringify(value), appliedAt: deps.clock() })
  deps.latest.clear()
  return next
}

/** Puts a price list in force. Returns its version and each leaf that it has changed. */
export async function applyShown(deps: PricingDeps, tx: Tx, value: unknown) {
  const before = await store.findLatest(tx)
  return { changes: difference(before && JSON.parse(before.text), value), version: await apply(deps, tx, value) }
}

/** The newest versions, newest first, each with its changes to the one before; the oldest of all has none. */
export async function history(deps: PricingDeps, limit: number) {
  const found = await store.listNewest(deps.db, limit + 1)
  return found.slice(0, limit).map(({ version: number, appliedAt, text }, index) => {
    const before = found[index + 1]
    return { version: number, appliedAt, changes: before ? difference(JSON.parse(before.text), JSON.parse(text)) : [] }
  })
}

/** Validates a price list without applying it. Returns each leaf that it would change. */
export async function changesOf(deps: PricingDeps, value: unknown): Promise<string[]> {
  readCatalogue(0, value)
  const stored = await store.findLatest(deps.db)
  return difference(stored && JSON.parse(stored.text), value)
}

/** The effects of a price list on present holders. */
export async function effectsOf(deps: PricingDeps, value: unknown, held: readonly HeldGoods[]): Promise<PriceEffect[]> {
  const after = readCatalogue(0, value)
  const before = await store.findLatest(deps.db)
  return before ? effectsBetween(parse(deps.kept, before), after, held) : []
}

/** A price list as it was applied; the latest without a number. */
export async function show(deps: PricingDeps, wanted?: number) {
  const stored = wanted === undefined ? await store.findLatest(deps.db) : await store.findVersion(deps.db, wanted)
  if (!stored) return undefined
  const value: unknown = JSON.parse(stored.text)
  return { version: stored.version, value, appliedAt: stored.appliedAt }
}

export const versions = (deps: PricingDeps) => store.listVersions(deps.db)
