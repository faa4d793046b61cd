import { z } from '@hono/zod-openapi'
import type { Subuser } from '../../../domains/premium/rules.ts'
import { longestSessionMinutes } from '../../../kernel/login.ts'
import { toIso } from '../../../kernel/time.ts'
import { bodyInteger, moment } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { poolType, printable, refExample, subuserId, subuserRef, tag, toRef } from './fields.ts'

const mostPlaces = 50

const country = () =>
  z
    .string()
    .regex(/^[A-Za-z]{2}$/, 'must be two letters, ISO 3166-1')
    .transform((code) => code.toUpperCase())
    .openapi({ type: 'string', pattern: '^[A-Za-z]{2}$', example: 'US' })

const place = (example: string) => printable(1, 80).openapi({ example })

const places = (example: string, description: string) =>
  z.array(place(example)).max(mostPlaces, `must be at most ${mostPlaces}`).optional().openapi({ description })

const asn = bodyInteger({ min: 1, max: 4_294_967_295, example: 7018 })

/** The places that a request narrows to; what the exits do not have is refused by name. */
export const placeFields = {
  country_code: country().optional().openapi({ description: 'One country, in place of `countries`.' }),
  countries: z
    .array(country())
    .max(mostPlaces, `must be at most ${mostPlaces}`)
    .optional()
    .openapi({ description: 'Any of these.', example: ['US', 'DE'] }),
  states: places('New York', 'Any of these, by name or as `locations/states` writes them.'),
  cities: places('New York', 'Any of these.'),
  zipcodes: places('10001', 'Any of these.'),
  asns: z
    .array(asn)
    .max(mostPlaces, `must be at most ${mostPlaces}`)
    .optional()
    .openapi({ description: 'Any of these.' }),
}

export const generateProxies = operation({
  id: 'generateProxies',
  method: 'POST',
  path: '/premium/proxies/generate',
  tag,
  summary: 'Generate a list of proxies',
  description:
    'One line a proxy. Everything but the endpoint lives in the login, so lines can be written by hand as well: ' +
    'see the login grammar. `format_id` 1 host:port:login:password, 2 login:password@host:port, 3 host:port for ' +
    'whitelisted addresses, 4 protocol://login:password@host:port; or `format`, a template of {protocol}, {login}, ' +
    '{password}, {host} and {port}. A line without a login gets a port of its own: the source address and the port ' +
    'tell who comes and what for.',
  body: z.object({
    pool_type: poolType(),
    ...placeFields,
    type: z.enum(['sticky', 'rotating']).optional().openapi({
      description:
        'Whether a line keeps its exit for `session_ttl`, or changes it with each connection. Sticky unless said.',
    }),
    protocol: z.enum(['http', 'socks5']).optional().openapi({ description: 'http unless said.' }),
    session_ttl: bodyInteger({
      min: 1,
      max: longestSessionMinutes,
      example: 10,
      description: 'Minutes that a sticky line keeps its exit; 10 unless said. Only with `sticky`.',
    }).optional(),
    quantity: bodyInteger({ min: 1, max: 1000, example: 10, description: 'How many lines; 1 unless said.' }).optional(),
    format_id: z
      .literal([1, 2, 3, 4])
      .optional()
      .openapi({ type: 'integer', enum: [1, 2, 3, 4], description: '1 unless said.', example: 1 }),
    format: z
      .string()
      .optional()
      .openapi({ description: 'A template, in place of `format_id`.', example: '{login}:{password}@{host}:{port}' }),
    subuser_id: subuserId(),
  }),
  answer: z.object({
    subuser: subuserRef,
    params: z.object({
      pool_type: z.string(),
      countries: z.array(z.string()),
      states: z.array(z.string()),
      cities: z.array(z.string()),
      zipcodes: z.array(z.string()),
      asns: z.array(z.int()),
      type: z.enum(['sticky', 'rotating']),
      protocol: z.enum(['http', 'socks5']),
      session_ttl: z.int().nullable(),
      quantity: z.int(),
      format_id: z.int().nullable(),
      format: z.string(),
    }),
    domain: z.string().openapi({ description: 'The lines with the gateway’s name, joined by newlines.' }),
    ip: z.string().openapi({ description: 'The lines with the gateway’s address, joined by newlines.' }),
    proxies: z.array(z.string()).openapi({ description: 'The lines of `domain`.' }),
  }),
  example: {
    subuser: refExample,
    params: {
      pool_type: 'residential',
      countries: ['US'],
      states: [],
      cities: ['newyork'],
      zipcodes: [],
      asns: [],
      type: 'sticky',
      protocol: 'http',
      session_ttl: 10,
      quantity: 1,
      format_id: 1,
      format: '{host}:{port}:{login}:{password}',
    },
    domain: 'gw.example.net:10800:u7k2m9x4qa-pool-residential-country-us-city-newyork-session-a8f3-ttl-10:secret',
    ip: '203.0.113.7:10800:u7k2m9x4qa-pool-residential-country-us-city-newyork-session-a8f3-ttl-10:secret',
    proxies: ['gw.example.net:10800:u7k2m9x4qa-pool-residential-country-us-city-newyork-session-a8f3-ttl-10:secret'],
  },
  codes: ['not_found', 'conflict', 'out_of_stock'],
})

