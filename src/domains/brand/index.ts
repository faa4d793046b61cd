import { bind } from '../../core/bind.ts'
import { createTtlCache } from '../../core/ttl-cache.ts'
import {
  announce,
  announced,
  type BrandDeps,
  current,
  image,
  load,
  previewLines,
  setImage,
  setLines,
  setText,
} from './manage.ts'

export type Brands = ReturnType<typeof createBrands>

/** Other shops of the database see a change after so long. */
const keptMs = 2_000

export function createBrands(given: Omit<BrandDeps, 'kept'>) {
  const kept = createTtlCache({ load: () => load(given), clock: given.clock, ttlMs: keptMs, maxEntries: 1 })
  return bind({ ...given, kept }, { announce, announced, current, image, previewLines, setLines, setText, setImage })
}
