import { toRoubles } from '../../../core/money.ts'
import { toIso } from '../../../core/time.ts'
import { orRefuse } from '../../answers.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import { applyCatalogue, compareCatalogue, getCatalogue, listCatalogues } from './shapes.ts'

export function adminCatalogueOperations(bind: BindAdmin, deps: AdminDeps) {
  const { pricing } = deps
  return [
    bind(getCatalogue, async ({ query }) => {
      const shown = orRefuse(await pricing.show(query.version), 'price_list_not_found')
      const catalogue = shown.value as Record<string, unknown>
      return { version: shown.version, applied_at: toIso(shown.appliedAt), catalogue }
    }),
    bind(listCatalogues, async () => ({
      items: (await pricing.versions()).map((each) => ({ version: each.version, applied_at: toIso(each.appliedAt) })),
    })),
    bind(compareCatalogue, async ({ body }) => ({
      changes: await pricing.changesOf(body.catalogue),
      effects: (await deps.effectsOf(body.catalogue)).map(({ goods, before, after, ...counts }) => ({
        product: goods.product,
        country: goods.product === 'dedicated' ? goods.country : null,
        ipv: goods.product === 'dedicated' ? goods.ipv : null,
        pool: goods.product === 'premium' ? goods.pool : null,
        ...counts,
        before_rub: toRoubles(before),
        after_rub: toRoubles(after),
      })),
    })),
    bind(applyCatalogue, async ({ body }) => {
      const changes = await pricing.changesOf(body.catalogue)
      return { version: changes.length === 0 ? null : await deps.applyCatalogue(body.catalogue), changes }
    }),
  ]
}
