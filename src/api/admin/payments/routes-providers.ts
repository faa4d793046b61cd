import { toRoubles } from '../../../core/money.ts'
import type { Providers } from '../../../domains/payments/index.ts'
import type { Bound } from '../../bind.ts'
import type { AdminCaller, BindAdmin } from '../bind.ts'
import { isoOrNull } from '../fields.ts'
import * as shapes from './shapes-providers.ts'

const toProvider = (
  { kind, set }: Awaited<ReturnType<Providers['list']>>[number],
  health: ReturnType<Providers['healthOf']>,
): shapes.ProviderSight => ({
  name: kind.name,
  state: set === undefined ? 'not_set_up' : set.isEnabled ? 'enabled' : 'disabled',
  settings: { ...set?.terms.settings },
  wants: kind.settings.map((each) => ({ name: each.name, meaning: each.meaning, required: each.isRequired })),
  wants_secret: kind.needsSecret,
  methods: (set?.terms.methods ?? []).map((each) => ({
    method: each.method,
    min_rub: toRoubles(each.min),
    max_rub: toRoubles(each.max),
    fee_percent: each.feeHundredths / 100,
  })),
  health: set?.connection
    ? { answered_at: isoOrNull(health.answeredAt), failed_at: isoOrNull(health.failedAt), failure: health.failure }
    : null,
})

export function adminProviderOperations(bind: BindAdmin, providers: Providers): readonly Bound<AdminCaller>[] {
  const texts = (of: Readonly<Record<string, string | number>>): ReadonlyMap<string, string> =>
    new Map(Object.entries(of).map(([name, value]) => [name, String(value)]))
  const show = async (name: string) => {
    const found = (await providers.list()).find((each) => each.kind.name === name)
    if (!found) throw new Error('a provider was set and is not there')
    return toProvider(found, providers.healthOf(name))
  }
  const switching = (operation: typeof shapes.enableProvider, isEnabled: boolean) =>
    bind(operation, async ({ params }) => {
      await providers.enable(params.name, isEnabled)
      return show(params.name)
    })
  return [
    bind(shapes.listProviders, async () => ({
      items: (await providers.list()).map((each) => toProvider(each, providers.healthOf(each.kind.name))),
    })),
    bind(shapes.setProvider, async ({ params, body }) => {
      await providers.set(params.name, {
        settings: texts(body.settings),
        methods: body.methods,
        min: texts(body.min_rub),
        max: texts(body.max_rub),
        fee: texts(body.fee_percent),
        secret: body.secret,
      })
      return show(params.name)
    }),
    switching(shapes.enableProvider, true),
    switching(shapes.disableProvider, false),
  ]
}
