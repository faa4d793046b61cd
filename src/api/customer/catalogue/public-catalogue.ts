import { type CountryCode, countryName } from '../../../core/country.ts'
import { toRoubles } from '../../../core/money.ts'
import type { Clock } from '../../../core/time.ts'
import { createTtlCache } from '../../../core/ttl-cache.ts'
import type { Payments } from '../../../domains/payments/index.ts'
import type { Premium } from '../../../domains/premium/index.ts'
import type { Pricing } from '../../../domains/pricing/index.ts'
import {
  type Catalogue,
  type DedicatedKind,
  priceDedicated,
  priceVpn,
  type Step,
} from '../../../domains/pricing/rules.ts'
import type { Stock } from '../../../domains/stock/index.ts'
import { ipvs } from '../../../domains/stock/rules.ts'
import type { Vpn } from '../../../domains/vpn/index.ts'
import type { z } from '../../operation.ts'
import { toTerms } from '../payments/shapes.ts'
import { type getCatalogue, lowStock, type StockLevel } from './shapes.ts'

export type ShownCatalogue = z.input<(typeof getCatalogue)['answer']>

/** What strangers see: the catalogue as the API shows it, and the price list that prices a calculator's order. */
export type PublicCatalogue = { readonly shown: ShownCatalogue; readonly priceList: Catalogue | undefined }

export type CatalogueDeps = {
  readonly pricing: Pick<Pricing, 'find'>
  readonly stock: Pick<Stock, 'availableUpTo'>
  readonly premium: { readonly exits: Pick<Premium['exits'], 'isServed'> }
  readonly vpn: Pick<Vpn, 'isServed' | 'locations' | 'protocols'>
  readonly payments: Pick<Payments, 'methods'>
  readonly clock: Clock
}

/** How long one computation serves every stranger. */
const keptMs = 5_000
/** How long the last one serves while the database does not answer. */
const maxStaleMs = 10 * 60_000

/** One computation every few seconds, however many ask. Strangers therefore cost the database nothing. */
export function createPublicCatalogue(deps: CatalogueDeps): () => Promise<PublicCatalogue> {
  let last: { readonly found: PublicCatalogue; readonly readAt: number } | undefined
  const cache = createTtlCache({ load: () => compute(deps), clock: deps.clock, ttlMs: keptMs, maxEntries: 1 })
  return async () => {
    const nowMs = deps.clock()
    try {
      const found = await cache.get(undefined)
      if (last?.found !== found) last = { found, readAt: nowMs }
      return found
    } catch (error) {
      if (last && nowMs - last.readAt < maxStaleMs) return last.found
      throw error
    }
  }
}

async function compute(deps: CatalogueDeps): Promise<PublicCatalogue> {
  const priceList = await deps.pricing.find()
  return {
    priceList,
    shown: {
      currency: 'RUB',
      version: priceList?.version ?? null,
      dedicated: {
        kinds: priceList ? await showKinds(deps, priceList) : [],
        prolong_periods: [...(priceList?.dedicated.prolongPeriods ?? [])],
        speed_mbit: priceList?.dedicated.speedMegabits ?? null,
      },
      premium: {
        pools: priceList ? await showPools(deps, priceList) : [],
        speed_mbit: priceList?.premium.speedMegabits ?? null,
      },
      vpn: priceList ? await showVpn(deps, priceList) : null,
      payment_methods: (await deps.payments.methods()).map((each) => ({ ...toTerms(each), name: each.name })),
    },
  }
}

const levelOf = (count: number): StockLevel => (count === 0 ? 'none' : count < lowStock ? 'low' : 'available')

type ShownKind = ShownCatalogue['dedicated']['kinds'][number]

/** Counts one kind at a time: the counts together would hold several connections of the database. */
async function showKinds(deps: CatalogueDeps, catalogue: Catalogue): Promise<ShownKind[]> {
  const shown: ShownKind[] = []
  for (const ipv of ipvs) {
    const kind = catalogue.dedicated.kinds.get(ipv)
    if (!kind) continue
    const codes = [...kind.countries.keys()].toSorted() as CountryCode[]
    const countries: ShownKind['countries'] = []
    for (const country of codes) {
      countries.push({
        country_code: country,
        name: countryName(country, 'en'),
        name_ru: countryName(country, 'ru'),
        stock: levelOf(await deps.stock.availableUpTo({ country, ipv }, lowStock)),
        prices: showPrices(catalogue, kind, { country, ipv }),
      })
    }
    shown.push({
      ipv,
      volume_discounts: kind.volume.map((step) => ({ from_count: step.from, percent: percentOf(step) })),
      term_discounts: kind.term.map((step) => ({ from_days: step.from, percent: percentOf(step) })),
      countries,
    })
  }
  return shown
}

const percentOf = ({ off }: Step): number => off / 100

/** A rate by the period prices only its own periods. */
function showPrices(catalogue: Catalogue, kind: DedicatedKind, of: { country: string; ipv: number }) {
  const rate = kind.countries.get(of.country)
  const periods = kind.periods.filter((period) => rate?.by === 'day' || rate?.prices.has(period))
  return periods.map((period) => {
    const { total, discountPercent } = priceDedicated(catalogue, { ...of, period, count: 1 })
    return { period, price_rub: toRoubles(total), discount_percent: discountPercent }
  })
}

async function showPools({ premium }: CatalogueDeps, catalogue: Catalogue) {
  const shown: ShownCatalogue['premium']['pools'] = []
  for (const [pool, { tiers, expiresDays }] of catalogue.premium.pools) {
    shown.push({
      pool_type: pool,
      is_available: await premium.exits.isServed(pool),
      expires_days: expiresDays,
      tiers: tiers.map((tier) => ({ from_gb: tier.fromTenths / 10, price_per_gb_rub: toRoubles(tier.perGigabyte) })),
    })
  }
  return shown
}

async function showVpn({ vpn }: CatalogueDeps, catalogue: Catalogue): Promise<ShownCatalogue['vpn']> {
  const plan = catalogue.vpn
  if (!plan) return null
  return {
    is_available: await vpn.isServed(),
    device_limit: plan.deviceLimit,
    traffic_gb: plan.trafficGigabytes,
    speed_mbit: plan.speedMegabits,
    protocols: await vpn.protocols(),
    locations: (await vpn.locations()).map((each) => ({ location: each.name, country_code: each.countryCode })),
    prices: [...plan.months.keys()].map((months) => {
      const { total, perMonth } = priceVpn(catalogue, months)
      return { period: months, price_rub: toRoubles(total), price_per_month_rub: toRoubles(perMonth) }
    }),
    more_devices: [...plan.slots].map(([count, price]) => ({ count, price_rub: toRoubles(price) })),
  }
}