export const toGenerated = (
  of: { subuser: Subuser; domain: readonly string[]; ip: readonly string[] },
  params: {
    pool: string
    places: {
      countries: readonly string[]
      states: readonly string[]
      cities: readonly string[]
      zips: readonly string[]
      asns: readonly number[]
    }
    type: 'sticky' | 'rotating'
    protocol: 'http' | 'socks5'
    ttlMinutes: number
    quantity: number
    template: string
  },
  formatId: number | null,
) => ({
  subuser: toRef(of.subuser),
  params: {
    pool_type: params.pool,
    countries: params.places.countries.map((code) => code.toUpperCase()),
    states: [...params.places.states],
    cities: [...params.places.cities],
    zipcodes: [...params.places.zips],
    asns: [...params.places.asns],
    type: params.type,
    protocol: params.protocol,
    session_ttl: params.type === 'sticky' ? params.ttlMinutes : null,
    quantity: params.quantity,
    format_id: formatId,
    format: params.template,
  },
  domain: of.domain.join('\n'),
  ip: of.ip.join('\n'),
  proxies: [...of.domain],
})

const entry = z
  .object({
    ip: z.string().openapi({ description: 'An address or a prefix, in its canonical form.', example: '198.51.100.7' }),
    comment: z.string(),
    created_at: moment(),
    last_used_at: moment().nullable(),
  })
  .openapi('WhitelistEntry')

const entryExample = {
  ip: '198.51.100.7',
  comment: 'office',
  created_at: toIso(1_760_000_000_000),
  last_used_at: null,
}

type Entry = {
  readonly prefix: string
  readonly comment: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

const toEntry = (of: Entry) => ({
  ip: of.prefix,
  comment: of.comment,
  created_at: toIso(of.createdAt),
  last_used_at: of.lastUsedAt === null ? null : toIso(of.lastUsedAt),
})

type Listed = { readonly subuser: Subuser; readonly entries: readonly Entry[]; readonly limit: number }

const listed = { ips: z.array(entry), limit: z.int(), subuser: subuserRef }
const listedExample = { ips: [entryExample], limit: 100, subuser: refExample }

export const getWhitelist = operation({
  id: 'getWhitelist',
  method: 'GET',
  path: '/premium/whitelist',
  tag,
  summary: 'List the addresses that need no password',
  query: z.object({ subuser_id: subuserId() }),
  answer: z.object(listed),
  example: listedExample,
  codes: ['not_found'],
})

export const toWhitelist = (of: Listed) => ({
  ips: of.entries.map(toEntry),
  limit: of.limit,
  subuser: toRef(of.subuser),
})

const ip = z.string().max(64, 'must be an address or a prefix').openapi({
  description: 'An IPv4 or IPv6 address, or a prefix no wider than /24 or /56.',
  example: '198.51.100.7',
})

export const addToWhitelist = operation({
  id: 'addToWhitelist',
  method: 'POST',
  path: '/premium/whitelist/add',
  tag,
  summary: 'Let an address in without a password',
  body: z.object({
    ip,
    comment: printable(0, 200).optional(),
    subuser_id: subuserId(),
  }),
  answer: z.object({
    ip: z.string(),
    added: z.boolean().openapi({ description: 'False when it was there already.' }),
    ...listed,
  }),
  example: { ip: '198.51.100.7', added: true, ...listedExample },
  codes: ['not_found', 'conflict'],
})

export const toAdded = (of: Listed & { prefix: string; added: boolean }) => ({
  ip: of.prefix,
  added: of.added,
  ...toWhitelist(of),
})

export const removeFromWhitelist = operation({
  id: 'removeFromWhitelist',
  method: 'POST',
  path: '/premium/whitelist/remove',
  tag,
  summary: 'Take an address off the whitelist',
  body: z.object({ ip, subuser_id: subuserId() }),
  answer: z.object({
    ip: z.string(),
    removed: z.boolean().openapi({ description: 'False when it was not there.' }),
    ...listed,
  }),
  example: { ip: '198.51.100.7', removed: true, ...listedExample, ips: [] },
  codes: ['not_found'],
})

export const toRemoved = (of: Listed & { prefix: string; removed: boolean }) => ({
  ip: of.prefix,
  removed: of.removed,
  ...toWhitelist(of),
})

const credential = z.object({ login: z.string(), password: z.string(), subuser: subuserRef })
const credentialExample = { login: 'u7k2m9x4qa', password: '0a1b2c3d4e5f6g7h8j9kmnpq', subuser: refExample }

export const getPassword = operation({
  id: 'getPassword',
  method: 'GET',
  path: '/premium/password',
  tag,
  summary: 'Read the login and password',
  query: z.object({ subuser_id: subuserId() }),
  answer: credential,
  example: credentialExample,
  codes: ['not_found'],
})

export const resetPassword = operation({
  id: 'resetPassword',
  method: 'POST',
  path: '/premium/password/reset',
  tag,
  summary: 'Replace the password',
  description: 'The old one stops working at once, open tunnels included.',
  body: z.object({ subuser_id: subuserId() }),
  answer: credential,
  example: credentialExample,
  codes: ['not_found'],
})

export const toCredential = (of: { subuser: Subuser; password: string }) => ({
  login: of.subuser.login,
  password: of.password,
  subuser: toRef(of.subuser),
})
