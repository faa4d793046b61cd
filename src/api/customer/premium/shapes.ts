import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Subuser, SubuserLimits } from '../../../domains/premium/subusers/rules.ts'
import {
  balanceAfter,
  bodyInteger,
  checked,
  choice,
  flag,
  list,
  moment,
  named,
  orderId,
  roubles,
  rows,
  text,
  whole,
} from '../../fields.ts'
import { exampleOf, operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const exampleSubuser = 'sub_01k73sf8000000000000000000'
const exampleMade = 'sub_01k73sf8000000000000000001'

/** An id that has not the shape of one names nothing, and is answered like one that names nothing of yours. */
const requiredSubuserId = (description: string, example = exampleMade) =>
  checked(description, /^[A-Za-z0-9_]{1,64}$/, ['id', { prefix: 'sub' }], example)

export const subuserId = (description = 'Whose; your default sub-user unless given.', example = exampleSubuser) =>
  requiredSubuserId(description, example).optional()

/** The name of a pool. Capitals pass, so that the refusal of an unknown pool can list the known ones. */
export const poolType = () =>
  z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,30}$/, problem('name_of', { thing: 'pool' }))
    .openapi({
      description:
        'The pool; as shipped residential, residential_premium, datacenter or mobile. `GET ' +
        '/premium/traffic/balance` lists all.',
      example: 'residential',
      pattern: '^[a-z][a-z0-9_]{0,30}$',
    })

export const shownPool = () => text('The pool.', 'residential')

const see = {
  pool_type: 'GET /premium/traffic/balance',
  subuser_id: 'GET /premium/subusers',
  from_subuser_id: 'GET /premium/subusers',
  to_subuser_id: 'GET /premium/subusers',
  country_code: 'POST /premium/locations/countries',
  countries: 'POST /premium/locations/countries',
  states: 'POST /premium/locations/states',
  cities: 'POST /premium/locations/cities',
  zipcodes: 'POST /premium/locations/zipcodes',
  asns: 'POST /premium/locations/asns',
}

export const operation = operationsOf({ tag: 'Premium proxies', see })

export const noSuchSubuser = { not_found: new Refusal('subuser_not_found', {}, { charged: false }) }

const described = {
  type: 'number' as const,
  minimum: 0.1,
  maximum: 10_000,
  example: 1.5,
  description: 'Gigabytes (10^9 bytes), 0.1 to 10000 in steps of 0.1.',
}
const stepsOfTenths = problem('in_steps', { from: 0.1, to: 10_000, step: 0.1 })

/** Tenths of a gigabyte. `0.15` is refused and not rounded; `0.30000000000000004`, the sum of 0.1 and 0.2, is 0.3. */
function readTenths(gb: number, context: z.RefinementCtx): number {
  const tenths = Math.round(gb * 10)
  if (tenths >= 1 && tenths <= 100_000 && Math.abs(gb * 10 - tenths) < 1e-6) return tenths
  context.addIssue({ code: 'custom', message: stepsOfTenths })
  return z.NEVER
}

const queryGigabytes = () =>
  z
    .string()
    .refine((written) => /^\d{1,5}(\.\d{1,20})?$/.test(written), stepsOfTenths)
    .transform((written, context) => readTenths(Number(written), context))
    .openapi(described)

const bodyGigabytes = () => z.number().transform(readTenths).openapi(described)

export const gigabytes = (description: string) =>
  z.number().openapi({ description: `${description} In GB of 10^9 bytes.`, example: 1.5 })

export const subuserRef = named('SubuserRef', {
  subuser_id: text('Its id, to name it by in other operations.', exampleSubuser),
  login: text('What a proxy login begins with.', 'u7k2m9x4qa'),
  name: text('How you call it.', 'default'),
  is_default: flag('Whether it is the one that is meant when none is named.'),
})

const madeExample = {
  ...exampleOf(subuserRef),
  subuser_id: exampleMade,
  login: 'alice',
  name: 'Alice',
  is_default: false,
}

export const toRef = (of: Subuser) => ({
  subuser_id: of.id,
  login: of.login,
  name: of.name,
  is_default: of.isDefault,
})

/** Printable text of bounded length. JSON Schema cannot say "printable", so only the length is described. */
export const printable = (min: number, max: number) =>
  z
    .string()
    .refine(
      (written) => written.length >= min && written.length <= max && !/[\p{Cc}\p{Cs}]/u.test(written),
      problem('printable', { from: min, to: max }),
    )
    .openapi({ minLength: min, maxLength: max })

const tier = z.object({
  from_gb: gigabytes('From this volume on.'),
  price_per_gb_rub: roubles('What one GB costs then.', 320),
})

