import { z } from '@hono/zod-openapi'
import type { Subuser } from '../../../domains/premium/rules.ts'
import { bytes } from '../../../kernel/bytes.ts'
import { readIso, toIso } from '../../../kernel/time.ts'
import { moment } from '../../fields.ts'
import { operation } from '../../operation.ts'
import { gigabytes, poolType, refExample, subuserId, subuserRef, tag, toGb, toRef } from './fields.ts'
import { placeFields } from './shapes-access.ts'

const exits = z.int().openapi({ description: 'How many exits are there now.', example: 8 })

const { country_code, countries, states, cities, zipcodes } = placeFields

export const listCountries = operation({
  id: 'listPremiumCountries',
  method: 'POST',
  path: '/premium/locations/countries',
  tag,
  summary: 'List the countries of a pool',
  body: z.object({ pool_type: poolType() }),
  answer: z.object({
    pool_type: z.string(),
    countries: z.array(z.object({ country_code: z.string(), exits })),
  }),
  example: { pool_type: 'residential', countries: [{ country_code: 'US', exits: 8 }] },
})

const within = { country_code: z.string() }

export const listStates = operation({
  id: 'listPremiumStates',
  method: 'POST',
  path: '/premium/locations/states',
  tag,
  summary: 'List the states of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries }),
  answer: z.object({
    pool_type: z.string(),
    states: z.array(z.object({ ...within, state: z.string(), name: z.string(), exits })),
  }),
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
  summary: 'List the cities of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states }),
  answer: z.object({
    pool_type: z.string(),
    cities: z.array(z.object({ ...within, city: z.string(), name: z.string(), exits })),
  }),
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
  summary: 'List the zip codes of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states, cities }),
  answer: z.object({
    pool_type: z.string(),
    zipcodes: z.array(z.object({ ...within, zipcode: z.string(), name: z.string(), exits })),
  }),
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
  summary: 'List the networks of a pool',
  body: z.object({ pool_type: poolType(), country_code, countries, states, cities, zipcodes }),
  answer: z.object({
    pool_type: z.string(),
    asns: z.array(z.object({ ...within, asn: z.int(), name: z.string(), exits })),
  }),
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
      (text) => readIso(text) !== undefined,
      'must be a date like 2026-01-31 or a moment like 2026-01-31T12:00:00Z',
    )
    .transform((text) => readIso(text) ?? 0)
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
    'In UTC, for the last day by the hour and for the last 30 days by anything else unless said. Without `subuser_id` it is ' +
    'the sum over all your sub-users. Hosts are kept for a while only, and not for sub-users that do not want it.',
  query: z.object({
    by: z.enum(groups).optional().openapi({ description: 'What to put together; day unless said.' }),
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
    by: z.enum(groups),
    from: moment(),
    to: moment(),
    subuser: z.union([subuserRef, z.null()]),
    total_gb: gigabytes('Both directions, all items together.'),
    items: z.array(
      z.object({
        key: z.string().openapi({ description: 'The moment it begins, or the name of the pool, sub-user or host.' }),
        received_bytes: z.int().openapi({ description: 'To the customer.' }),
        sent_bytes: z.int().openapi({ description: 'From the customer.' }),
        gb: gigabytes('Both directions.'),
      }),
    ),
  }),
  example: {
    by: 'day',
    from: toIso(1_759_968_000_000),
    to: toIso(1_760_054_400_000),
    subuser: refExample,
    total_gb: 0.3,
    items: [{ key: toIso(1_759_968_000_000), received_bytes: 290_000_000, sent_bytes: 10_000_000, gb: 0.3 }],
  },
  codes: ['not_found'],
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
