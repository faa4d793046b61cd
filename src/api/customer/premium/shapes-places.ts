import { z } from '@hono/zod-openapi'
import { bytes } from '../../../core/bytes.ts'
import { readIso, toIso } from '../../../core/time.ts'
import type { Subuser } from '../../../domains/premium/subusers/rules.ts'
import { moment, text, whole } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  gigabytes,
  noSuchSubuser,
  poolType,
  refExample,
  see,
  shownPool,
  subuserId,
  subuserRef,
  tag,
  toGb,
  toRef,
} from './fields.ts'
import { placeFields, singularPlaces } from './shapes-access.ts'

const exits = whole('How many exits are there now.', 8)
const shownCountry = text('The country, ISO 3166-1 alpha-2.', 'US')
const shownName = text('Its name for people.', 'New York')
const slug = (what: string, example: string) => text(`${what}, as a login writes it.`, example)
const list = <Item extends z.ZodType>(item: Item) =>
  z.array(item).openapi({ description: 'What there is, the most common first.' })

/** What each of the lists may be asked with. */
const asked = { see, exampleBody: { pool_type: 'residential' } }
const { country, state, city, zipcode, zip } = singularPlaces

const { country_code, countries, states, cities, zipcodes } = placeFields

export const listCountries = operation({
  id: 'listPremiumCountries',
  method: 'POST',
  path: '/premium/locations/countries',
  tag,
  scope: 'read',
  summary: 'List the countries of a pool',
  body: z.object({ pool_type: poolType() }),
  answer: z.object({
    pool_type: shownPool(),
    countries: list(z.object({ country_code: shownCountry, exits })),
  }),
  ...asked,
  example: { pool_type: 'residential', countries: [{ country_code: 'US', exits: 8 }] },
})

const within = { country_code: shownCountry }

export const listStates = operation({
  id: 'listPremiumStates',
  method: 'POST',
  path: '/premium/locations/states',
  tag,
  scope: 'read',
  summary: 'List the states of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries }),
  answer: z.object({
    pool_type: shownPool(),
    states: list(z.object({ ...within, state: slug('The state', 'newyork'), name: shownName, exits })),
  }),
  ...asked,
  singular: { country },
  example: {
    pool_type: 'residential',
    states: [{ country_code: 'US', state: 'newyork', name: 'New York', exits: 4 }],
  },
})

export const listCities = operation({
  id: 'listPremiumCities',
  method: 'POST',
  path: '/premium/locations/cities',
  tag,
  scope: 'read',
  summary: 'List the cities of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states }),
  answer: z.object({
    pool_type: shownPool(),
    cities: list(z.object({ ...within, city: slug('The city', 'newyork'), name: shownName, exits })),
  }),
  ...asked,
  singular: { country, state },
  example: {
    pool_type: 'residential',
    cities: [{ country_code: 'US', city: 'newyork', name: 'New York', exits: 2 }],
  },
})

export const listZipcodes = operation({
  id: 'listPremiumZipcodes',
  method: 'POST',
  path: '/premium/locations/zipcodes',
  tag,
  scope: 'read',
  summary: 'List the zip codes of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states, cities }),
  answer: z.object({
    pool_type: shownPool(),
    zipcodes: list(z.object({ ...within, zipcode: slug('The zip code', '10001'), name: shownName, exits })),
  }),
  ...asked,
  singular: { country, state, city },
  example: {
    pool_type: 'residential',
    zipcodes: [{ country_code: 'US', zipcode: '10001', name: '10001', exits: 2 }],
  },
})

export const listAsns = operation({
  id: 'listPremiumAsns',
  method: 'POST',
  path: '/premium/locations/asns',
  tag,
  scope: 'read',
  summary: 'List the networks of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states, cities, zipcodes }),
  answer: z.object({
    pool_type: shownPool(),
    asns: list(z.object({ ...within, asn: whole("The network's number.", 7018), name: shownName, exits })),
  }),
  ...asked,
  singular: { country, state, city, zipcode, zip },
  example: { pool_type: 'residential', asns: [{ country_code: 'US', asn: 7018, name: 'AS7018', exits: 4 }] },
})

