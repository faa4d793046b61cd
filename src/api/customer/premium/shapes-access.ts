import { z } from '@hono/zod-openapi'
import { maxSessionMinutes } from '../../../core/login.ts'
import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import { readIso, toIso } from '../../../core/time.ts'
import {
  bodyInteger,
  bodyOneOf,
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
      description: 'Country code, ISO 3166-1 alpha-2, upper or lower case.',
      example: 'US',
    })

const locationName = (example: string) =>
  printable(1, 80).openapi({ description: 'Name of the location, or its form in a login.', example })

const locationNames = (example: string, description: string) =>
  z
    .array(locationName(example))
    .max(maxLocations)
    .optional()
    .openapi({ description, example: [example] })

const asn = bodyInteger({ min: 1, max: 4_294_967_295, example: 7018, description: 'Autonomous system number (ASN).' })

/** The places that a request narrows to; what the exits do not have is refused by name. */
export const locationFields = {
  country_code: countryCode().optional().openapi({ description: 'One country; an alternative to `countries`.' }),
  countries: z
    .array(countryCode())
    .max(maxLocations)
    .optional()
    .openapi({ description: 'Countries to choose exits from.', example: ['US', 'DE'] }),
  states: locationNames('New York', 'States to choose exits from: names, or `state` values of `locations/states`.'),
  cities: locationNames('New York', 'Cities to choose exits from: names, or `city` values of `locations/cities`.'),
  zipcodes: locationNames('10001', 'Zip codes to choose exits from.'),
  asns: z.array(asn).max(maxLocations).optional().openapi({ description: 'Networks (ASNs) to choose exits from.' }),
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
  affectsNodes: true,
  summary: 'Generate a list of proxies',
  description:
    'Returns one line per proxy. The login encodes all parameters, so you can also write lines by hand: see ' +
    '`/docs/login-grammar`. Values of `format_id`: 1 host:port:login:password, 2 login:password@host:port, ' +
    '3 host:port for whitelisted addresses, 4 protocol://login:password@host:port. `format` is a template of ' +
    '{protocol}, {login}, {password}, {host} and {port}; the braces may be omitted, as in ' +
    '`login:password@host:port`, and `format` also accepts a number of `format_id`. A line without a login gets its ' +
    'own port: the gateway identifies the sub-user and the parameters by source address and port. Lines with a ' +
    'password need the scope `passwords` in addition to `trade`.',
  body: z.object({
    pool_type: poolType(),
    ...locationFields,
    type: z.enum(['sticky', 'rotating']).default('sticky').openapi({
      description:
        '`sticky` keeps the exit of a line for `session_ttl` minutes; `rotating` changes it with each connection.',
    }),
    protocol: z
      .enum(['http', 'socks5', 'https'])
      .default('http')
      .openapi({
        description:
          'Proxy protocol of the lines. `https` is an HTTP proxy over TLS, for networks that filter plain proxies. ' +
          'Its lines contain a login and the name in the certificate, also in `ip`.',
      }),
    session_ttl: bodyInteger({
      min: 1,
      max: maxSessionMinutes,
      example: 10,
      description: 'Minutes for which a line keeps its exit. Only with `type` `sticky`.',
    })
      .optional()
      .openapi({ default: defaultTtlMinutes }),
    quantity: bodyInteger({ min: 1, max: 1000, example: 10, description: 'Number of lines.' }).default(1),
    format_id: bodyOneOf([1, 2, 3, 4], {
      default: 1,
      description: 'Number of a line format, listed in the description of this operation.',
      example: 1,
    }).optional(),
    format: z
      .union([z.string(), z.number()], problem('template_or', { allowed: [1, 2, 3, 4] }))
      .optional()
      .openapi({
        type: ['string', 'integer'],
        description: 'Line template; an alternative to `format_id`.',
        example: '{login}:{password}@{host}:{port}',
      }),
    subuser_id: subuserId(),
  }),
  singular: singularLocations,
  answer: z.object({
    subuser: subuserRef,
    params: part('Parameters of the request after parsing, with defaults filled in.', {
      pool_type: shownPool(),
      countries: slugs('Countries of the exits; empty means any.', 'US'),
      states: slugs('States, in the form used in logins.', 'newyork'),
      cities: slugs('Cities, in the form used in logins.', 'newyork'),
      zipcodes: slugs('Zip codes.', '10001'),
      asns: z.array(z.int()).openapi({ description: 'Networks (ASNs).', example: [7018] }),
      type: choice('Session type of the lines.', ['sticky', 'rotating']),
      protocol: choice('Proxy protocol of the lines.', ['http', 'socks5', 'https']),
      session_ttl: whole('Minutes for which a line keeps its exit; null for `rotating`.', 10).nullable(),
      quantity: whole('Number of lines.', 1),
      format_id: whole('Number of the line format; null if a template was given.', 1).nullable(),
      format: text('Template of the lines.', '{host}:{port}:{login}:{password}'),
    }),
    domain: text(
      'The lines with the host name of the gateway, separated by newlines.',
      `gw.example.net:${exampleLine}`,
    ),
    ip: text('The lines with the IP address of the gateway, separated by newlines.', `203.0.113.7:${exampleLine}`),
    proxies: list('The lines of `domain` as an array.', text('One line.', `gw.example.net:${exampleLine}`)),
    browser_host: text(
      'With `https`: host name for browsers, in place of the one in the lines. See `browser_host` of a dedicated ' +
        'proxy. Null if there is none, and with other protocols.',
      'browser.gw.example.net',
    ).nullable(),
  }),
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal('port_limit', { max: 1000, free: 10 }, { limit: 1000, available: 10 }),
    out_of_stock: new Refusal('no_port_free', {}, { available: 0 }),
  },
})

