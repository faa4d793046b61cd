import { z } from '@hono/zod-openapi'
import { type Kopecks, toRoubles } from '../../../core/money.ts'
import { malformed, Refusal } from '../../../core/refusal.ts'
import { toIso } from '../../../core/time.ts'
import type { View } from '../../../domains/vpn/rules.ts'
import {
  balanceAfter,
  bodyInteger,
  exampleAt,
  exampleOrder,
  flag,
  orderId,
  queryInteger,
  roubles,
  text,
  whole,
} from '../../fields.ts'
import { operation, type RefusalExample } from '../../operation.ts'
import {
  configExample,
  endsAt,
  exampleDevice,
  exampleUuid,
  linkField,
  newDevice,
  nodeState,
  noSuchSubscription,
  overview,
  overviewExample,
  see,
  shownUuid,
  status,
  subscription,
  subscriptionExample,
  tag,
  toLink,
  uuidField,
} from './shapes-subscription.ts'

const months = {
  min: 1,
  max: 120,
  example: 1,
  description: 'Months, of those that are sold; as shipped 1, 3, 6 and 12.',
}
const sameMonths = { ...months, description: 'The same as `period`.' }

type Periods = { period?: number | undefined; period_months?: number | undefined }

/** Both names of the field mean the same; given together they must agree. */
const agrees = (of: Periods): boolean =>
  of.period === undefined || of.period_months === undefined || of.period === of.period_months
const disagreement = { path: ['period_months'], error: 'must be the same as period, or left out' }
/** Looked at even if other fields are faulty, so that all are named at once. */
const required = {
  path: ['period'],
  error: 'is required',
  when: (payload: { value: unknown }) => typeof payload.value === 'object' && payload.value !== null,
}
const hasPeriod = (of: Periods): boolean => of.period !== undefined || of.period_months !== undefined

export const periodOf = (of: Periods): number | undefined => of.period ?? of.period_months

export function loadPeriod(of: Periods): number {
  const period = periodOf(of)
  if (period === undefined) throw malformed([{ field: 'period', problem: 'is required' }])
  return period
}

const bodyPeriods = { period: bodyInteger(months).optional(), period_months: bodyInteger(sameMonths).optional() }

/** One of the two names is needed. */
const eitherPeriod = {
  anyOf: [
    { required: ['period'], properties: { period: { type: 'integer' as const } } },
    { required: ['period_months'], properties: { period_months: { type: 'integer' as const } } },
  ],
}

const shownMonths = () => whole('Months.', 1)

const price = z.object({
  period: shownMonths(),
  price_rub: roubles('What it costs. This is what is charged.', 299),
  price_per_month_rub: roubles(
    'The price of a month, rounded up to the kopeck: times `period` it may differ from `price_rub`.',
    299,
  ),
})

const notSold: RefusalExample = new Refusal('vpn_not_sold', {}, { charged: false })

const available = flag('Whether a VPN node is up that carries a new subscription.')

export const quoteVpn = operation({
  id: 'quoteVpn',
  method: 'GET',
  path: '/vpn/quote',
  tag,
  summary: 'Price a VPN subscription',
  description:
    'Without `period` every term that is sold is priced, in `prices`. `available` is false while no VPN node is up: ' +
    'a purchase is refused then (503), or in a sandbox goes through with a warning.',
  query: z
    .object({ period: queryInteger(months).optional(), period_months: queryInteger(sameMonths).optional() })
    .refine(agrees, disagreement),
  answer: z.union([
    price.extend({ available }).openapi({ title: 'One term' }),
    z
      .object({ prices: z.array(price).openapi({ description: 'Each term that is sold.' }), available })
      .openapi({ title: 'All terms' }),
  ]),
  example: { period: 1, price_rub: 299, price_per_month_rub: 299, available: true },
  see,
  codes: ['not_found'],
  refusals: { not_found: notSold },
})

const toPrice = (of: { months: number; total: Kopecks; perMonth: Kopecks }) => ({
  period: of.months,
  price_rub: toRoubles(of.total),
  price_per_month_rub: toRoubles(of.perMonth),
})

export function toQuote(offers: readonly Parameters<typeof toPrice>[0][], one: boolean, isCarried: boolean) {
  const prices = offers.map(toPrice)
  return { ...(one && prices[0] ? prices[0] : { prices }), available: isCarried }
}

const bought = z.object({
  order_id: orderId(),
  uuid: shownUuid(),
  period: shownMonths(),
  price_rub: roubles('What it cost.', 299),
  balance_rub: balanceAfter(),
  status,
  expires_at: endsAt(),
  subscription_url: linkField,
  config: text('A complete configuration of the first device, for wg-quick.', configExample),
  device: text('The id of the device that `config` is for.', exampleDevice),
  node: nodeState,
})

const boughtExample = {
  order_id: exampleOrder,
  uuid: exampleUuid,
  period: 1,
  price_rub: 299,
  balance_rub: 99_701,
  status: 'ACTIVE' as const,
  expires_at: toIso(exampleAt),
  subscription_url: subscriptionExample.subscription_url,
  config: configExample,
  device: exampleDevice,
  node: 'online' as const,
}