export const quoteTraffic = operation('quoteTraffic', 'GET /premium/traffic/quote', {
  summary: 'Price traffic',
  description:
    'The price per GB falls with volume; the answer names the tier and how much more would reach the next one. ' +
    'More never costs less: where a larger volume would be cheaper, its price is taken.',
  query: z.object({ pool_type: poolType(), gb: queryGigabytes() }),
  answer: z.object({
    pool_type: shownPool(),
    gb: gigabytes('The volume.'),
    price_per_gb_rub: roubles("The tier's price of one GB; times `gb` it may differ from `price_rub`.", 320),
    price_rub: roubles('What all of it costs, rounded up to the kopeck once. This is what is charged.', 480),
    available: flag('Whether it can be bought now: whether an exit of the pool can be used.'),
    tier: tier.openapi({ description: 'The tier that this volume is in.' }),
    next_tier: tier
      .extend({ missing_gb: gigabytes('How much more would get this price.') })
      .nullable()
      .openapi({ description: 'The next cheaper tier; null when there is none.' }),
  }),
  example: {
    tier: { from_gb: 0, price_per_gb_rub: 320 },
    next_tier: { from_gb: 10, price_per_gb_rub: 280, missing_gb: 8.5 },
  },
})

export const buyTraffic = operation('buyTraffic', 'POST /premium/traffic/buy', {
  summary: 'Buy traffic',
  description: 'It can be used the moment the answer arrives.',
  body: z.object({ pool_type: poolType(), gb: bodyGigabytes(), subuser_id: subuserId() }),
  answer: z.object({
    order_id: orderId(),
    pool_type: shownPool(),
    price_rub: roubles('What it cost.', 480),
    balance_rub: balanceAfter(),
    traffic_added_gb: gigabytes('What was bought.'),
    traffic_balance_gb: gigabytes('What is left now.'),
    subuser: subuserRef,
  }),
  refusals: {
    ...noSuchSubuser,
    unavailable: new Refusal('no_exit_usable', { pool: 'residential' }, { charged: false }),
  },
  charges: true,
})

const poolBalance = {
  pool_type: shownPool(),
  traffic_gb: gigabytes('What is left.'),
  purchased_gb: gigabytes('What came in, less what was moved away, refunded or expired.'),
  used_gb: gigabytes('What was carried.'),
  updated_at: moment('When traffic last moved; null before the first time.').nullable(),
}

export const getTraffic = operation('getTraffic', 'GET /premium/traffic/balance', {
  summary: 'Read the traffic that is left',
  description: 'With `pool_type` the fields of that pool; without it `pools`, one entry each.',
  query: z.object({ pool_type: poolType().optional(), subuser_id: subuserId() }),
  answer: z.union([
    z.object({ ...poolBalance, subuser: subuserRef }).openapi({ title: 'One pool' }),
    z.object({ pools: rows('Each pool.', poolBalance), subuser: subuserRef }).openapi({ title: 'All pools' }),
  ]),
  refusals: noSuchSubuser,
})

const moveEnd = z.object({ subuser: subuserRef, traffic_balance_gb: gigabytes('What is left now.') })

export const moveTraffic = operation('moveTraffic', 'POST /premium/traffic/move', {
  summary: 'Move traffic between sub-users',
  description:
    'Costs nothing; it is kept as an order without a price, so an `Idempotency-Key` makes a retry safe here too. ' +
    'Traffic that nodes hold at the moment cannot be moved.',
  body: z.object({
    pool_type: poolType(),
    gb: bodyGigabytes().optional(),
    all: z.boolean().optional().openapi({ default: false, description: 'All that is free, in place of `gb`.' }),
    from_subuser_id: subuserId('Whose it is; your default sub-user unless given.'),
    to_subuser_id: subuserId('Who gets it; your default sub-user unless given.', exampleMade),
  }),
  exampleBody: { gb: 0.5, to_subuser_id: exampleMade },
  answer: z.object({
    order_id: orderId(),
    pool_type: shownPool(),
    moved_gb: gigabytes('What was moved.'),
    from: moveEnd.openapi({ description: 'Who had it.' }),
    to: moveEnd.openapi({ description: 'Who has it now.' }),
  }),
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal(
      'insufficient_traffic',
      { required_gb: 1, available_gb: 0.5 },
      { required_gb: 1, available_gb: 0.5, charged: false },
    ),
  },
  charges: 'free',
  example: { to: { subuser: madeExample, traffic_balance_gb: 1.5 } },
})

const anyBytes = { min: 0, max: Number.MAX_SAFE_INTEGER, example: 5_000_000_000 }

/** A whole number (of bytes by default), or null for no limit. */
const limit = (description: string, range = anyBytes) =>
  bodyInteger({ ...range, description })
    .nullable()
    .optional()

const limitFields = {
  day_limit_bytes: limit('The most in a day of UTC, over all pools; null is no limit.'),
  month_limit_bytes: limit('The most in a month of UTC; null is no limit.'),
  total_limit_bytes: limit('The most in all; null is no limit.'),
  tunnel_limit: limit('Connections at once; null is no limit.', { min: 1, max: 1_000_000, example: 100 }),
}

const name = printable(1, 100).openapi({ description: 'How you call it.', example: 'Alice' })