const shownIp = () => text('IP address or prefix in canonical form.', '198.51.100.7')

const entry = named('WhitelistEntry', {
  ip: shownIp(),
  comment: text('Your comment on the entry.', 'office'),
  created_at: moment('When the entry was added.'),
  last_used_at: moment('When a client last connected from the address; null if never.').nullable(),
})

const listed = {
  ips: list('All entries of the whitelist.', entry),
  limit: whole('Maximum number of entries.', 100),
  subuser: subuserRef,
}

export const getWhitelist = operation('getWhitelist', 'GET /premium/whitelist', {
  summary: 'List the whitelist of a sub-user',
  query: z.object({ subuser_id: subuserId() }),
  answer: z.object(listed),
  refusals: noSuchSubuser,
})

const ip = z.string().max(64, problem('address_or_prefix')).openapi({
  description: 'IPv4 or IPv6 address, or a prefix of at least /24 (IPv4) or /56 (IPv6).',
  example: '198.51.100.7',
})

export const addToWhitelist = operation('addToWhitelist', 'POST /premium/whitelist/add', {
  affectsNodes: true,
  summary: 'Add an address to the whitelist of a sub-user',
  body: z.object({
    ip,
    comment: printable(0, 200).optional().openapi({ description: 'Your comment on the entry.', example: 'office' }),
    subuser_id: subuserId(),
  }),
  answer: z.object({ ip: shownIp(), added: flag('False if the whitelist already contained the address.'), ...listed }),
  refusals: { ...noSuchSubuser, conflict: new Refusal('whitelist_full', { max: 100 }, { limit: 100 }) },
})

export const removeFromWhitelist = operation('removeFromWhitelist', 'POST /premium/whitelist/remove', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Remove an address from the whitelist of a sub-user',
  body: z.object({ ip, subuser_id: subuserId() }),
  answer: z.object({ ip: shownIp(), removed: flag('False if the whitelist did not contain the address.'), ...listed }),
  refusals: noSuchSubuser,
  example: { ips: [] },
})

const credential = z.object({
  login: text('First part of every proxy login of the sub-user.', 'u7k2m9x4qa'),
  password: text('Password; the same for all parameters in the login.', '0a1b2c3d4e5f6g7h8j9kmnpq'),
  subuser: subuserRef,
})

export const getPassword = operation('getPassword', 'GET /premium/password', {
  isSecret: true,
  summary: 'Read the login and password of a sub-user',
  description: 'The token needs the scope `passwords` in addition to `read`.',
  query: z.object({ subuser_id: subuserId() }),
  answer: credential,
  refusals: { ...noSuchSubuser, ...passwordsRefused },
})

export const resetPassword = operation('resetPassword', 'POST /premium/password/reset', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Replace the password of a sub-user',
  description: 'The old one stops working at once, open tunnels included.',
  body: z.object({ subuser_id: subuserId() }),
  answer: credential,
  refusals: noSuchSubuser,
})

const exits = whole('Number of exits at the moment.', 8)
const shownCountry = text('Country code, ISO 3166-1 alpha-2.', 'US')
const shownName = text('Display name.', 'New York')
const slug = (what: string, example: string) => text(`${what}, in the form used in logins.`, example)
const commonestFirst = 'Locations with exits, most exits first.'
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
  answer: z.object({
    pool_type: shownPool(),
    asns: locationRows({ asn: whole('Autonomous system number (ASN).', 7018) }),
  }),
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
  summary: 'Read relayed traffic by hour, day, pool, sub-user or host',
  description:
    'Hours and days are in UTC. Default range: the last 24 hours for `by=hour`, the last 30 days otherwise. Without ' +
    '`subuser_id` the answer is the sum over all your sub-users. Destination hosts are deleted after a retention ' +
    'period set by the shop, and are stored only for sub-users with `keep_hosts` true.',
  query: z.object({
    by: z.enum(groups).default('day').openapi({ description: 'Grouping of the items.' }),
    from: queryMoment('Start of the range, rounded down to the hour.'),
    to: queryMoment('End of the range, rounded up to the hour. Default: the end of the current hour.'),
    pool_type: poolType().optional(),
    subuser_id: subuserId('Only this sub-user. Default: all your sub-users.'),
    host: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,253}$/, problem('host'))
      .transform((host) => host.toLowerCase())
      .optional()
      .openapi({ type: 'string', description: 'Only this destination host.', example: 'example.com' }),
  }),
  answer: z.object({
    by: choice('Grouping of the items.', groups, 'day'),
    from: moment('Start of the range.'),
    to: moment('End of the range.'),
    subuser: z
      .union([subuserRef, z.null()])
      .openapi({ description: 'Sub-user of the figures; null for all your sub-users.' }),
    total_gb: gigabytes('Sum over all items, both directions.'),
    items: rows('Relayed traffic per group; groups without traffic are omitted.', {
      key: text('Start of the hour or day, or the pool, sub-user or host.', toIso(1_759_968_000_000)),
      received_bytes: whole('Bytes relayed to the customer.', 290_000_000),
      sent_bytes: whole('Bytes relayed from the customer.', 10_000_000),
      gb: gigabytes('Both directions.'),
    }),
  }),
  refusals: noSuchSubuser,
})
