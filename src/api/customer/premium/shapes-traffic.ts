import { z } from '@hono/zod-openapi'
import { type Bytes, bytes } from '../../../core/bytes.ts'
import type { OrderId } from '../../../core/ids.ts'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { Subuser } from '../../../domains/premium/subusers/rules.ts'
import type { PoolBalance } from '../../../domains/traffic/accounts/rules.ts'
import { balanceAfter, exampleAt, exampleOrder, moment, orderId, roubles } from '../../fields.ts'
import { operation } from '../../operation.ts'
import {
  bodyGigabytes,
  exampleMade,
  gigabytes,
  madeExample,
  noSuchSubuser,
  poolType,
  queryGigabytes,
  refExample,
  see,
  shownPool,
  subuserId,
  subuserRef,
  tag,
  toGb,
  toRef,
} from './fields.ts'

const tier = z.object({
  from_gb: gigabytes('From this volume on.'),
  price_per_gb_rub: roubles('What one GB costs then.', 320),
})

export const quoteTraffic = operation({
  id: 'quoteTraffic',
  method: 'GET',
  path: '/premium/traffic/quote',
  tag,
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
    available: z.boolean().openapi({
      description: 'Whether it can be bought now: whether an exit of the pool can be used.',
      example: true,
    }),
    tier: tier.openapi({ description: 'The tier that this volume is in.' }),
    next_tier: tier
      .extend({ missing_gb: gigabytes('How much more would get this price.') })
      .nullable()
      .openapi({ description: 'The next cheaper tier; null when there is none.' }),
  }),
  example: {
    pool_type: 'residential',
    gb: 1.5,
    price_per_gb_rub: 320,
    price_rub: 480,
    available: true,
    tier: { from_gb: 0, price_per_gb_rub: 320 },
    next_tier: { from_gb: 10, price_per_gb_rub: 280, missing_gb: 8.5 },
  },
  see,
})

type Tier = { readonly fromTenths: number; readonly perGigabyte: Kopecks }

const toTier = (of: Tier) => ({ from_gb: of.fromTenths / 10, price_per_gb_rub: toRoubles(of.perGigabyte) })

export const toTrafficQuote = (
  pool: string,
  tenths: number,
  price: {
    total: Kopecks
    perGigabyte: Kopecks
    available: boolean
    tier: Tier
    next: { tier: Tier; missingTenths: number } | null
  },
) => ({
  pool_type: pool,
  gb: tenths / 10,
  price_per_gb_rub: toRoubles(price.perGigabyte),
  price_rub: toRoubles(price.total),
  available: price.available,
  tier: toTier(price.tier),
  next_tier: price.next && { ...toTier(price.next.tier), missing_gb: price.next.missingTenths / 10 },
})

export const buyTraffic = operation({
  id: 'buyTraffic',
  method: 'POST',
  path: '/premium/traffic/buy',
  tag,
  summary: 'Buy traffic',
  description: 'It can be used the moment the answer arrives.',
  body: z.object({ pool_type: poolType(), gb: bodyGigabytes(), subuser_id: subuserId() }),
  exampleBody: { pool_type: 'residential', gb: 1.5 },
  answer: z.object({
    order_id: orderId(),
    pool_type: shownPool(),
    price_rub: roubles('What it cost.', 480),
    balance_rub: balanceAfter(),
    traffic_added_gb: gigabytes('What was bought.'),
    traffic_balance_gb: gigabytes('What is left now.'),
    subuser: subuserRef,
  }),
  example: {
    order_id: exampleOrder,
    pool_type: 'residential',
    price_rub: 480,
    balance_rub: 99_520,
    traffic_added_gb: 1.5,
    traffic_balance_gb: 1.5,
    subuser: refExample,
  },
  see,
  codes: ['not_found', 'unavailable'],
  refusals: {
    ...noSuchSubuser,
    unavailable: new Refusal('no_exit_usable', { pool: 'residential' }, { charged: false }),
  },
  charges: true,
})

