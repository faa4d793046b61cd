import { z } from '@hono/zod-openapi'
import { type CountryCode, countryName } from '../../../core/country.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { PortType } from '../../../domains/dedicated/rules.ts'
import type { Ipv } from '../../../domains/stock/rules.ts'
import { exampleAt, flag, nextCursor, pageOf, pageQuery, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  bodyIds,
  bodyPeriod,
  country,
  exampleProxy,
  type GatewayAddress,
  noSuchProxy,
  proxy,
  proxyExample,
  proxyId,
  queryIpv,
  type ShownProxy,
  see,
  shownCountry,
  shownIpv,
  tag,
  toProxy,
} from './shapes-proxy.ts'

const comment = z
  .string()
  .max(200, 'must be at most 200 characters')
  .refine((written) => !/\p{Cc}/u.test(written), 'must not hold control characters')

const updated = () =>
  z.array(whole("A proxy's id.", exampleProxy)).openapi({ description: 'The ids of the proxies that were changed.' })

export const setProtocol = operation({
  id: 'setProtocol',
  method: 'POST',
  path: '/dedicated/protocol',
  tag,
  summary: 'Change the protocol of proxies',
  body: z.object({
    ids: bodyIds(),
    port_type: z
      .enum(['http', 'socks', 'socks5', 'both'])
      .transform((type): PortType => (type === 'socks5' ? 'socks' : type))
      .openapi({
        type: 'string',
        enum: ['http', 'socks', 'socks5', 'both'],
        description: 'The protocol to speak from now on; `socks5` is the same as `socks`, `both` is HTTP and SOCKS5.',
        example: 'socks',
      }),
  }),
  exampleBody: { ids: [exampleProxy], port_type: 'socks' },
  answer: z.object({
    port_type: z.enum(['http', 'socks', 'both']).openapi({ description: 'The protocol that they speak now.' }),
    updated: updated(),
  }),
  example: { port_type: 'socks', updated: [exampleProxy] },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchProxy },
})

export const listDedicated = operation({
  id: 'listDedicated',
  method: 'GET',
  path: '/dedicated/list',
  isSecret: true,
  tag,
  summary: 'List your proxies, newest first',
  query: z.object({
    ...pageQuery,
    status: z
      .enum(['active', 'expired'])
      .optional()
      .openapi({ description: 'Only those in use, or only those in grace.' }),
    country_code: country().optional(),
    ipv: queryIpv().optional(),
    expires_before: z
      .string()
      .optional()
      .openapi({ description: 'ISO 8601; what ends before it.', example: toIso(exampleAt) }),
    comment: comment.optional().openapi({ description: 'Exactly this comment.' }),
  }),
  answer: z.object({
    proxies: z.array(proxy).openapi({ description: 'One page of your proxies.' }),
    next_cursor: nextCursor(),
  }),
  example: { proxies: [proxyExample], next_cursor: null },
})

export const toProxies = (found: readonly ShownProxy[], limit: number, gateway: GatewayAddress) => {
  const { items, next_cursor } = pageOf(found, limit, (each) => String(each.id))
  return { proxies: items.map((each) => toProxy(each, gateway)), next_cursor }
}

export const listCountries = operation({
  id: 'listCountries',
  method: 'GET',
  path: '/dedicated/country',
  tag,
  summary: 'Countries that a kind of proxy is sold in',
  query: z.object({ ipv: queryIpv() }),
  answer: z.object({
    ipv: shownIpv(),
    periods: z.array(whole('Days.', 30)).openapi({ description: 'For how many days it can be bought.' }),
    prolong_periods: z.array(whole('Days.', 30)).openapi({ description: 'By how many days it can be prolonged.' }),
    countries: z
      .array(
        z.object({
          country_code: shownCountry(),
          name: text('Its name in English.', 'Germany'),
          name_ru: text('Its name in Russian.', 'Германия'),
          available: whole('How many are free now; 20000 stands for that many or more.', 1024),
        }),
      )
      .openapi({ description: 'Each country that has a price.' }),
  }),
  example: {
    ipv: 4,
    periods: [7, 14, 30, 60, 90],
    prolong_periods: [3, 7, 14, 30, 60, 90],
    countries: [{ country_code: 'DE', name: 'Germany', name_ru: 'Германия', available: 1024 }],
  },
})