const keepHosts = flag('Whether destination hosts are kept for `usage`; switching it off forgets them at once.')

const subuser = named('Subuser', {
  ...subuserRef.shape,
  status: choice('A blocked one carries nothing.', ['active', 'blocked']),
  day_limit_bytes: whole('The most in a day of UTC, over all pools; null is no limit.', 5_000_000_000).nullable(),
  month_limit_bytes: whole('The most in a month of UTC; null is no limit.').nullable(),
  total_limit_bytes: whole('The most in all; null is no limit.').nullable(),
  tunnel_limit: whole('Connections at once; null is no limit.', 100).nullable(),
  keep_hosts: flag('Whether destination hosts are kept for `usage`.'),
  created_at: moment('When it was made.'),
})

const subuserExample = { ...exampleOf(subuser), ...madeExample }

const toLimit = (bytes: bigint | null): number | null => (bytes === null ? null : Number(bytes))

export const toSubuser = (of: Subuser) => ({
  ...toRef(of),
  status: of.blockedAt === null ? ('active' as const) : ('blocked' as const),
  day_limit_bytes: toLimit(of.limits.dayBytes),
  month_limit_bytes: toLimit(of.limits.monthBytes),
  total_limit_bytes: toLimit(of.limits.totalBytes),
  tunnel_limit: of.limits.tunnels,
  keep_hosts: of.keepHosts,
  created_at: toIso(of.createdAt),
})

type LimitFields = z.output<z.ZodObject<typeof limitFields>>

const readLimit = (bytes: number | null | undefined): bigint | null | undefined =>
  bytes === undefined || bytes === null ? bytes : BigInt(bytes)

export const readLimits = (of: LimitFields): { [Name in keyof SubuserLimits]: SubuserLimits[Name] | undefined } => ({
  dayBytes: readLimit(of.day_limit_bytes),
  monthBytes: readLimit(of.month_limit_bytes),
  totalBytes: readLimit(of.total_limit_bytes),
  tunnels: of.tunnel_limit,
})

export const createSubuser = operation('createSubuser', 'POST /premium/subusers', {
  summary: 'Add a sub-user',
  description: 'It has its own login, password, whitelist and traffic. Move traffic to it, or buy for it.',
  body: z.object({
    name: name.optional(),
    login: checked(
      'Yours to choose while it is free; made for you otherwise.',
      // Names of dedicated proxies begin with `tp`, and a gateway looks for those first.
      /^(?!tp)[a-z][a-z0-9_]{4,31}$/,
      ['subuser_login'],
      'alice',
    ).optional(),
    keep_hosts: keepHosts.default(true),
    ...limitFields,
  }),
  exampleBody: { name: 'Alice' },
  answer: z.object({ subuser, password: text('The password of its proxies.', '0a1b2c3d4e5f6g7h8j9kmnpq') }),
  refusals: { conflict: new Refusal('subuser_login_taken') },
  example: { subuser: subuserExample },
})

export const listSubusers = operation('listSubusers', 'GET /premium/subusers', {
  summary: 'List sub-users, oldest first',
  query: z.object(pageQuery),
  answer: page({ subusers: list('One page of sub-users.', subuser) }),
})

export const updateSubuser = operation('updateSubuser', 'POST /premium/subusers/update', {
  summary: 'Change, block or unblock a sub-user',
  description: 'What is left out stays as it is. A blocked one carries nothing and keeps its traffic.',
  body: z.object({
    subuser_id: subuserId(undefined, exampleMade),
    name: name.optional(),
    blocked: flag('Whether it may carry anything.').optional(),
    keep_hosts: keepHosts.optional(),
    ...limitFields,
  }),
  exampleBody: { subuser_id: exampleMade, name: 'Alice' },
  answer: z.object({ subuser }),
  refusals: noSuchSubuser,
  example: { subuser: subuserExample },
})

export const deleteSubuser = operation('deleteSubuser', 'POST /premium/subusers/delete', {
  isDestructive: true,
  summary: 'Delete a sub-user and take its traffic back',
  description:
    'Its traffic goes to your default sub-user or to the one you name. What a node holds at that moment follows ' +
    'when it comes back. An `Idempotency-Key` makes a retry safe.',
  body: z.object({
    subuser_id: requiredSubuserId('Which; not the default one.'),
    to_subuser_id: subuserId('Who gets its traffic; your default sub-user unless given.'),
  }),
  answer: z.object({
    order_id: orderId(),
    deleted: subuserRef.openapi({ description: 'The one that is no more.' }),
    to: subuserRef.openapi({ description: 'The one that has its traffic now.' }),
    returned: rows('What went over, for each pool that had any.', {
      pool_type: shownPool(),
      gb: gigabytes('What went over.'),
    }),
  }),
  refusals: { ...noSuchSubuser, conflict: new Refusal('default_subuser_stays') },
  charges: 'free',
  example: { deleted: madeExample },
})
