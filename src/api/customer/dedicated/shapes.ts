import { z } from '@hono/zod-openapi'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toDateEnd, toIso } from '../../../core/time.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import { balanceAfter, exampleAt, exampleOrder, moment, orderId, queryInteger, roubles, whole } from '../../fields.ts'
import { operation, type RefusalExample } from '../../operation.ts'
import {
  bodyIds,
  bodyPeriod,
  count,
  country,
  dateEnd,
  exampleProxy,
  expiresAt,
  type GatewayAddress,
  noSuchProxy,
  proxy,
  proxyExample,
  queryIds,
  queryIpv,
  queryPeriod,
  type ShownProxy,
  see,
  shownCountry,
  shownIpv,
  shownPeriod,
  tag,
  toProxy,
  wishFields,
} from './shapes-proxy.ts'

const notSold: RefusalExample = new Refusal(
  'country_not_sold',
  { ipv: 4, country: 'BR', allowed: ['DE', 'NL', 'US'] },
  { field: 'country_code', allowed: ['DE', 'NL', 'US'], see: see.country_code, charged: false },
)
const outOfStock: RefusalExample = new Refusal('out_of_stock', { available: 3 }, { available: 3, charged: false })

export const quoteDedicated = operation({
  id: 'quoteDedicated',
  method: 'GET',
  path: '/dedicated/quote',
  tag,
  summary: 'Price of dedicated proxies',
  description: 'Nothing is bought and nothing is held.',
  query: z.object({
    country_code: country(),
    period: queryPeriod(),
    count: queryInteger(count),
    ipv: queryIpv(),
  }),
  answer: z.object({
    country_code: shownCountry(),
    period: shownPeriod(),
    count: whole('How many proxies.', 10),
    ipv: shownIpv(),
    price_rub: roubles('What all of them cost together. This is what is charged.', 1658.7),
    price_per_proxy_rub: roubles(
      'The price of one, rounded up to the kopeck: times `count` it may differ from `price_rub`.',
      165.87,
    ),
    discount_percent: z.number().openapi({
      description: 'What the discounts for number and term come to, in percent, rounded down to two decimals.',
      example: 7.85,
    }),
    available: whole('How many are free now; 20000 stands for that many or more.', 1024),
  }),
  example: {
    country_code: 'DE',
    period: 30,
    count: 10,
    ipv: 4,
    price_rub: 1658.7,
    price_per_proxy_rub: 165.87,
    discount_percent: 7.85,
    available: 1024,
  },
  see,
  codes: ['not_found'],
  refusals: { not_found: notSold },
})

export const buyDedicated = operation({
  id: 'buyDedicated',
  method: 'POST',
  path: '/dedicated/buy',
  tag,
  summary: 'Buy dedicated proxies',
  description: 'They work the moment the answer arrives.',
  body: z.object(wishFields),
  exampleBody: { country_code: 'DE', period: 30, count: 1, ipv: 4 },
  answer: z.object({
    order_id: orderId(),
    check_id: whole('The number of the charge among your transactions; null when nothing was to be paid.').nullable(),
    country_code: shownCountry(),
    period: shownPeriod(),
    count: whole('How many were bought.', 1),
    ipv: shownIpv(),
    price_rub: roubles('What all of them cost together.', 171),
    balance_rub: balanceAfter(),
    proxies: z.array(proxy).openapi({ description: 'What was bought, ready to use.' }),
  }),
  example: {
    order_id: exampleOrder,
    check_id: 2,
    country_code: 'DE',
    period: 30,
    count: 1,
    ipv: 4,
    price_rub: 171,
    balance_rub: 99_829,
    proxies: [proxyExample],
  },
  see,
  codes: ['not_found', 'out_of_stock'],
  refusals: { not_found: notSold, out_of_stock: outOfStock },
  charges: true,
})

const share = 'Its share of the total; shares of like proxies differ by at most a kopeck, and sum to it.'

const withdrawn = { ids: [exampleProxy], charged: false }
const notForLonger = {
  conflict: new Refusal('addresses_withdrawn', { ids: [exampleProxy] }, withdrawn),
  unavailable: new Refusal('addresses_not_served', { ids: [exampleProxy] }, withdrawn),
}

