import { kindTexts, poolTexts } from './texts.ts'
import type { Writer } from './writer.ts'

const inStock = (is: boolean): string => `https://schema.org/${is ? 'InStock' : 'OutOfStock'}`

/** Products and their prices for search engines (schema.org), as JSON-LD. */
export function writeOffers({ brand, shown, language }: Writer, url: string): string {
  const offers = (name: string, prices: readonly number[], isAvailable: boolean) => ({
    '@type': 'Product',
    name,
    brand: { '@type': 'Brand', name: brand.name },
    offers: {
      '@type': 'AggregateOffer',
      priceCurrency: shown.currency,
      lowPrice: Math.min(...prices),
      highPrice: Math.max(...prices),
      offerCount: prices.length,
      availability: inStock(isAvailable),
      url: `${url}/?lang=${language}`,
    },
  })
  const kinds = shown.dedicated.kinds.map((kind) =>
    offers(
      kindTexts[kind.ipv]?.[0][language] ?? `IPv${kind.ipv}`,
      kind.countries.flatMap((each) => each.prices.map((price) => price.price_rub)),
      kind.countries.some(({ stock }) => stock !== 'none'),
    ),
  )
  const pools = shown.premium.pools.map((pool) =>
    offers(
      poolTexts[pool.pool_type]?.[language] ?? pool.pool_type,
      pool.tiers.map((tier) => tier.price_per_gb_rub),
      pool.is_available,
    ),
  )
  const { vpn } = shown
  const plans = vpn
    ? [
        offers(
          'VPN',
          vpn.prices.map((each) => each.price_rub),
          vpn.is_available,
        ),
      ]
    : []
  const shop = { '@type': 'Organization', name: brand.name, url, ...(brand.contact && { email: brand.contact.text }) }
  const graph = { '@context': 'https://schema.org', '@graph': [shop, ...kinds, ...pools, ...plans] }
  // A `<` in JSON would end the element.
  return JSON.stringify(graph).replaceAll('<', '\\u003c')
}