export const toBought = (of: {
  order: OrderId
  pool: string
  price: Kopecks
  balance: Kopecks
  added: Bytes
  left: Bytes
  subuser: Subuser
}) => ({
  order_id: of.order,
  pool_type: of.pool,
  price_rub: toRoubles(of.price),
  balance_rub: toRoubles(of.balance),
  traffic_added_gb: toGb(of.added),
  traffic_balance_gb: toGb(of.left),
  subuser: toRef(of.subuser),
})

const standing = {
  pool_type: shownPool(),
  traffic_gb: gigabytes('What is left.'),
  purchased_gb: gigabytes('What came in, less what was moved away, refunded or expired.'),
  used_gb: gigabytes('What was carried.'),
  updated_at: moment('When traffic last moved; null before the first time.').nullable(),
}
const standingExample = {
  pool_type: 'residential',
  traffic_gb: 1.2,
  purchased_gb: 1.5,
  used_gb: 0.3,
  updated_at: toIso(exampleAt),
}

export const getTraffic = operation({
  id: 'getTraffic',
  method: 'GET',
  path: '/premium/traffic/balance',
  tag,
  summary: 'Read the traffic that is left',
  description: 'With `pool_type` the fields of that pool; without it `pools`, one entry each.',
  query: z.object({ pool_type: poolType().optional(), subuser_id: subuserId() }),
  answer: z.union([
    z.object({ ...standing, subuser: subuserRef }).openapi({ title: 'One pool' }),
    z
      .object({ pools: z.array(z.object(standing)).openapi({ description: 'Each pool.' }), subuser: subuserRef })
      .openapi({ title: 'All pools' }),
  ]),
  example: { ...standingExample, subuser: refExample },
  see,
  codes: ['not_found'],
  refusals: noSuchSubuser,
})

const toPoolBalance = (of: PoolBalance) => ({
  pool_type: of.pool,
  traffic_gb: toGb(of.left),
  purchased_gb: toGb(bytes(of.left + of.used)),
  used_gb: toGb(of.used),
  updated_at: of.updatedAt === null ? null : toIso(of.updatedAt),
})

export const toTraffic = (of: { subuser: Subuser; pools: readonly PoolBalance[] }, isOne: boolean) => {
  const [first] = of.pools
  return isOne && first
    ? { ...toPoolBalance(first), subuser: toRef(of.subuser) }
    : { pools: of.pools.map(toPoolBalance), subuser: toRef(of.subuser) }
}

const moveEnd = z.object({ subuser: subuserRef, traffic_balance_gb: gigabytes('What is left now.') })

export const moveTraffic = operation({
  id: 'moveTraffic',
  method: 'POST',
  path: '/premium/traffic/move',
  tag,
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
  exampleBody: { pool_type: 'residential', gb: 0.5, to_subuser_id: exampleMade },
  answer: z.object({
    order_id: orderId(),
    pool_type: shownPool(),
    moved_gb: gigabytes('What was moved.'),
    from: moveEnd.openapi({ description: 'Who had it.' }),
    to: moveEnd.openapi({ description: 'Who has it now.' }),
  }),
  example: {
    order_id: exampleOrder,
    pool_type: 'residential',
    moved_gb: 1,
    from: { subuser: refExample, traffic_balance_gb: 0.5 },
    to: { subuser: madeExample, traffic_balance_gb: 1 },
  },
  see: { ...see, from_subuser_id: see.subuser_id, to_subuser_id: see.subuser_id },
  codes: ['not_found'],
  refusals: {
    ...noSuchSubuser,
    conflict: new Refusal(
      'insufficient_traffic',
      { required_gb: 1, available_gb: 0.5 },
      { required_gb: 1, available_gb: 0.5, charged: false },
    ),
  },
  charges: true,
  isFree: true,
})

type MovedEnd = { subuser: Subuser; left: Bytes }

const toEnd = (of: MovedEnd) => ({ subuser: toRef(of.subuser), traffic_balance_gb: toGb(of.left) })

export const toMoved = (of: { order: OrderId; pool: string; moved: Bytes; from: MovedEnd; to: MovedEnd }) => ({
  order_id: of.order,
  pool_type: of.pool,
  moved_gb: toGb(of.moved),
  from: toEnd(of.from),
  to: toEnd(of.to),
})
