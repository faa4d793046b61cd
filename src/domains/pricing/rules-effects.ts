import { type Kopecks, kopecks, zero } from '../../core/money.ts'
import { Refusal } from '../../core/refusal.ts'
import { type Catalogue, priceProlonging, priceVpn } from './rules.ts'

/** One kind of goods: proxies of a country and kind, traffic of a pool, or VPN. */
type Goods =
  | { readonly product: 'dedicated'; readonly country: string; readonly ipv: number }
  | { readonly product: 'premium'; readonly pool: string }
  | { readonly product: 'vpn' }

/** The present holders of a kind of goods, and the number of automatic renewals by term. */
export type HeldGoods = {
  readonly goods: Goods
  readonly customers: number
  readonly services: number
  readonly renewals: ReadonlyMap<number, number>
}

/** The effect of another price list on the holders of a kind of goods. Sold goods keep their price. */
export type PriceEffect = Omit<HeldGoods, 'renewals'> & {
  readonly renewals: number
  /** The total of the next renewals, by the list in force and by the other one. */
  readonly before: Kopecks
  readonly after: Kopecks
  /** Renewals whose term the other list does not sell. */
  readonly lost: number
}

/** The effects on goods whose price differs. */
export function effectsOf(before: Catalogue, after: Catalogue, held: readonly HeldGoods[]): PriceEffect[] {
  return held
    .filter(({ goods }) => termsOf(before, goods) !== termsOf(after, goods))
    .map((each) => {
      const [old, fresh] = [renewalsAt(before, each), renewalsAt(after, each)]
      const { goods, customers, services } = each
      const renewals = [...each.renewals.values()].reduce((sum, count) => sum + count, 0)
      return { goods, customers, services, renewals, before: old.sum, after: fresh.sum, lost: fresh.lost }
    })
}

/** Everything that decides the price of a kind of goods, as comparable text. */
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

/** The cost of renewals, each for itself. */
function renewalsAt(catalogue: Catalogue, { goods, renewals }: HeldGoods): { sum: Kopecks; lost: number } {
  let [sum, lost]: [Kopecks, number] = [zero, 0]
  for (const [term, count] of renewals) {
    const price = findPrice(catalogue, goods, term)
    if (price === undefined) lost += count
    else sum = kopecks(sum + price * BigInt(count))
  }
  return { sum, lost }
}

/** Undefined if it is not sold. */
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

/** The leaves of two price lists that differ. */
export function difference(before: unknown, after: unknown): string[] {
  const old = leaves(before, '')
  const fresh = leaves(after, '')
  const removed = [...old].filter(([path]) => !fresh.has(path)).map(([path, value]) => `- ${path}: ${value}`)
  const added = [...fresh].filter(([path]) => !old.has(path)).map(([path, value]) => `+ ${path}: ${value}`)
  const changed = [...fresh]
    .filter(([path, value]) => old.has(path) && old.get(path) !== value)
    .map(([path, value]) => `~ ${path}: ${old.get(path)} -> ${value}`)
  return [...removed, ...changed, ...added]
}

function leaves(value: unknown, path: string): Map<string, string> {
  if (value === undefined) return new Map()
  if (typeof value !== 'object' || value === null) return new Map([[path, JSON.stringify(value)]])
  const found = new Map<string, string>()
  for (const [name, child] of Object.entries(value)) {
    for (const [leafPath, leaf] of leaves(child, path === '' ? name : `${path}.${name}`)) found.set(leafPath, leaf)
  }
  return found
}