export const quoteProlonging = operation({
  id: 'quoteProlonging',
  method: 'GET',
  path: '/dedicated/prolong/quote',
  tag,
  summary: 'Price of prolonging proxies',
  query: z.object({ ids: queryIds(), period: queryPeriod() }),
  answer: z.object({
    period: shownPeriod(),
    total_price_rub: roubles('What all of them cost together. This is what is charged.', 171),
    items: z
      .array(
        z.object({
          id: whole("The proxy's id.", exampleProxy),
          ipv: shownIpv(),
          price_rub: roubles(share, 171),
          expires_at: moment('When it would end.'),
        }),
      )
      .openapi({ description: 'Each proxy.' }),
  }),
  example: {
    period: 30,
    total_price_rub: 171,
    items: [{ id: exampleProxy, ipv: 4, price_rub: 171, expires_at: toIso(exampleAt) }],
  },
  see,
  codes: ['not_found', 'conflict', 'unavailable'],
  refusals: { not_found: noSuchProxy, ...notForLonger },
})

export const prolongDedicated = operation({
  id: 'prolongDedicated',
  method: 'POST',
  path: '/dedicated/prolong',
  tag,
  summary: 'Prolong proxies, all or none',
  description:
    'Time is added to what is left. Ids, addresses and credentials stay. An address that the operator withdraws is ' +
    'not had for longer, and one that has ended only while a gateway serves it.',
  body: z.object({ ids: bodyIds(), period: bodyPeriod() }),
  exampleBody: { ids: [exampleProxy], period: 30 },
  answer: z.object({
    order_id: orderId(),
    period: shownPeriod(),
    total_price_rub: roubles('What all of them cost together.', 171),
    price_rub: roubles('The same as `total_price_rub`.', 171),
    balance_rub: balanceAfter(),
    items: z
      .array(
        z.object({
          id: whole("The proxy's id.", exampleProxy),
          price_rub: roubles(share, 171),
          date_end: dateEnd(),
          expires_at: expiresAt(),
        }),
      )
      .openapi({ description: 'Each proxy, as it now is.' }),
  }),
  example: {
    order_id: exampleOrder,
    period: 30,
    total_price_rub: 171,
    price_rub: 171,
    balance_rub: 99_658,
    items: [{ id: exampleProxy, price_rub: 171, date_end: toDateEnd(exampleAt), expires_at: toIso(exampleAt) }],
  },
  see,
  codes: ['not_found', 'conflict', 'unavailable'],
  refusals: { not_found: noSuchProxy, ...notForLonger },
  charges: true,
})

/** An order's answer: what was bought and what is left. */
export const toBought = (
  of: {
    receipt: { order: string; transaction: number | null; balance: Kopecks }
    wish: { country: string; period: number; count: number; ipv: Ipv }
    price: Kopecks
    proxies: readonly ShownProxy[]
  },
  gateway: GatewayAddress,
) => ({
  order_id: of.receipt.order,
  check_id: of.receipt.transaction,
  country_code: of.wish.country,
  period: of.wish.period,
  count: of.wish.count,
  ipv: of.wish.ipv,
  price_rub: toRoubles(of.price),
  balance_rub: toRoubles(of.receipt.balance),
  proxies: of.proxies.map((each) => toProxy(each, gateway)),
})

type ShownItem = {
  readonly proxy: { readonly id: number; readonly ipv: Ipv }
  readonly price: Kopecks
  readonly expiresAt: number
}

export const toProlongQuote = (of: { items: readonly ShownItem[]; total: Kopecks }, period: number) => ({
  period,
  total_price_rub: toRoubles(of.total),
  items: of.items.map((item) => ({
    id: item.proxy.id,
    ipv: item.proxy.ipv,
    price_rub: toRoubles(item.price),
    expires_at: toIso(item.expiresAt),
  })),
})

export const toProlonged = (of: {
  receipt: { order: string; balance: Kopecks }
  period: number
  items: readonly ShownItem[]
  total: Kopecks
}) => ({
  order_id: of.receipt.order,
  period: of.period,
  total_price_rub: toRoubles(of.total),
  price_rub: toRoubles(of.total),
  balance_rub: toRoubles(of.receipt.balance),
  items: of.items.map((item) => ({
    id: item.proxy.id,
    price_rub: toRoubles(item.price),
    date_end: toDateEnd(item.expiresAt),
    expires_at: toIso(item.expiresAt),
  })),
})
