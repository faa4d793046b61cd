import { z } from '@hono/zod-openapi'
import { maxSessionMinutes } from '../../../core/login.ts'
import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import {
  bodyInteger,
  choice,
  flag,
  list,
  moment,
  named,
  part,
  passwordsRefused,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { gigabytes, noSuchSubuser, operation, poolType, printable, shownPool, subuserId, subuserRef } from './shapes.ts'

const maxLocations = 50

const countryCode = () =>
  z
    .string()
    .regex(/^[A-Za-z]{2}$/, problem('country_code'))
    .transform((code) => code.toUpperCase())
    .openapi({
      type: 'string',
      pattern: '^[A-Za-z]{2}$',
      description: 'A country, ISO 3166-1 alpha-2, in any case.',
      example: 'US',
    })

const locationName = (example: string) =>
  printable(1, 80).openapi({ description: 'A name, as people or logins write it.', example })

const locationNames = (example: string, description: string) =>
  z
    .array(locationName(example))
    .max(maxLocations)
    .optional()
    .openapi({ description, example: [example] })

const asn = bodyInteger({ min: 1, max: 4_294_967_295, example: 7018, description: "A network's number." })

/** The places that a request narrows to; what the exits do not have is refused by name. */
export const locationFields = {
  country_code: countryCode().optional().openapi({ description: 'One country, in place of `countries`.' }),
  countries: z
    .array(countryCode())
    .max(maxLocations)
    .optional()
    .openapi({ description: 'Any of these.', example: ['US', 'DE'] }),
  states: locationNames('New York', 'Any of these, by name or as `locations/states` writes them.'),
  cities: locationNames('New York', 'Any of these, by name or as `locations/cities` writes them.'),
  zipcodes: locationNames('10001', 'Any of these.'),
  asns: z.array(asn).max(maxLocations).optional().openapi({ description: 'Any of these networks.' }),
}

/** Singular names of list fields: a single value is read as a list of one. */
const singularLocations = {
  country: 'countries',
  state: 'states',
  city: 'cities',
  zipcode: 'zipcodes',
  zip: 'zipcodes',
  asn: 'asns',
}

export const defaultTtlMinutes = 10

const slugs = (description: string, example: string) => z.array(z.string()).openapi({ description, example: [example] })

const exampleLine = '10800:u7k2m9x4qa-pool-residential-country-us-city-newyork-session-a8f3-ttl-10:secret'

export const generateProxies = operation('generateProxies', 'POST /premium/proxies/generate', {
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
    ...locationFields,
    type: z.enum(['sticky', 'rotating']).default('sticky').openapi({
      description: 'Whether a line keeps its exit for `session_ttl`, or changes it with each connection.',
    }),
    protocol: z.enum(['http', 'socks5']).default('http').openapi({ description: 'What the lines are for.' }),
    session_ttl: bodyInteger({
      min: 1,
      max: maxSessionMinutes,
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
      .union([z.string(), z.number()], problem('template_or', { allowed: [1, 2, 3, 4] }))
      .optional()
      .openapi({
        type: ['string', 'integer'],
        description: 'A template, in place of `format_id`.',
        example: '{login}:{password}@{host}:{port}',
      }),
    subuser_id: subuserId(),
  }),
  singular: singularLocations,
  answer: z.object({
    subuser: subuserRef,
    params: part('What was asked for, as it was understood.', {
      pool_type: shownPool(),
      countries: slugs('Countries that exits are in; empty is anywhere.', 'US'),
      states: slugs('States, as logins write them.', 'newyork'),
      cities: slugs('Cities, as logins write them.', 'newyork'),
      zipcodes: slugs('Zip codes.', '10001'),
      asns: z.array(z.int()).openapi({ description: 'Networks.', example: [7018] }),
      type: choice('Whether lines keep their exits.', ['sticky', 'rotating']),
      protocol: choice('What the lines are for.', ['http', 'socks5']),
      session_ttl: whole('Minutes that a line keeps its exit; null when it rotates.', 10).nullable(),
      quantity: whole('How many lines.', 1),
      format_id: whole('The number of the format; null for a template of your own.', 1).nullable(),
      format: text('The template of the lines.', '{host}:{port}:{login}:{password}'),
    }),
    domain: text('The lines with the gateway’s name, joined by newlines.', `gw.example.net:${exampleLine}`),
    ip: text('The lines with the gateway’s address, joined by newlines.', `203.0.113.7:${exampleLine}`),
    proxies: list('The lines of `domain`.', text('A line.', `gw.example.net:${exampleLine}`)),
  }),
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal('port_limit', { most: 1000, free: 10 }, { limit: 1000, available: 10 }),
    out_of_stock: new Refusal('no_port_free', {}, { available: 0 }),
  },
})

