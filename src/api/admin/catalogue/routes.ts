import { toRoubles } from '../../../core/money.ts'
import { refuseField } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { orRefuse } from '../../answers.ts'
import { z } from '../../operation.ts'
import type { AdminDeps, BindAdmin } from '../bind.ts'
import { readRequest } from '../operators/shapes.ts'
import { readPriceListText } from './price-list-text.ts'
import { applyCatalogue, compareCatalogue, convertCatalogue, getCatalogue, listCatalogues } from './shapes.ts'

function readYaml(text: string): Record<string, unknown> {
  const read = readPriceListText(text)
  if ('key' in read) throw refuseField('text', 'key_twice', { key: read.key })
  const value = 'value' in read ? read.value : undefined
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMap) throw refuseField('text', 'not_yaml')
  return { ...value }
}

const maxVersions = 100
const maxChanges = 10

/** The newest versions with their operators, by the audit log, and their first changes. */
async function listVersions({ pricing, operators }: AdminDeps) {
  const log = await operators.log({
    before: undefined,
    operator: undefined,
    action: 'applyCatalogue',
    limit: maxVersions,
  })
  const names = new Map(
    log.flatMap((entry) => {
      const { outcome } = readRequest(entry)
      const version = z.object({ version: z.number() }).safeParse(outcome)
      return version.success ? [[version.data.version, entry.name] as const] : []
    }),
  )
  return (await pricing.history(maxVersions)).map(({ version, appliedAt, changes }) => ({
    version,
    applied_at: toIso(appliedAt),
    applied_by: names.get(version) ?? null,
    change_count: changes.length,
    changes: changes.slice(0, maxChanges),
  }))
}

export function adminCatalogueOperations(bind: BindAdmin, deps: AdminDeps) {
  const { pricing } = deps
  return [
    bind(getCatalogue, async ({ query }) => {
      const shown = orRefuse(await pricing.show(query.version), 'price_list_not_found')
      const catalogue = shown.value as Record<string, unknown>
      return { version: shown.version, applied_at: toIso(shown.appliedAt), catalogue }
    }),
    bind(listCatalogues, async () => ({
      items: await listVersions(deps),
    })),
    bind(convertCatalogue, async ({ body }) => {
      const catalogue = readYaml(body.text)
      return { catalogue, yaml: `${Bun.YAML.stringify(catalogue, null, 2)}\n` }
    }),
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
      if (changes.length === 0) return { version: null, changes }
      const applied = await deps.applyCatalogue(body.catalogue)
      await deps.vpn.recheckGroups()
      return applied
    }),
  ]
}
