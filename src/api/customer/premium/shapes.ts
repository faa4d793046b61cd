import { problem } from '../../../core/messages/problems.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import { type Metadata, noMetadata } from '../../../domains/metadata/rules.ts'
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
  newMetadata,
  orderId,
  purchaseOptions,
  roubles,
  rows,
  shownMetadata,
  soughtMetadata,
  text,
  validUntil,
  whole,
} from '../../fields.ts'
import { exampleOf, operationsOf, z } from '../../operation.ts'
import { page, pageQuery } from '../../pages.ts'

const exampleSubuser = 'sub_01k73sf8000000000000000000'
const exampleMade = 'sub_01k73sf8000000000000000001'

/** An id that has not the shape of one names nothing, and is answered like one that names nothing of yours. */
const requiredSubuserId = (description: string, example = exampleMade) =>
  checked(description, /^[A-Za-z0-9_]{1,64}$/, ['id', { prefix: 'sub' }], example)

export const subuserId = (description = 'Sub-user. Default: your default sub-user.', example = exampleSubuser) =>
  requiredSubuserId(description, example).optional()

/** The name of a pool. Capitals pass, so that the refusal of an unknown pool can list the known ones. */
export const poolType = () =>
  z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,30}$/, problem('name_of', { thing: 'pool' }))
    .openapi({
      description:
        'Pool. In the default price list: residential, residential_premium, datacenter, mobile. `GET ' +
        '/premium/traffic/balance` lists all pools.',
      example: 'residential',
      pattern: '^[a-z][a-z0-9_]{0,30}$',
    })

export const shownPool = () => text('Pool.', 'residential')

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
  subuser_id: text("The sub-user's id.", exampleSubuser),
  login: text('First part of every proxy login of the sub-user.', 'u7k2m9x4qa'),
  name: text('Name of the sub-user, chosen by you.', 'default'),
  is_default: flag('Whether requests without `subuser_id` apply to this sub-user.'),
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
  from_gb: gigabytes('Smallest volume of the tier.'),
  price_per_gb_rub: roubles('Price of one GB in this tier.', 320),
})

export const quoteTraffic = operation('quoteTraffic', 'GET /premium/traffic/quote', {
  summary: 'Price traffic',
  description:
    'The price per GB falls with volume. The answer contains the tier and how many GB are missing to the next one. ' +
    'A larger volume never costs less than a smaller one: if a larger volume is cheaper, you pay its price.',
  query: z.object({ pool_type: poolType(), gb: queryGigabytes() }),
  answer: z.object({
    pool_type: shownPool(),
    gb: gigabytes('Volume.'),
    price_per_gb_rub: roubles('Price of one GB in this tier; multiplied by `gb` it may differ from `price_rub`.', 320),
    price_rub: roubles('Total price, rounded up to the kopeck. A purchase at this moment charges this amount.', 480),
    available: flag('Whether traffic of this pool can be bought now: at least one exit is usable.'),
    tier: tier.openapi({ description: 'Tier of this volume.' }),
    next_tier: tier
      .extend({ missing_gb: gigabytes('Volume missing to reach this tier.') })
      .nullable()
      .openapi({ description: 'Next cheaper tier; null if there is none.' }),
    valid_until: validUntil(),
  }),
  example: {
    tier: { from_gb: 0, price_per_gb_rub: 320 },
    next_tier: { from_gb: 10, price_per_gb_rub: 280, missing_gb: 8.5 },
  },
})