type PlaceCount = { readonly slug: string; readonly name: string; readonly country: string; readonly exits: number }

export const toCountries = (pool: string, of: readonly PlaceCount[]) => ({
  pool_type: pool,
  countries: of.map((each) => ({ country_code: each.country, exits: each.exits })),
})

const toPlace = (of: PlaceCount) => ({ country_code: of.country, name: of.name, exits: of.exits })

export const toStates = (pool: string, of: readonly PlaceCount[]) => ({
  pool_type: pool,
  states: of.map((each) => ({ ...toPlace(each), state: each.slug })),
})
export const toCities = (pool: string, of: readonly PlaceCount[]) => ({
  pool_type: pool,
  cities: of.map((each) => ({ ...toPlace(each), city: each.slug })),
})
export const toZipcodes = (pool: string, of: readonly PlaceCount[]) => ({
  pool_type: pool,
  zipcodes: of.map((each) => ({ ...toPlace(each), zipcode: each.slug })),
})
export const toAsns = (pool: string, of: readonly PlaceCount[]) => ({
  pool_type: pool,
  asns: of.map((each) => ({ ...toPlace(each), asn: Number(each.slug) })),
})

/** A moment or a date in a query, as milliseconds. */
const queryMoment = (description: string) =>
  z
    .string()
    .refine(
      (written) => readIso(written) !== undefined,
      'must be a date like 2026-01-31 or a moment like 2026-01-31T12:00:00Z',
    )
    .transform((written) => readIso(written) ?? 0)
    .optional()
    .openapi({ type: 'string', description, example: '2026-01-31T12:00:00Z' })

const groups = ['hour', 'day', 'pool', 'subuser', 'host'] as const

export const getUsage = operation({
  id: 'getPremiumUsage',
  method: 'GET',
  path: '/premium/usage',
  tag,
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
      .regex(/^[A-Za-z0-9._:-]{1,253}$/, 'must be a host name or an address')
      .transform((host) => host.toLowerCase())
      .optional()
      .openapi({ type: 'string', description: 'One destination only.', example: 'example.com' }),
  }),
  answer: z.object({
    by: z.enum(groups).openapi({ description: 'What was put together.' }),
    from: moment('Where it begins.'),
    to: moment('Where it ends.'),
    subuser: z.union([subuserRef, z.null()]).openapi({ description: 'Whose it is; null for all of yours.' }),
    total_gb: gigabytes('Both directions, all items together.'),
    items: z
      .array(
        z.object({
          key: text('The moment it begins, or the name of the pool, sub-user or host.', toIso(1_759_968_000_000)),
          received_bytes: whole('To the customer.', 290_000_000),
          sent_bytes: whole('From the customer.', 10_000_000),
          gb: gigabytes('Both directions.'),
        }),
      )
      .openapi({ description: 'What was carried; what carried nothing is left out.' }),
  }),
  example: {
    by: 'day',
    from: toIso(1_759_968_000_000),
    to: toIso(1_760_054_400_000),
    subuser: refExample,
    total_gb: 0.3,
    items: [{ key: toIso(1_759_968_000_000), received_bytes: 290_000_000, sent_bytes: 10_000_000, gb: 0.3 }],
  },
  see,
  codes: ['not_found'],
  refusals: noSuchSubuser,
})

export const toUsage = (of: {
  by: (typeof groups)[number]
  from: number
  to: number
  subuser: Subuser | null
  rows: readonly { readonly key: string; readonly received: bigint; readonly sent: bigint }[]
}) => ({
  by: of.by,
  from: toIso(of.from),
  to: toIso(of.to),
  subuser: of.subuser && toRef(of.subuser),
  total_gb: toGb(bytes(of.rows.reduce((sum, row) => sum + row.received + row.sent, 0n))),
  items: of.rows.map((row) => ({
    key: of.by === 'hour' || of.by === 'day' ? toIso(Number(row.key)) : row.key,
    received_bytes: Number(row.received),
    sent_bytes: Number(row.sent),
    gb: toGb(bytes(row.received + row.sent)),
  })),
})
