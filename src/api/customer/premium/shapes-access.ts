import { z } from '@hono/zod-openapi'
import { longestSessionMinutes } from '../../../core/login.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Subuser } from '../../../domains/premium/subusers/rules.ts'
import { bodyInteger, exampleAt, flag, moment, passwordsRefused, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  noSuchSubuser,
  poolType,
  printable,
  refExample,
  see,
  shownPool,
  subuserId,
  subuserRef,
  tag,
  toRef,
} from './fields.ts'

const mostPlaces = 50

const country = () =>
  z
    .string()
    .regex(/^[A-Za-z]{2}$/, 'must be two letters, ISO 3166-1')
    .transform((code) => code.toUpperCase())
    .openapi({
      type: 'string',
      pattern: '^[A-Za-z]{2}$',
      description: 'A country, ISO 3166-1 alpha-2, in any case.',
      example: 'US',
    })

const place = (example: string) =>
  printable(1, 80).openapi({ description: 'A name, as people or logins write it.', example })

const places = (example: string, description: string) =>
  z
    .array(place(example))
    .max(mostPlaces, `must be at most ${mostPlaces}`)
    .optional()
    .openapi({ description, example: [example] })

const asn = bodyInteger({ min: 1, max: 4_294_967_295, example: 7018, description: "A network's number." })

/** The places that a request narrows to; what the exits do not have is refused by name. */
export const placeFields = {
  country_code: country().optional().openapi({ description: 'One country, in place of `countries`.' }),
  countries: z
    .array(country())
    .max(mostPlaces, `must be at most ${mostPlaces}`)
    .optional()
    .openapi({ description: 'Any of these.', example: ['US', 'DE'] }),
  states: places('New York', 'Any of these, by name or as `locations/states` writes them.'),
  cities: places('New York', 'Any of these, by name or as `locations/cities` writes them.'),
  zipcodes: places('10001', 'Any of these.'),
  asns: z
    .array(asn)
    .max(mostPlaces, `must be at most ${mostPlaces}`)
    .optional()
    .openapi({ description: 'Any of these networks.' }),
}

/** What a customer may call one of them; understood as a list of one. */
export const singularPlaces = {
  country: 'countries',
  state: 'states',
  city: 'cities',
  zipcode: 'zipcodes',
  zip: 'zipcodes',
  asn: 'asns',
}

export const defaultTtlMinutes = 10

const slugs = (description: string, example: string) => z.array(z.string()).openapi({ description, example: [example] })