type Periods = { readonly periods: readonly number[]; readonly prolongPeriods: readonly number[] }

export const toCountries = (ipv: Ipv, of: Periods, found: readonly { code: CountryCode; available: number }[]) => ({
  ipv,
  periods: [...of.periods],
  prolong_periods: [...of.prolongPeriods],
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
  see,
  answer: z.object({
    country_code: shownCountry(),
    ipv: shownIpv(),
    count: whole('How many are free now; 20000 stands for that many or more.', 1024),
  }),
  example: { country_code: 'DE', ipv: 4, count: 1024 },
})

export const replaceProxy = operation({
  id: 'replaceProxy',
  method: 'POST',
  path: '/dedicated/replace',
  isDestructive: true,
  tag,
  summary: 'Swap a bad address for another of the same kind',
  description: 'Once a day for each proxy. Id, credentials and term stay.',
  body: z.object({ id: proxyId() }),
  exampleBody: { id: exampleProxy },
  answer: proxy,
  example: proxyExample,
  codes: ['not_found', 'out_of_stock', 'conflict'],
  refusals: {
    not_found: noSuchProxy,
    out_of_stock: new Refusal('out_of_stock', { available: 0 }, { available: 0, charged: false }),
    conflict: new Refusal(
      'replaced_recently',
      { again_at: toIso(exampleAt) },
      { again_at: toIso(exampleAt), charged: false },
    ),
  },
})

export const setComment = operation({
  id: 'setComment',
  method: 'POST',
  path: '/dedicated/comment',
  tag,
  summary: 'Note something on proxies',
  body: z.object({
    ids: bodyIds(),
    comment: comment.openapi({
      description: 'Your note, without control characters; empty removes it.',
      example: 'shop 7',
    }),
  }),
  exampleBody: { ids: [exampleProxy], comment: 'shop 7' },
  answer: z.object({ comment: text('The note that they have now.', 'shop 7'), updated: updated() }),
  example: { comment: 'shop 7', updated: [exampleProxy] },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchProxy },
})

export const setAutoRenew = operation({
  id: 'setAutoRenew',
  method: 'POST',
  path: '/dedicated/auto-renew',
  tag,
  summary: 'Renew proxies by themselves, or stop that',
  description:
    'Charged one day ahead of the end, tried every hour while the balance does not cover it. It is spent by the ' +
    'token that asks for it here, within its cap.',
  body: z.object({ ids: bodyIds(), period: bodyPeriod().nullable().openapi({ description: 'Days; null stops it.' }) }),
  exampleBody: { ids: [exampleProxy], period: 30 },
  answer: z.object({
    period: whole('Days that are bought each time; null when it was stopped.', 30).nullable(),
    updated: updated(),
  }),
  example: { period: 30, updated: [exampleProxy] },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchProxy },
})

export const checkProxy = operation({
  id: 'checkProxy',
  method: 'POST',
  path: '/dedicated/check',
  tag,
  summary: 'Try a proxy with a real connection',
  body: z.object({ id: proxyId() }),
  exampleBody: { id: exampleProxy },
  answer: z.object({
    id: whole("The proxy's id.", exampleProxy),
    works: flag('Whether a request went through it and came back.'),
    took_ms: z
      .number()
      .nullable()
      .openapi({ description: 'Milliseconds until it did; null when it did not.', example: 12.5 }),
    problem: text('What went wrong; null when it works.').nullable(),
  }),
  example: { id: exampleProxy, works: true, took_ms: 12.5, problem: null },
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchProxy },
})