const shownIp = () => text('An address or a prefix, in its canonical form.', '198.51.100.7')

const entry = named('WhitelistEntry', {
  ip: shownIp(),
  comment: text('Your note on it.', 'office'),
  created_at: moment('When it was added.'),
  last_used_at: moment('When a client last came from it; null before the first time.').nullable(),
})

const listed = {
  ips: list('The whole list.', entry),
  limit: whole('How many it may hold.', 100),
  subuser: subuserRef,
}

export const getWhitelist = operation('getWhitelist', 'GET /premium/whitelist', {
  summary: 'List the addresses that need no password',
  query: z.object({ subuser_id: subuserId() }),
  answer: z.object(listed),
  refusals: noSuchSubuser,
})

const ip = z.string().max(64, problem('address_or_prefix')).openapi({
  description: 'An IPv4 or IPv6 address, or a prefix no wider than /24 or /56.',
  example: '198.51.100.7',
})

export const addToWhitelist = operation('addToWhitelist', 'POST /premium/whitelist/add', {
  summary: 'Let an address in without a password',
  body: z.object({
    ip,
    comment: printable(0, 200).optional().openapi({ description: 'Your note on it.', example: 'office' }),
    subuser_id: subuserId(),
  }),
  answer: z.object({ ip: shownIp(), added: flag('False when it was there already.'), ...listed }),
  refusals: { ...noSuchSubuser, conflict: new Refusal('whitelist_full', { most: 100 }, { limit: 100 }) },
})

export const removeFromWhitelist = operation('removeFromWhitelist', 'POST /premium/whitelist/remove', {
  isDestructive: true,
  summary: 'Take an address off the whitelist',
  body: z.object({ ip, subuser_id: subuserId() }),
  answer: z.object({ ip: shownIp(), removed: flag('False when it was not there.'), ...listed }),
  refusals: noSuchSubuser,
  example: { ips: [] },
})

const credential = z.object({
  login: text('What a proxy login begins with.', 'u7k2m9x4qa'),
  password: text('The password, whatever follows the login.', '0a1b2c3d4e5f6g7h8j9kmnpq'),
  subuser: subuserRef,
})

export const getPassword = operation('getPassword', 'GET /premium/password', {
  isSecret: true,
  summary: 'Read the login and password',
  description: 'The token needs the scope `passwords` as well as `read`.',
  query: z.object({ subuser_id: subuserId() }),
  answer: credential,
  refusals: { ...noSuchSubuser, ...passwordsRefused },
})

export const resetPassword = operation('resetPassword', 'POST /premium/password/reset', {
  isDestructive: true,
  summary: 'Replace the password',
  description: 'The old one stops working at once, open tunnels included.',
  body: z.object({ subuser_id: subuserId() }),
  answer: credential,
  refusals: noSuchSubuser,
})

const exits = whole('How many exits are there now.', 8)
const shownCountry = text('The country, ISO 3166-1 alpha-2.', 'US')
const shownName = text('Its name for people.', 'New York')
const slug = (what: string, example: string) => text(`${what}, as a login writes it.`, example)
const commonestFirst = 'What there is, the most common first.'
const locationRows = <Shape extends z.ZodRawShape>(shape: Shape) =>
  rows(commonestFirst, { country_code: shownCountry, ...shape, name: shownName, exits })