type BoughtShown = { order: string; months: number; price: Kopecks; balance: Kopecks; view: View; config: string }

export const toBought = (of: BoughtShown, publicUrl: string) => ({
  order_id: of.order,
  uuid: of.view.subscription.uuid,
  period: of.months,
  price_rub: toRoubles(of.price),
  balance_rub: toRoubles(of.balance),
  status: of.view.status,
  expires_at: toIso(of.view.subscription.expiresAt),
  subscription_url: toLink(publicUrl, of.view.secret),
  config: of.config,
  device: of.view.devices[0]?.id ?? '',
  node: of.view.node,
})

/** Only a sandbox sells without a node that is up. */
export const notCarried = {
  field: 'node',
  problem:
    'No VPN node is up, so the configuration does not connect yet. On a Linux machine with root and WireGuard, ' +
    '"turnpike up --local-nodes vpn" starts one.',
}

const noLiveNode: RefusalExample = new Refusal('no_vpn_node_up', {}, { charged: false })

/** The body of what is paid for: a number of months, under one of its names, and what else there is to say. */
const forPeriod = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z
    .object({ ...bodyPeriods, ...fields })
    .refine((of) => hasPeriod(of as Periods), required)
    .refine((of) => agrees(of as Periods), disagreement)
    .openapi(eitherPeriod)

/** What buying and renewing have in common. */
const sold = {
  exampleBody: { period: 1 },
  answer: bought,
  example: boughtExample,
  see,
  codes: ['not_found' as const],
  charges: true,
}

export const buyVpn = operation({
  id: 'buyVpn',
  method: 'POST',
  path: '/vpn/buy',
  tag,
  summary: 'Buy a VPN subscription with its first device',
  description:
    'While no VPN node is up, nothing is sold and nothing is charged (503). A sandbox sells all the same: `node` is ' +
    '`offline`, the configuration does not connect, and `warnings` says how to start a node.',
  body: forPeriod({
    ...newDevice,
    auto_renew: z
      .boolean()
      .optional()
      .openapi({ default: false, description: 'Whether it renews by itself, a day ahead, as spent by this token.' }),
  }),
  ...sold,
  refusals: { not_found: notSold, unavailable: noLiveNode },
})

export const renewVpn = operation({
  id: 'renewVpn',
  method: 'POST',
  path: '/vpn/renew',
  tag,
  summary: 'Add months to a subscription',
  description: 'Months are added to what is left, or begin now when nothing is. Devices, keys and link stay the same.',
  body: forPeriod({
    uuid: uuidField(
      'Which subscription; unless given, the active one that ends first, which `GET /vpn/info` shows on top.',
    ).optional(),
  }),
  ...sold,
  refusals: { not_found: noSuchSubscription, unavailable: noLiveNode },
})

export const getVpn = operation({
  id: 'getVpn',
  method: 'GET',
  path: '/vpn/info',
  isSecret: true,
  tag,
  summary: 'Read VPN subscriptions',
  description:
    'At the top stands, of those that run, the one that ends first, else the one that ended last. All of them are in ' +
    '`items`, in that order; what was deleted is not. Without any the status is NONE, and what would tell of one is ' +
    'null or empty.',
  query: z.object({ uuid: uuidField('One subscription only; all of yours unless given.').optional() }),
  answer: overview,
  example: overviewExample,
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchSubscription },
})

export const deleteVpn = operation({
  id: 'deleteVpn',
  method: 'POST',
  path: '/vpn/delete',
  isDestructive: true,
  tag,
  summary: 'End a subscription at once',
  description:
    'Devices are cut off and keys erased. The unused part of what was paid is given back, if it was sold so.',
  body: z.object({
    uuid: uuidField(
      'Which subscription. May be left out only while there is no other, not even an ended one.',
    ).optional(),
  }),
  exampleBody: { uuid: exampleUuid },
  answer: z.object({
    uuid: shownUuid(),
    deleted: z.literal(true).openapi({ description: 'It is no more.' }),
    refunded_rub: roubles('What was given back: the unused part, rounded down to the kopeck.', 149.5),
    balance_rub: balanceAfter(),
  }),
  example: { uuid: exampleUuid, deleted: true, refunded_rub: 149.5, balance_rub: 99_850.5 },
  see,
  codes: ['not_found', 'conflict'],
  refusals: {
    not_found: noSuchSubscription,
    conflict: new Refusal('subscription_disabled', {}, { status: 'DISABLED', charged: false }),
  },
})

export const setVpnAutoRenew = operation({
  id: 'setVpnAutoRenew',
  method: 'POST',
  path: '/vpn/auto-renew',
  tag,
  summary: 'Renew by itself, or no more',
  description:
    'It is charged one day before the end, for as many months as last bought unless said, and spent by the token ' +
    'that asks for it here, within its cap.',
  body: z
    .object({
      uuid: uuidField().optional(),
      enabled: z.boolean().openapi({ description: 'Whether it renews by itself.', example: true }),
      ...bodyPeriods,
    })
    .refine(agrees, disagreement),
  exampleBody: { uuid: exampleUuid, enabled: true },
  answer: subscription,
  example: subscriptionExample,
  see,
  codes: ['not_found'],
  refusals: { not_found: noSuchSubscription },
})