export const buyTraffic = operation('buyTraffic', 'POST /premium/traffic/buy', {
  affectsNodes: true,
  summary: 'Buy traffic',
  description: 'The traffic can be used as soon as the answer arrives.',
  body: z.object({ pool_type: poolType(), gb: bodyGigabytes(), subuser_id: subuserId(), ...purchaseOptions }),
  answer: z.object({
    order_id: orderId(),
    pool_type: shownPool(),
    price_rub: roubles('Price charged.', 480),
    balance_rub: balanceAfter(),
    traffic_added_gb: gigabytes('Traffic bought.'),
    traffic_balance_gb: gigabytes('Traffic left after the operation.'),
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
  traffic_gb: gigabytes('Traffic left.'),
  purchased_gb: gigabytes('Traffic added, minus traffic moved away, refunded or expired.'),
  used_gb: gigabytes('Traffic used.'),
  updated_at: moment('When this balance last changed; null if never.').nullable(),
}

export const getTraffic = operation('getTraffic', 'GET /premium/traffic/balance', {
  summary: 'Read traffic balances',
  description:
    'With `pool_type`, the answer contains the fields of that pool; without it, `pools` with one entry per pool.',
  query: z.object({ pool_type: poolType().optional(), subuser_id: subuserId() }),
  answer: z.union([
    z.object({ ...poolBalance, subuser: subuserRef }).openapi({ title: 'One pool' }),
    z.object({ pools: rows('One entry per pool.', poolBalance), subuser: subuserRef }).openapi({ title: 'All pools' }),
  ]),
  refusals: noSuchSubuser,
})

const moveEnd = z.object({ subuser: subuserRef, traffic_balance_gb: gigabytes('Traffic left after the operation.') })

export const moveTraffic = operation('moveTraffic', 'POST /premium/traffic/move', {
  affectsNodes: true,
  summary: 'Move traffic between sub-users',
  description:
    'Free of charge. The move is recorded as an order with price 0, so a retry with the same `Idempotency-Key` is ' +
    'safe. Traffic that is leased to gateways at the moment cannot be moved.',
  body: z.object({
    pool_type: poolType(),
    gb: bodyGigabytes().optional(),
    all: z.boolean().optional().openapi({
      default: false,
      description: 'Move all traffic that is not leased to gateways; an alternative to `gb`.',
    }),
    from_subuser_id: subuserId('Sub-user to take traffic from. Default: your default sub-user.'),
    to_subuser_id: subuserId('Sub-user to give traffic to. Default: your default sub-user.', exampleMade),
  }),
  exampleBody: { gb: 0.5, to_subuser_id: exampleMade },
  answer: z.object({
    order_id: orderId(),
    pool_type: shownPool(),
    moved_gb: gigabytes('Traffic moved.'),
    from: moveEnd.openapi({ description: 'Sub-user that the traffic was taken from.' }),
    to: moveEnd.openapi({ description: 'Sub-user that received the traffic.' }),
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
  day_limit_bytes: limit('Maximum bytes per UTC day over all pools; null means no limit.'),
  month_limit_bytes: limit('Maximum bytes per UTC month over all pools; null means no limit.'),
  total_limit_bytes: limit('Maximum bytes in total over all pools; null means no limit.'),
  tunnel_limit: limit('Maximum number of simultaneous connections; null means no limit.', {
    min: 1,
    max: 1_000_000,
    example: 100,
  }),
}

const name = printable(1, 100).openapi({ description: 'Name of the sub-user, chosen by you.', example: 'Alice' })

const keepHosts = flag(
  'Whether destination hosts are stored for `usage`; off unless you turn it on. Setting it to false deletes the ' +
    'stored hosts at once.',
)

const subuser = named('Subuser', {
  ...subuserRef.shape,
  status: choice('A `blocked` sub-user cannot use its proxies.', ['active', 'blocked']),
  day_limit_bytes: whole('Maximum bytes per UTC day over all pools; null means no limit.', 5_000_000_000).nullable(),
  month_limit_bytes: whole('Maximum bytes per UTC month over all pools; null means no limit.').nullable(),
  total_limit_bytes: whole('Maximum bytes in total over all pools; null means no limit.').nullable(),
  tunnel_limit: whole('Maximum number of simultaneous connections; null means no limit.', 100).nullable(),
  keep_hosts: flag('Whether destination hosts are stored for `usage`.'),
  metadata: shownMetadata(),
  created_at: moment('When the sub-user was created.'),
})

const subuserExample = { ...exampleOf(subuser), ...madeExample }

const toLimit = (bytes: bigint | null): number | null => (bytes === null ? null : Number(bytes))

export const toSubuser = (of: Subuser, metadata: Metadata = noMetadata) => ({
  ...toRef(of),
  status: of.blockedAt === null ? ('active' as const) : ('blocked' as const),
  day_limit_bytes: toLimit(of.limits.dayBytes),
  month_limit_bytes: toLimit(of.limits.monthBytes),
  total_limit_bytes: toLimit(of.limits.totalBytes),
  tunnel_limit: of.limits.tunnels,
  keep_hosts: of.keepHosts,
  metadata: { ...metadata },
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
  affectsNodes: true,
  creates: true,
  isSecret: true,
  summary: 'Add a sub-user',
  description:
    'A sub-user has its own login, password, whitelist and traffic. It starts without traffic: move or buy some.',
  body: z.object({
    name: name.optional(),
    login: checked(
      'Login of the sub-user; must not be taken. Default: generated.',
      // Names of dedicated proxies begin with `tp`, and a gateway looks for those first.
      /^(?!tp)[a-z][a-z0-9_]{4,31}$/,
      ['subuser_login'],
      'alice',
    ).optional(),
    keep_hosts: keepHosts.default(false),
    metadata: newMetadata('Your own keys and values for the sub-user.'),
    ...limitFields,
  }),
  exampleBody: { name: 'Alice' },
  answer: z.object({ subuser, password: text('Password of the proxies of the sub-user.', '0a1b2c3d4e5f6g7h8j9kmnpq') }),
  refusals: { conflict: new Refusal('subuser_login_taken') },
  example: { subuser: subuserExample },
})

export const listSubusers = operation('listSubusers', 'GET /premium/subusers', {
  summary: 'List sub-users, oldest first',
  query: z.object({ ...pageQuery, metadata: soughtMetadata() }),
  answer: page({ subusers: list('One page of sub-users.', subuser) }),
})

export const updateSubuser = operation('updateSubuser', 'POST /premium/subusers/update', {
  affectsNodes: true,
  summary: 'Change, block or unblock a sub-user',
  description: 'Omitted fields do not change. A blocked sub-user cannot use its proxies and keeps its traffic.',
  body: z.object({
    subuser_id: subuserId(undefined, exampleMade),
    name: name.optional(),
    blocked: flag('True blocks the sub-user, false unblocks it.').optional(),
    keep_hosts: keepHosts.optional(),
    ...limitFields,
  }),
  exampleBody: { subuser_id: exampleMade, name: 'Alice' },
  answer: z.object({ subuser }),
  refusals: noSuchSubuser,
  example: { subuser: subuserExample },
})

export const deleteSubuser = operation('deleteSubuser', 'POST /premium/subusers/delete', {
  affectsNodes: true,
  isDestructive: true,
  summary: 'Delete a sub-user and move its traffic to another',
  description:
    'The traffic moves to your default sub-user or to `to_subuser_id`. Traffic that is leased to a gateway moves ' +
    'when ' +
    'the gateway returns it. A retry with the same `Idempotency-Key` is safe.',
  body: z.object({
    subuser_id: requiredSubuserId('Sub-user to delete; not the default one.'),
    to_subuser_id: subuserId('Sub-user that receives the traffic. Default: your default sub-user.'),
  }),
  answer: z.object({
    order_id: orderId(),
    deleted: subuserRef.openapi({ description: 'The deleted sub-user.' }),
    to: subuserRef.openapi({ description: 'Sub-user that received the traffic.' }),
    returned: rows('Traffic moved, one entry per pool that had any.', {
      pool_type: shownPool(),
      gb: gigabytes('Traffic moved.'),
    }),
  }),
  refusals: { ...noSuchSubuser, conflict: new Refusal('default_subuser_stays') },
  charges: 'free',
  example: { deleted: madeExample },
})