export const generateProxies = operation({
  id: 'generateProxies',
  method: 'POST',
  path: '/premium/proxies/generate',
  tag,
  summary: 'Generate a list of proxies',
  description:
    'One line a proxy. Everything but the endpoint lives in the login, so lines can be written by hand as well: ' +
    'see `/docs/login-grammar`. `format_id` 1 host:port:login:password, 2 login:password@host:port, 3 host:port ' +
    'for whitelisted addresses, 4 protocol://login:password@host:port; or `format`, a template of {protocol}, ' +
    '{login}, {password}, {host} and {port}. A line without a login gets a port of its own: the source address ' +
    'and the port tell who comes and what for. A template may be written without its braces, ' +
    '`login:password@host:port`, and `format` may be the number that `format_id` takes. Lines with a password need ' +
    'the scope `passwords` as well as `trade`.',
  body: z.object({
    pool_type: poolType(),
    ...placeFields,
    type: z.enum(['sticky', 'rotating']).default('sticky').openapi({
      description: 'Whether a line keeps its exit for `session_ttl`, or changes it with each connection.',
    }),
    protocol: z.enum(['http', 'socks5']).default('http').openapi({ description: 'What the lines are for.' }),
    session_ttl: bodyInteger({
      min: 1,
      max: longestSessionMinutes,
      example: 10,
      description: 'Minutes that a sticky line keeps its exit. Only with `sticky`.',
    })
      .optional()
      .openapi({ default: defaultTtlMinutes }),
    quantity: bodyInteger({ min: 1, max: 1000, example: 10, description: 'How many lines.' }).default(1),
    format_id: z
      .literal([1, 2, 3, 4])
      .optional()
      .openapi({
        type: 'integer',
        enum: [1, 2, 3, 4],
        default: 1,
        description: 'One of four ways to write a line.',
        example: 1,
      }),
    format: z
      .union([z.string(), z.number()], 'must be a template, or one of 1, 2, 3, 4')
      .optional()
      .openapi({
        type: ['string', 'integer'],
        description: 'A template, in place of `format_id`.',
        example: '{login}:{password}@{host}:{port}',
      }),
    subuser_id: subuserId(),
  }),
  singular: singularPlaces,
  see,
  exampleBody: { pool_type: 'residential' },
  answer: z.object({
    subuser: subuserRef,
    params: z
      .object({
        pool_type: shownPool(),
        countries: slugs('Countries that exits are in; empty is anywhere.', 'US'),
        states: slugs('States, as logins write them.', 'newyork'),
        cities: slugs('Cities, as logins write them.', 'newyork'),
        zipcodes: slugs('Zip codes.', '10001'),
        asns: z.array(z.int()).openapi({ description: 'Networks.', example: [7018] }),
        type: z.enum(['sticky', 'rotating']).openapi({ description: 'Whether lines keep their exits.' }),
        protocol: z.enum(['http', 'socks5']).openapi({ description: 'What the lines are for.' }),
        session_ttl: whole('Minutes that a line keeps its exit; null when it rotates.', 10).nullable(),
        quantity: whole('How many lines.', 1),
        format_id: whole('The number of the format; null for a template of your own.', 1).nullable(),
        format: text('The template of the lines.', '{host}:{port}:{login}:{password}'),
      })
      .openapi({ description: 'What was asked for, as it was understood.' }),
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
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal('port_limit', { most: 1000, free: 10 }, { limit: 1000, available: 10 }),
    out_of_stock: new Refusal('no_port_free', {}, { available: 0 }),
  },
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

const shownIp = () => text('An address or a prefix, in its canonical form.', '198.51.100.7')

const entry = z
  .object({
    ip: shownIp(),
    comment: text('Your note on it.', 'office'),
    created_at: moment('When it was added.'),
    last_used_at: moment('When somebody last came from it; null before the first time.').nullable(),
  })
  .openapi('WhitelistEntry')

const entryExample = {
  ip: '198.51.100.7',
  comment: 'office',
  created_at: toIso(exampleAt),
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

const listed = {
  ips: z.array(entry).openapi({ description: 'The whole list.' }),
  limit: whole('How many it may hold.', 100),
  subuser: subuserRef,
}
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
  see,
  codes: ['not_found'],
  refusals: noSuchSubuser,
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
    comment: printable(0, 200).optional().openapi({ description: 'Your note on it.', example: 'office' }),
    subuser_id: subuserId(),
  }),
  exampleBody: { ip: '198.51.100.7' },
  answer: z.object({
    ip: shownIp(),
    added: flag('False when it was there already.'),
    ...listed,
  }),
  example: { ip: '198.51.100.7', added: true, ...listedExample },
  see,
  codes: ['not_found', 'conflict'],
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal('whitelist_full', { most: 100 }, { limit: 100 }),
  },
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
  isDestructive: true,
  tag,
  summary: 'Take an address off the whitelist',
  body: z.object({ ip, subuser_id: subuserId() }),
  exampleBody: { ip: '198.51.100.7' },
  answer: z.object({
    ip: shownIp(),
    removed: flag('False when it was not there.'),
    ...listed,
  }),
  example: { ip: '198.51.100.7', removed: true, ...listedExample, ips: [] },
  see,
  codes: ['not_found'],
  refusals: noSuchSubuser,
})

export const toRemoved = (of: Listed & { prefix: string; removed: boolean }) => ({
  ip: of.prefix,
  removed: of.removed,
  ...toWhitelist(of),
})

const credential = z.object({
  login: text('What a proxy login begins with.', 'u7k2m9x4qa'),
  password: text('The password, whatever follows the login.', '0a1b2c3d4e5f6g7h8j9kmnpq'),
  subuser: subuserRef,
})
const credentialExample = { login: 'u7k2m9x4qa', password: '0a1b2c3d4e5f6g7h8j9kmnpq', subuser: refExample }

/** What reading and replacing it have in common. */
const ofCredential = {
  answer: credential,
  example: credentialExample,
  see,
  codes: ['not_found' as const],
  refusals: noSuchSubuser,
}

export const getPassword = operation({
  id: 'getPassword',
  method: 'GET',
  path: '/premium/password',
  isSecret: true,
  tag,
  summary: 'Read the login and password',
  description: 'The token needs the scope `passwords` as well as `read`.',
  query: z.object({ subuser_id: subuserId() }),
  ...ofCredential,
  refusals: { ...ofCredential.refusals, ...passwordsRefused },
})

export const resetPassword = operation({
  id: 'resetPassword',
  method: 'POST',
  path: '/premium/password/reset',
  isDestructive: true,
  tag,
  summary: 'Replace the password',
  description: 'The old one stops working at once, open tunnels included.',
  body: z.object({ subuser_id: subuserId() }),
  ...ofCredential,
})

export const toCredential = (of: { subuser: Subuser; password: string }) => ({
  login: of.subuser.login,
  password: of.password,
  subuser: toRef(of.subuser),
})
