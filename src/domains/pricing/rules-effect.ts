import { type Kopecks, kopecks, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Catalogue, priceProlonging, priceVpn } from './rules.ts'

/** One kind of goods: proxies of a country and kind, traffic of a pool, or VPN. */
type Goods =
  | { readonly product: 'dedicated'; readonly country: string; readonly ipv: number }
  | { readonly product: 'premium'; readonly pool: string }
  | { readonly product: 'vpn' }

/** Who has goods of a kind now, and what will be bought again by itself: for which terms, and how often each. */
export type Held = {
  readonly goods: Goods
  readonly customers: number
  readonly services: number
  readonly renewals: ReadonlyMap<number, number>
}

/** What another price list means to those who have goods of a kind now. What was sold keeps its price in any case. */
export type Effect = {
  readonly goods: Goods
  readonly customers: number
  readonly services: number
  readonly renewals: number
  /** What the next renewal of each costs together, by the list in force and by the other one. */
  readonly before: Kopecks
  readonly after: Kopecks
  /** Of these, how many could not be renewed any more, because their term is not sold. */
  readonly lost: number
}

/** The effects on whatever is priced otherwise. Goods that stay as they were are not named. */
export function effectsOf(before: Catalogue, after: Catalogue, held: readonly Held[]): Effect[] {
  return held
    .filter(({ goods }) => termsOf(before, goods) !== termsOf(after, goods))
    .map((each) => {
      const [old, fresh] = [renewalsAt(before, each), renewalsAt(after, each)]
      const { goods, customers, services } = each
      const renewals = [...each.renewals.values()].reduce((sum, count) => sum + count, 0)
      return { goods, customers, services, renewals, before: old.sum, after: fresh.sum, lost: fresh.lost }
    })
}

/** All that decides what goods of a kind cost, as text: equal where nothing changes for anybody. */
function termsOf({ dedicated, premium, vpn }: Catalogue, goods: Goods): string {
  switch (goods.product) {
    case 'dedicated': {
      const kind = dedicated.kinds.get(goods.ipv)
      const rate = kind?.countries.get(goods.country)
      return kind && rate ? written([rate, kind.periods, kind.volume, kind.term, dedicated.prolongPeriods]) : ''
    }
    case 'premium':
      return written(premium.pools.get(goods.pool) ?? null)
    default:
      return written(vpn)
  }
}

const written = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'bigint' ? String(each) : each instanceof Map ? [...(each as Map<unknown, unknown>)] : each,
  )

/** What renewing costs: each thing is renewed by itself, whenever its own term ends. */
function renewalsAt(catalogue: Catalogue, { goods, renewals }: Held): { sum: Kopecks; lost: number } {
  let [sum, lost]: [Kopecks, number] = [zero, 0]
  for (const [term, count] of renewals) {
    const price = findPrice(catalogue, goods, term)
    if (price === undefined) lost += count
    else sum = kopecks(sum + price * BigInt(count))
  }
  return { sum, lost }
}

/** Undefined where it is not sold. */
function findPrice(catalogue: Catalogue, goods: Goods, term: number): Kopecks | undefined {
  if (goods.product === 'premium') return undefined
  try {
    if (goods.product === 'vpn') return priceVpn(catalogue, term).total
    return priceProlonging(catalogue, { ...goods, period: term, count: 1 }).total
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}
