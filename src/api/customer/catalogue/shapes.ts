import { choice, flag, list, named, part, roubles, rows, text, whole } from '../../fields.ts'
import { operationsOf, z } from '../../operation.ts'
import { method } from '../payments/shapes.ts'

const operation = operationsOf({ tag: 'Catalogue' })

export const stockLevels = ['available', 'low', 'none'] as const
export type StockLevel = (typeof stockLevels)[number]

/** A stock below this number is shown as low. */
export const lowStock = 20

/** How long a program or a cache on its way may keep the catalogue. */
export const catalogueSeconds = 10

const stock = () =>
  choice(
    `Stock now: \`available\`, \`low\` below ${lowStock} or \`none\`. ` +
      'With a token `GET /dedicated/country` has the number.',
    stockLevels,
    'available',
  )
const percent = () => z.number().openapi({ description: 'Discount in percent of the whole order.', example: 5 })
const countryFields = {
  country_code: text('ISO 3166-1 alpha-2 code.', 'DE'),
  name: text('Name of the country in English.', 'Germany'),
  name_ru: text('Name of the country in Russian.', 'Германия'),
}
const speed = () => whole('Speed limit of each credential in Mbit/s; null if there is none.').nullable()

const dedicatedKind = named('CatalogueKind', {
  ipv: whole('Proxy type: `3` shared IPv4, `4` dedicated IPv4, `6` dedicated IPv6.', 4),
  volume_discounts: rows('Discounts by number. The highest one that applies counts for the whole order.', {
    from_count: whole('Smallest number of proxies.', 10),
    percent: percent(),
  }),
  term_discounts: rows('Discounts by term, in addition to those by number.', {
    from_days: whole('Shortest term in days.', 30),
    percent: percent(),
  }),
  countries: rows('Countries with a price.', {
    ...countryFields,
    stock: stock(),
    prices: rows('Price of one proxy for each term, discounts by term included.', {
      period: whole('Term in days.', 30),
      price_rub: roubles('Price of one proxy for this term.', 171),
      discount_percent: z
        .number()
        .openapi({ description: 'Discount that the price includes, in percent.', example: 5 }),
    }),
  }),
})

const pool = named('CataloguePool', {
  pool_type: text('Pool.', 'residential'),
  is_available: flag('Whether the pool can be bought now.', true),
  expires_days: whole('Days after which bought traffic expires; null if it does not.').nullable(),
  tiers: rows('Prices by volume: the price of the tier counts for the whole order.', {
    from_gb: z
      .number()
      .openapi({ description: 'Smallest volume of the tier, in gigabytes (10^9 bytes).', example: 10 }),
    price_per_gb_rub: roubles('Price of one GB.', 280),
  }),
})

const vpn = named('CatalogueVpn', {
  is_available: flag('Whether a subscription can be bought now.', true),
  device_limit: whole('Devices that a subscription includes.', 5),
  traffic_gb: whole('Traffic of each month of the term in gigabytes; null if it is not limited.').nullable(),
  speed_mbit: speed(),
  protocols: list('How devices connect now.', text('Protocol.', 'wireguard')),
  locations: rows('Locations of the nodes.', {
    location: text('Name, for `location` in `POST /vpn/buy`.', 'Amsterdam'),
    country_code: text('ISO 3166-1 alpha-2 code; null if the operator has set none.', 'NL').nullable(),
  }),
  prices: rows('Price of each term.', {
    period: whole('Term in months.', 3),
    price_rub: roubles('Price of the term.', 799),
    price_per_month_rub: roubles('The same for one month, rounded up.', 266.34),
  }),
  more_devices: rows('Prices of more devices, until the end of the subscription.', {
    count: whole('Number of devices.', 1),
    price_rub: roubles('Price.', 149),
  }),
})

export const getCatalogue = operation('getCatalogue', 'GET /catalogue', {
  summary: 'Read all prices, terms, discounts and stock',
  description:
    'Needs no token. The answer is at most 15 seconds old and may be cached for 10 seconds (`Cache-Control`, ' +
    '`ETag`). Prices are those in force; a quote prices a whole order. The limit on requests counts each network.',
  access: 'public',
  answer: z.object({
    currency: text('Currency of all prices.', 'RUB'),
    version: whole('Version of the price list; null while nothing is on sale.', 12).nullable(),
    dedicated: part('Dedicated proxies: terms and prices.', {
      kinds: list('Types of dedicated proxies on sale.', dedicatedKind),
      prolong_periods: list('Terms for prolonging, in days.', whole('Term in days.', 30)),
      speed_mbit: speed(),
    }),
    premium: part('Premium proxies: pools and prices.', {
      pools: list('Pools of premium proxies on sale.', pool),
      speed_mbit: speed(),
    }),
    vpn: vpn.nullable().openapi({ description: 'The VPN subscription; null if none is sold.' }),
    payment_methods: list('How customers pay now.', method.omit({ email: true })),
  }),
})
