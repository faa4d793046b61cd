import { z } from '@hono/zod-openapi'
import type { PortType } from '../../../domains/dedicated/rules.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import { type CountryCode, countryName } from '../../../kernel/country.ts'
import { type Kopecks, toRoubles } from '../../../kernel/money.ts'
import { toDateEnd, toIso } from '../../../kernel/time.ts'
import { cursorAfter, moment, nextCursor, pageQuery, queryInteger, roubles } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  bodyIds,
  bodyPeriod,
  country,
  exampleMs,
  type GatewayAddress,
  proxy,
  proxyExample,
  proxyId,
  queryIds,
  queryIpv,
  queryPeriod,
  type ShownProxy,
  shownIpv,
  toProxy,
  wishFields,
} from './shapes-proxy.ts'

const tag = 'Dedicated proxies'

const comment = z
  .string()
  .max(200, 'must be at most 200 characters')
  .regex(/^[^\p{Cc}]*$/u, 'must not hold control characters')

export const quoteDedicated = operation({
  id: 'quoteDedicated',
  method: 'GET',
  path: '/dedicated/quote',
  tag,
  summary: 'Price of dedicated proxies',
  query: z.object({
    country_code: country(),
    period: queryPeriod(),
    count: queryInteger({ min: 1, max: 1000, example: 10 }),
    ipv: queryIpv(),
  }),
  answer: z.object({
    country_code: z.string(),
    period: z.int(),
    count: z.int(),
    ipv: shownIpv(),
    price_rub: roubles(),
    price_per_proxy_rub: roubles(),
    discount_percent: z.number(),
    available: z.int().openapi({ description: 'How many are free now; 20000 stands for that many or more.' }),
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
  codes: ['not_found'],
})

export const buyDedicated = operation({
  id: 'buyDedicated',
  method: 'POST',
  path: '/dedicated/buy',
  tag,
  summary: 'Buy dedicated proxies',
  description: 'They work the moment the answer arrives.',
  body: z.object(wishFields),
  answer: z.object({
    order_id: z.string(),
    check_id: z.int().nullable().openapi({ description: 'The number of the charge among your transactions.' }),
    country_code: z.string(),
    period: z.int(),
    count: z.int(),
    ipv: shownIpv(),
    price_rub: roubles(),
    balance_rub: roubles(),
    proxies: z.array(proxy),
  }),
  example: {
    order_id: 'ord_01k73sf80000000000000000000',
    check_id: 2,
    country_code: 'DE',
    period: 30,
    count: 1,
    ipv: 4,
    price_rub: 171,
    balance_rub: 99_829,
    proxies: [proxyExample],
  },
  codes: ['not_found', 'out_of_stock'],
  charges: true,
})

export const quoteProlonging = operation({
  id: 'quoteProlonging',
  method: 'GET',
  path: '/dedicated/prolong/quote',
  tag,
  summary: 'Price of prolonging proxies',
  query: z.object({ ids: queryIds(), period: queryPeriod() }),
  answer: z.object({
    period: z.int(),
    total_price_rub: roubles(),
    items: z.array(
      z.object({
        id: z.int(),
        ipv: shownIpv(),
        price_rub: roubles(),
        expires_at: moment().openapi({ description: 'As it would become.' }),
      }),
    ),
  }),
  example: {
    period: 30,
    total_price_rub: 171,
    items: [{ id: 1201, ipv: 4, price_rub: 171, expires_at: toIso(exampleMs) }],
  },
  codes: ['not_found'],
})

export const prolongDedicated = operation({
  id: 'prolongDedicated',
  method: 'POST',
  path: '/dedicated/prolong',
  tag,
  summary: 'Prolong proxies, all or none',
  description: 'Time is added to what is left. Ids, addresses and credentials stay.',
  body: z.object({ ids: bodyIds(), period: bodyPeriod() }),
  answer: z.object({
    order_id: z.string(),
    period: z.int(),
    total_price_rub: roubles(),
    price_rub: roubles(),
    balance_rub: roubles(),
    items: z.array(z.object({ id: z.int(), price_rub: roubles(), date_end: z.string(), expires_at: moment() })),
  }),
  example: {
    order_id: 'ord_01k73sf80000000000000000000',
    period: 30,
    total_price_rub: 171,
    price_rub: 171,
    balance_rub: 99_658,
    items: [{ id: 1201, price_rub: 171, date_end: toDateEnd(exampleMs), expires_at: toIso(exampleMs) }],
  },
  codes: ['not_found'],
  charges: true,
})

export const setProtocol = operation({
  id: 'setProtocol',
  method: 'POST',
  path: '/dedicated/protocol',
  tag,
  summary: 'Change the protocol of proxies',
  body: z.object({
    ids: bodyIds(),
    port_type: z
      .enum(['http', 'socks', 'socks5'])
      .transform((type): PortType => (type === 'http' ? 'http' : 'socks'))
      .openapi({ type: 'string', enum: ['http', 'socks', 'socks5'], example: 'socks' }),
  }),
  answer: z.object({ port_type: z.enum(['http', 'socks']), updated: z.array(z.int()) }),
  example: { port_type: 'socks', updated: [1201, 1202] },
  codes: ['not_found'],
})

export const listDedicated = operation({
  id: 'listDedicated',
  method: 'GET',
  path: '/dedicated/list',
  tag,
  summary: 'List your proxies, newest first',
  query: z.object({
    ...pageQuery,
    status: z.enum(['active', 'expired']).optional(),
    country_code: country().optional(),
    ipv: queryIpv().optional(),
    expires_before: z
      .string()
      .optional()
      .openapi({ description: 'ISO 8601; what ends before it.', example: toIso(exampleMs) }),
    comment: comment.optional().openapi({ description: 'Exactly this comment.' }),
  }),
  answer: z.object({ proxies: z.array(proxy), next_cursor: nextCursor() }),
  example: { proxies: [proxyExample], next_cursor: null },
})

export const toProxies = (proxies: readonly ShownProxy[], limit: number, gateway: GatewayAddress) => ({
  proxies: proxies.map((each) => toProxy(each, gateway)),
  next_cursor: cursorAfter(proxies, limit, (each) => String(each.id)),
})

export const listCountries = operation({
  id: 'listCountries',
  method: 'GET',
  path: '/dedicated/country',
  tag,
  summary: 'Countries that a kind of proxy is sold in',
  query: z.object({ ipv: queryIpv() }),
  answer: z.object({
    ipv: shownIpv(),
    countries: z.array(
      z.object({ country_code: z.string(), name: z.string(), name_ru: z.string(), available: z.int() }),
    ),
  }),
  example: { ipv: 4, countries: [{ country_code: 'DE', name: 'Germany', name_ru: 'Германия', available: 1024 }] },
})

export const toCountries = (ipv: Ipv, found: readonly { code: CountryCode; available: number }[]) => ({
  ipv,
  countries: found.map(({ code, available }) => ({
    country_code: code,
    name: countryName(code, 'en'),
    name_ru: countryName(code, 'ru'),
    available,
  })),
})

export const countAvailable = operation({
  id: 'countAvailable',
  method: 'GET',
  path: '/dedicated/count',
  tag,
  summary: 'How many proxies are free',
  query: z.object({ country_code: country(), ipv: queryIpv() }),
  answer: z.object({ country_code: z.string(), ipv: shownIpv(), count: z.int() }),
  example: { country_code: 'DE', ipv: 4, count: 1024 },
})

export const replaceProxy = operation({
  id: 'replaceProxy',
  method: 'POST',
  path: '/dedicated/replace',
  tag,
  summary: 'Swap a bad address for another of the same kind',
  description: 'Once a day for each proxy. Id, credentials and term stay.',
  body: z.object({ id: proxyId() }),
  answer: proxy,
  example: proxyExample,
  codes: ['not_found', 'out_of_stock', 'conflict'],
})

export const setComment = operation({
  id: 'setComment',
  method: 'POST',
  path: '/dedicated/comment',
  tag,
  summary: 'Note something on proxies',
  body: z.object({ ids: bodyIds(), comment: comment.openapi({ example: 'shop 7' }) }),
  answer: z.object({ comment: z.string(), updated: z.array(z.int()) }),
  example: { comment: 'shop 7', updated: [1201] },
  codes: ['not_found'],
})

export const setAutoRenew = operation({
  id: 'setAutoRenew',
  method: 'POST',
  path: '/dedicated/auto-renew',
  tag,
  summary: 'Renew proxies by themselves, or stop that',
  description: 'Charged one day ahead of the end, tried every hour while the balance does not cover it.',
  body: z.object({ ids: bodyIds(), period: bodyPeriod().nullable().openapi({ description: 'Days; null stops it.' }) }),
  answer: z.object({ period: z.int().nullable(), updated: z.array(z.int()) }),
  example: { period: 30, updated: [1201] },
  codes: ['not_found'],
})

export const checkProxy = operation({
  id: 'checkProxy',
  method: 'POST',
  path: '/dedicated/check',
  tag,
  summary: 'Try a proxy with a real connection',
  body: z.object({ id: proxyId() }),
  answer: z.object({
    id: z.int(),
    works: z.boolean(),
    took_ms: z.number().nullable(),
    problem: z.string().nullable().openapi({ description: 'What went wrong, if it does not work.' }),
  }),
  example: { id: 1201, works: true, took_ms: 12.5, problem: null },
  codes: ['not_found'],
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