const { country, state, city, zipcode, zip } = singularLocations
const { country_code, countries, states, cities, zipcodes } = locationFields

export const listCountries = operation('listPremiumCountries', 'POST /premium/locations/countries', {
  scope: 'read',
  summary: 'List the countries of a pool',
  body: z.object({ pool_type: poolType() }),
  answer: z.object({ pool_type: shownPool(), countries: rows(commonestFirst, { country_code: shownCountry, exits }) }),
})

export const listStates = operation('listPremiumStates', 'POST /premium/locations/states', {
  scope: 'read',
  summary: 'List the states of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries }),
  answer: z.object({ pool_type: shownPool(), states: locationRows({ state: slug('The state', 'newyork') }) }),
  singular: { country },
})

export const listCities = operation('listPremiumCities', 'POST /premium/locations/cities', {
  scope: 'read',
  summary: 'List the cities of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states }),
  answer: z.object({ pool_type: shownPool(), cities: locationRows({ city: slug('The city', 'newyork') }) }),
  singular: { country, state },
})

export const listZipcodes = operation('listPremiumZipcodes', 'POST /premium/locations/zipcodes', {
  scope: 'read',
  summary: 'List the zip codes of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states, cities }),
  answer: z.object({ pool_type: shownPool(), zipcodes: locationRows({ zipcode: slug('The zip code', '10001') }) }),
  singular: { country, state, city },
})

export const listAsns = operation('listPremiumAsns', 'POST /premium/locations/asns', {
  scope: 'read',
  summary: 'List the networks of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states, cities, zipcodes }),
  answer: z.object({ pool_type: shownPool(), asns: locationRows({ asn: whole("The network's number.", 7018) }) }),
  singular: { country, state, city, zipcode, zip },
})

const queryMoment = (description: string) =>
  z
    .string()
    .refine((written) => readIso(written) !== undefined, problem('moment'))
    .transform((written) => readIso(written) ?? 0)
    .optional()
    .openapi({ type: 'string', description, example: '2026-01-31T12:00:00Z' })

const groups = ['hour', 'day', 'pool', 'subuser', 'host'] as const

export const getUsage = operation('getPremiumUsage', 'GET /premium/usage', {
  summary: 'Read what was carried, by hour, day, pool, sub-user or host',
  description:
    'In UTC, for the last day by the hour and for the last 30 days by anything else unless said. Without ' +
    '`subuser_id` it is the sum over all your sub-users. Hosts are kept for a while only, and not for sub-users ' +
    'that do not want it.',
  query: z.object({
    by: z.enum(groups).default('day').openapi({ description: 'What to put together.' }),
    from: queryMoment('From the hour of this moment on.'),
    to: queryMoment('Up to the hour of this moment; now unless said.'),
    pool_type: poolType().optional(),
    subuser_id: subuserId('One sub-user only; all of yours unless given.'),
    host: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,253}$/, problem('host'))
      .transform((host) => host.toLowerCase())
      .optional()
      .openapi({ type: 'string', description: 'One destination only.', example: 'example.com' }),
  }),
  answer: z.object({
    by: choice('What was put together.', groups, 'day'),
    from: moment('Where it begins.'),
    to: moment('Where it ends.'),
    subuser: z.union([subuserRef, z.null()]).openapi({ description: 'Whose it is; null for all of yours.' }),
    total_gb: gigabytes('Both directions, all items together.'),
    items: rows('What was carried; what carried nothing is left out.', {
      key: text('The moment it begins, or the name of the pool, sub-user or host.', toIso(1_759_968_000_000)),
      received_bytes: whole('To the customer.', 290_000_000),
      sent_bytes: whole('From the customer.', 10_000_000),
      gb: gigabytes('Both directions.'),
    }),
  }),
  refusals: noSuchSubuser,
})
